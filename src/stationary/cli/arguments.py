"""What can be typed after ``stationary``. Nothing heavy is imported here: help comes at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stationary.cli.parser import Parser

CODES = """\
exit codes:
  0    done
  1    a check failed, or a number of the gallery is off
  2    the command line is wrong
  3    the model is wrong, or does not fit the question
  4    the answer was not found: no convergence, no motion
  5    a package or a file is missing
  130  stopped from the keyboard; what there is was saved"""

Add = Callable[[argparse.ArgumentParser], Any]


@dataclass(frozen=True)
class Command:
    """A question: its help, what it takes, and the files that it writes."""

    help: str
    arguments: tuple[Add, ...] = ()
    endings: tuple[str, ...] = ()
    model: bool = True


def _argument(*names: str, **settings: Any) -> Add:
    return lambda parser: parser.add_argument(*names, **settings)


_SPAN = _argument("--span", metavar="FROM:TO", help="first and last time, or range of a parameter")
_AT = _argument(
    "--at", metavar="NAME=VALUE", action="append", default=[],
    help="a coordinate or velocity of the operating point",
)  # fmt: skip
_POINTS = _argument("--points", type=int, metavar="N", help="how many times to report")
_SHOWN: tuple[Add, ...] = (
    _argument("--view", choices=("plot", "phase", "strobe"), default="plot",
              help="what a picture shows: time series, phase portrait, configurations"),
    _argument("--show", metavar="EXPRESSION", action="append", default=[],
              help="a quantity to draw and to write instead of all coordinates"),
    _argument("--fps", type=int, default=25, help="frames per second of a film"),
    _argument("--forces", action="store_true",
              help="draw the forces of contacts and dry friction into a film"),
)  # fmt: skip
_DRAWN = ("json", "csv", "png", "svg", "pdf")
_OF_MOTION = ("json", "csv", "nc", "png", "svg", "pdf", "gif", "html", "toml")

COMMANDS: dict[str, Command] = {
    "equations": Command(
        "derive the equations of motion, or of rest",
        (
            _argument("--explain", action="store_true", help="the derivation, step by step"),
            _argument("--latex", action="store_true", help="write LaTeX"),
            _argument("--principle", choices=("dynamics", "statics"), default="dynamics",
                      help="stationary action, or minimum energy"),
        ),
        ("html", "md", "tex", "json"),
    ),
    "check": Command(
        "check the statement, find what is conserved and which constraints are redundant",
        (), ("json",),
    ),
    "statics": Command(
        "find a state of rest near the start",
        (_argument("--kind", choices=("minimum", "any"), help="minima only, or saddles too"),),
        ("json", "csv"),
    ),
    "equilibria": Command(
        "find all states of rest in a box",
        (_argument("--within", metavar="NAME=FROM:TO", action="append", default=[],
                   help="range of a coordinate to search"),),
        ("json", "csv"),
    ),
    "linearize": Command(
        "linearize about a state of rest and judge its stability", (_AT,),
        ("json", "csv", "png", "svg", "pdf"),
    ),
    "continue": Command(
        "follow states of rest as a parameter moves",
        (_argument("--parameter", metavar="NAME", help="the parameter that moves"), _SPAN),
        ("json", "csv", "png", "svg", "pdf"),
    ),
    "simulate": Command(
        "find how it moves",
        (
            _SPAN,
            _POINTS,
            _argument("--method",
                      choices=("auto", "Taylor", "BDF", "Runge", "Variational", "Moreau"),
                      help="the integrator"),
            _argument("--step", type=float, help="the step of Variational or Moreau, in seconds"),
            *_SHOWN,
        ),
        _OF_MOTION,
    ),
    "slide": Command(
        "find how it slides when inertia is negligible: over a span, or at the start",
        (
            _SPAN,
            _POINTS,
            _argument("--method", choices=("auto", "events", "increments"),
                      help="how changes of what sticks are found"),
            _argument("--step", type=float, help="length of the increments, in seconds"),
            *_SHOWN,
        ),
        _OF_MOTION,
    ),
    "modes": Command(
        "find natural frequencies and shapes of small motions",
        (_argument("--count", type=int, metavar="N", help="how many, the slowest first"),),
        ("json", "csv", "png", "svg", "pdf"),
    ),
    "bounds": Command(
        "bound what a pushed part does over all pressures with which it may rest on its table",
        (
            _argument("--of", metavar="WHAT",
                      help="velocities, as in phi.dot or x.dot + 0.02*phi.dot; power, centre (of "
                           "rotation) or advance"),
            _argument("--prove", type=float, metavar="SHARE",
                      help="prove that no pressure goes beyond, up to this share"),
        ),
        _DRAWN,
    ),
    "weigh": Command(
        "find the loads under a part from how it moved when it was pushed",
        (
            _argument("--pushes", metavar="FILE", help="measured pushes or tracks, as a CSV file"),
            _argument("--friction", type=float, metavar="MU", help="of the finger, if it is known"),
        ),
        _DRAWN,
    ),
    "live": Command(
        "write a page in which it moves, and can be steered, in any browser",
        (
            _SPAN,
            _argument("--show", metavar="EXPRESSION", action="append", default=[],
                      help="a quantity to watch besides all coordinates"),
            _argument("--paused", action="store_true", help="wait for the reader to begin"),
            _argument("--open", action="store_true", help="open the page in a browser"),
        ),
        ("html",),
    ),
    "report": Command(
        "write a page with the statement, the derivation, the answers and their evidence",
        (_argument("--no-film", action="store_true", help="leave the animation out"),),
        ("html",),
    ),
    "studio": Command(
        "write a model in the browser and see it move, rest and answer",
        (
            _argument("model", nargs="?", metavar="MODEL", help="the model file; it may be new"),
            _argument("--port", type=int, metavar="N", help="where the local server listens"),
            _argument("--limit", type=float, default=60.0, metavar="SECONDS",
                      help="longest time of a question (60)"),
            _argument("--no-open", action="store_true", help="do not open the browser"),
        ),
        (), model=False,
    ),
    "gallery": Command(
        "run the worked examples and build a page of them",
        (
            _argument("names", nargs="*", metavar="EXAMPLE", help="which ones; all when left out"),
            _argument("--list", action="store_true", help="only list them"),
            _argument("--open", action="store_true", help="open the page in a browser"),
        ),
        (), model=False,
    ),
    "new": Command(
        "write a commented model to start from",
        (
            _argument("model", nargs="?", default="model.toml", metavar="FILE",
                      help="file to write (model.toml)"),
            _argument("--force", action="store_true", help="replace a file that exists"),
        ),
        (), model=False,
    ),
    "completion": Command(
        "print a script that completes commands in a shell",
        (_argument("shell", choices=("bash", "zsh", "fish")),), (), model=False,
    ),
}  # fmt: skip


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=28)
        # Names of commands are indented further than options: count them in from the start.
        self._action_max_length = 16


def parser() -> Parser:
    """Return the parser of the whole command line."""
    top = Parser(
        prog="stationary",
        description="Write the energies, get the mechanics: questions about a model file.",
        epilog=CODES + "\n\nBegin with: stationary new pendulum.toml",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    several = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        one = several.add_parser(
            name, help=command.help, description=f"{command.help[0].upper()}{command.help[1:]}.",
            formatter_class=_Formatter, allow_abbrev=False,
        )  # fmt: skip
        if command.model:
            one.add_argument("model", metavar="MODEL", help="the model file")
            one.add_argument(
                "--set", metavar="NAME=VALUE", action="append", default=[], dest="changes",
                help='another value of a parameter, input or start, as in --set m="200 g"',
            )  # fmt: skip
        for add in command.arguments:
            add(one)
        endings = ", ".join(f".{ending}" for ending in command.endings)
        if name == "gallery":
            one.add_argument("-o", "--output", metavar="FOLDER", action="append", default=[],
                             help="where to put the page (gallery)")  # fmt: skip
        elif command.endings:
            one.add_argument("-o", "--output", metavar="FILE", action="append", default=[],
                             help=f"write a file: {endings}; may be repeated")  # fmt: skip
        if name not in ("new", "studio", "completion"):
            one.add_argument("--json", action="store_true", help="print JSON for a program")
            one.add_argument("--quiet", action="store_true", help="print nothing but errors")
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS,
                         help="show the traceback of an error")  # fmt: skip
    return top
