"""The reference, as Markdown, from the docstrings of everything that is public."""

from __future__ import annotations

import inspect
import re

import stationary as st

#: Where a name stands in the reference, by the part of the package that defines it.
GROUPS = {
    "model": "Statement",
    "derive": "Reading",
    "lower": "Evaluating",
    "solve": "Answers",
    "result": "Results",
    "many": "Many answers",
    "io": "Files",
    "plot": "Pictures",
    "errors": "Failure",
}


def reference() -> str:
    """Return the whole reference."""
    lines = ["# Reference", "", "Everything is imported as `import stationary as st`. Functions of "
             "SymPy (`sin`, `cos`, `sqrt`, `pi`, …) are re-exported.", ""]  # fmt: skip
    found: dict[str, list[str]] = {}
    plain = []
    for name in st.__all__:
        thing = getattr(st, name)
        module = getattr(thing, "__module__", "") or ""
        if module.startswith("stationary."):
            room = module.split(".")[1]
            found.setdefault(GROUPS.get(room, room.capitalize()), []).append(name)
        else:
            plain.append(name)
    groups = dict.fromkeys([*GROUPS.values(), *found])
    for group in groups:
        names = sorted(found.get(group, []), key=str.lower)
        if names:
            links = " · ".join(f"[{name}](#{name.lower()})" for name in names)
            lines += [f"**{group}**: {links}", ""]
    lines += [f"**Re-exported or plain symbols**: {', '.join(f'`{n}`' for n in sorted(plain))}", ""]
    for group in groups:
        for name in sorted(found.get(group, []), key=str.lower):
            lines += [f"## {name}", "", *_entry(name, getattr(st, name)), ""]
    return "\n".join(lines)


def _entry(name: str, thing: object) -> list[str]:
    lines = []
    if not inspect.isclass(thing) or "__init__" in vars(thing):
        lines += [f"```python\nst.{name}{_signature(thing)}\n```", ""]
    lines += _docstring(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        for method, member in sorted(vars(thing).items()):
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and not method.startswith("_") and function.__doc__:
                lines += [f"### {name}.{method}", ""]
                lines += [f"```python\n.{method}{_signature(function)}\n```", ""]
                lines += _docstring(inspect.getdoc(function) or "")
    return lines


def _signature(thing: object) -> str:
    try:
        found = inspect.signature(thing)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return "(…)"
    kept = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    text = str(found.replace(parameters=kept, return_annotation=found.empty))
    return text if len(text) < 90 else re.sub(r", (?=\w+[=,)])", ",\n    ", text)


def _docstring(text: str) -> list[str]:
    """Turn a numpydoc docstring into Markdown."""
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    lines = [_words(parts[0].strip()), ""]
    for heading, body in zip(parts[1::2], parts[2::2]):
        lines += [f"**{heading}**", ""]
        body = inspect.cleandoc(body) if heading == "Examples" else body.strip("\n")
        if heading == "Examples":
            lines += _examples(body)
        elif heading in ("References", "Notes"):
            lines += [_words(body), ""]
        else:
            lines += _list(body)
    return lines


def _list(body: str) -> list[str]:
    """Turn ``name : type`` with indented words into a list."""
    lines = []
    for line in body.split("\n"):
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" : ")
            # Two blanks at the end of a line begin a new one.
            lines.append(f"- `{head}`" + (f" : {_words(kind)}  " if kind else "  "))
        elif line.strip():
            lines.append(f"  {_words(line.strip())}")
    return [*lines, ""]


def _examples(body: str) -> list[str]:
    lines, inside = [], False
    for line in body.split("\n"):
        code = line.startswith((">>>", "...")) or (inside and line.strip() != "")
        if code and not inside:
            lines += ["```pycon"]
        if not code and inside:
            lines += ["```"]
        lines.append(line if code else _words(line))
        inside = code
    return [*lines, "```" if inside else "", ""]


def _words(text: str) -> str:
    # Sphinx writes code between two backticks, Markdown between one. A stroke would end a table.
    return re.sub(r":math:", "", re.sub(r"``", "`", text))
