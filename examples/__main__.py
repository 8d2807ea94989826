"""Run the examples: ``python -m examples``, or ``python -m examples pendulum rope``."""

import re
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from examples import Row, load, names
from stationary.report.gallery import build

HEAD = ("example", "quantity", "published or exact", "computed", "difference")
WIDTH = (22, 30, 26, 26, 10)
GREEK = {"theta": "θ", "phi": "φ", "tau": "τ"}
GALLERY = Path("gallery")


def written(value: object) -> str:
    """Write a number to twelve digits, and an expression as on paper: ``l² m θ̇``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:.12g}" if abs(value) > 1e-9 else f"{value:.1e}" if value else "0"
    text = str(value).replace("**2", "²").replace("*", " ")
    for name, letter in GREEK.items():
        text = text.replace(name, letter)
    return re.sub(r"(\w)(\d*)\.dot", "\\1\u0307\\2", text)


def padded(cell: str, width: int) -> str:
    # An accent takes no room of its own.
    return cell + " " * (width - sum(not unicodedata.combining(c) for c in cell))


def line(cells: tuple[str, ...]) -> str:
    """Set one row of the table; what is too long for its column goes on below."""
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, WIDTH)]
    height = max(map(len, columns))
    rows = zip(*(column + [""] * (height - len(column)) for column in columns))
    return "\n".join("  ".join(map(padded, row, WIDTH)).rstrip() for row in rows)


def cells(name: str, row: Row) -> tuple[str, ...]:
    difference = f"{row.difference:.1e}" if row.difference else "0"
    mark = "" if row.agrees else " (!)"
    return (name, row.quantity, written(row.expected), written(row.computed), difference + mark)


@dataclass
class Outcome:
    """What came of running examples."""

    rows: dict[str, list[Row]]
    page: Path
    outside: int
    interrupted: bool


def show(chosen: list[str], folder: Path, say: Callable[..., None] = print) -> Outcome:
    """Run examples, print their numbers, draw their pictures and build the page of them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[Row]] = {}
    interrupted = False
    say(line(HEAD))
    try:
        for name in chosen:
            say("  ".join("-" * width for width in WIDTH))
            example = load(name)
            rows[name] = []
            for number, row in enumerate(example.results()):
                rows[name].append(row)
                say(line(cells("" if number else name.replace("_", " "), row)))
            example.pictures(folder)
    except KeyboardInterrupt:
        say("\nstopped from the keyboard; the page shows what there is")
        interrupted = True
    page = build(folder, rows, cells)
    outside = sum(not row.agrees for several in rows.values() for row in several)
    return Outcome(rows, page, outside, interrupted)


def main(chosen: list[str]) -> int:
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        print(f"There is no example '{unknown[0]}'. Examples: {', '.join(names())}.")
        return 2
    began = time.perf_counter()
    outcome = show(chosen or names(), GALLERY, partial(print, flush=True))
    wrong = outcome.outside
    print(f"\n{wrong or 'No'} row{'s' * (wrong != 1)} outside tolerance; ", end="")
    print(f"{time.perf_counter() - began:.0f} s. The page is {outcome.page.resolve()}")
    return 130 if outcome.interrupted else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
