"""Commands that need no model: a new one, the studio, and the gallery."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from stationary.cli.answer import Answer, Mistyped
from stationary.cli.starter import starter


def new(options: Any) -> Answer:
    """Write a commented model to start from."""
    path = Path(options.model)
    if path.suffix != ".toml":
        path = path.with_name(path.name + ".toml")
    if path.exists() and not options.force:
        raise Mistyped(
            f"'{path}' exists already.",
            "A model that somebody wrote is not replaced.",
            "Choose another name, or add --force.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    typed = shlex.quote(str(path))
    path.write_text(starter(typed, path.stem.replace("_", " ")), encoding="utf-8")
    return Answer([
        f"wrote {path}\n\nnext:\n"
        f"  stationary simulate {typed} -o motion.png\n"
        f"  stationary report {typed} -o report.html"
    ])  # fmt: skip


def gallery(options: Any) -> Answer:
    """Run the examples and build a page of them."""
    from stationary.report.gallery import run

    folder = Path((options.output or ["gallery"])[0])
    options.output = []
    built = run(folder, options)
    return Answer([built.words] if built.words else [], built.facts, code=built.code)


def studio(options: Any) -> Answer:
    """Serve the studio until the keyboard interrupts."""
    from stationary.studio.server import run

    def ready(address: str) -> None:
        print(f"the studio is at {address}\nctrl-c ends it", flush=True)
        if not options.no_open:
            import webbrowser

            webbrowser.open(address)

    path = Path(options.model) if options.model else None
    run(path, port=options.port, limit=options.limit, ready=ready)
    return Answer()
