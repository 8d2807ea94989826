"""What the studio answers: one question about one text, in a process of its own.

Nothing typed is evaluated as a program: texts are read as model files are.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any

import stationary as st
from stationary.errors import say
from stationary.report.build import SECTIONS, section, sections
from stationary.report.page import page

#: The tabs of the studio, in order: what is asked, and what the tab says.
TABS = {"live": "Live", **{key: title for key, (title, _) in SECTIONS.items()}}

_MATHS = "sin cos tan exp log sqrt tanh abs norm min max pi if".split()


def answer(question: str, text: str) -> dict[str, Any]:
    """Return what a question finds, as plain data; what is wrong is data, too."""
    try:
        if text.lstrip().startswith("<"):
            # Robots name other files; a studio reads none.
            first = text.strip().splitlines()[0][:60]
            words = say("this is no model file.", f"Found '{first}'.", "Begin with a starter.")
            return {"error": words, "line": 1, "column": 1}
        # Two lines at least: one line might be the name of a file.
        model = st.load(text + "\n\n")
        if question == "read":
            return _read(model)
        if question == "live":
            return {"html": st.live(model)}
        return _answered(model, question)
    except st.StationaryError as error:
        return {
            "error": str(error),
            "line": int(getattr(error, "line", 0) or 0),
            "column": int(getattr(error, "column", 0) or 0),
        }


def _read(model: Any) -> dict[str, Any]:
    system = model.system
    names = [*(s.name for s in (*system.coordinates, *system.parameters, *system.inputs))]
    declared = [name for name in getattr(model, "declared", {}) if re.fullmatch(r"\w+", name)]
    return {
        "names": sorted({*names, *declared, *_MATHS}),
        "questions": _questions(model),
        "told": f"{system.name or 'the system'}: {system.size} coordinate"
        + "s" * (system.size != 1),
    }


def _questions(model: Any) -> list[str]:
    """Return the tabs that make sense for a model."""
    moves = [] if model.system.kinetic == 0 else ["live"]
    return moves + sections(model)


def _answered(model: Any, question: str) -> dict[str, Any]:
    chapter = section(model, question)
    tiles = [f"{what}: {fact}" for what, fact in chapter.summary]
    return {"html": page(TABS[question], chapter.html), "evidence": tiles}


def _end_with_the_server() -> None:
    """End the process when the one that started it has ended, however it did."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def serve(connection: Any, memory: int) -> None:
    """Answer questions that come through a connection, until it is closed.

    Parameters
    ----------
    connection : multiprocessing.Connection
    memory : int
        Bytes that the process may use.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (ImportError, ValueError, OSError):
        pass  # Where memory cannot be bounded, time still is.
    connection.send("ready")
    while True:
        try:
            question, text = connection.recv()
        except (EOFError, OSError):
            return
        try:
            reply = answer(question, text)
        except MemoryError:
            reply = {"error": "the question needs more memory than it may have.\n  "
                              "Ask for less: fewer coordinates, elements or points."}  # fmt: skip
        except Exception as error:  # The server stays up whatever is asked.
            reply = {"error": f"this should not have happened ({type(error).__name__}).\n  "
                              f"Found: {str(error)[:200]}\n  Please report the model."}  # fmt: skip
        connection.send(reply)
