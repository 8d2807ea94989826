"""A real kernel shows what notebooks should show; skipped, with a word, where none is installed."""

import os
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks: pip install nbclient ipykernel")
nbclient = pytest.importorskip("nbclient", reason="notebooks: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="notebooks: pip install nbclient ipykernel")

SETUP = """
import stationary as st
x = st.coordinates("x"); m, k = st.parameters(m=2.0, k=8.0)
system = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
X = st.positions("X"); u = st.field("u", over=(X, 0, 1))
bar = st.Continuum(kinetic=u.dot**2 / 2, potential=u.diff(X)**2 / 2, fixed={u.at(0): 0})
"""
SHOWN = {
    "system": "text/latex",
    "st.equations(system)": "text/latex",
    "st.equations(system).explain()": "text/markdown",
    "bar": "text/latex",
    "st.simulate(system, span=(0, 1), start={x: 0.1})": "text/html",
    "st.statics(system)": "text/html",
    "st.linearize(system)": "text/html",
}


@pytest.mark.slow
def test_a_kernel_shows_mathematics_pictures_and_progress():
    cells = [SETUP, *SHOWN]
    # As if it had been running for long; closing it would take the line away.
    cells.append(
        "import stationary.solve.progress as p; p._PATIENCE = p._BETWEEN = 0.0\n"
        "p.Progress('a long run').show(0.5)"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    path = str(Path(__file__).parents[2] / "src")
    kept = {"PYTHONPATH": os.pathsep.join([path, *sys.path]), "PYTHONWARNINGS": "ignore"}
    nbclient.NotebookClient(book, timeout=120).execute(env=os.environ | kept)
    for cell, kind in zip(book.cells[1:], SHOWN.values()):
        shown = {k for out in cell.outputs for k in out.get("data", {})}
        assert kind in shown, (cell.source, shown, cell.outputs)
        assert not any(out.output_type == "error" for out in cell.outputs)
    told = str(book.cells[-1].outputs)
    assert "a long run" in told, told
