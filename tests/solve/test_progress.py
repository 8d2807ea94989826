"""Progress is shown in a terminal and in a notebook, and leaves nothing behind."""

import sys
import types

import pytest

from stationary.solve import progress
from stationary.solve.progress import Progress


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_BETWEEN", -1.0)


def run(title="a run"):
    outer = Progress(title)
    for k in range(4):
        outer.show(k / 3)
        inner = Progress("inside")
        inner.show(0.5)
        inner.close()
    outer.close()
    assert Progress._shown is None


def test_nothing_is_shown_where_nobody_looks(capsys):
    run()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_outermost_run(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    run("a [bold]run[/bold]")
    shown = capsys.readouterr()
    assert shown.out == "" and "100%" in shown.err and "inside" not in shown.err
    # A name is no markup.
    assert "a [bold]run[/bold]" in shown.err


def test_a_notebook_shows_a_bar_and_takes_it_away(monkeypatch):
    pages = []

    class Place:
        update = staticmethod(pages.append)

    shown = types.ModuleType("IPython.display")
    monkeypatch.setattr(shown, "HTML", str, raising=False)
    monkeypatch.setattr(shown, "display", lambda page, display_id: Place(), raising=False)
    shell = types.SimpleNamespace(kernel=None)
    package = types.ModuleType("IPython")
    monkeypatch.setattr(package, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    run("outside of a kernel")
    assert not pages
    shell.kernel = object()
    run("<a> & b")
    assert pages[0].startswith('&lt;a&gt; &amp; b <progress value="0.000"')
    assert "100%" in pages[-2] and pages[-1] == ""
