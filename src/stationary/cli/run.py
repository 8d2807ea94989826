"""From what was typed to what is printed, written and returned to the shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

DONE, NEGATIVE, USAGE, WRONG, NOT_FOUND, MISSING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    from stationary.cli.arguments import parser

    top = parser()
    options = top.parse_args(arguments)
    try:
        if options.version:
            from stationary import __version__

            print(f"stationary {__version__}", flush=True)
            return DONE
        if not options.command:
            top.print_help()
            return USAGE
        if options.command == "completion":
            from stationary.cli.completion import script

            print(script(options.shell), flush=True)
            return DONE
        return _answered(options)
    except KeyboardInterrupt:
        print("\nstopped from the keyboard.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as after `stationary … | head`: nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if options.debug:
            raise
        return _failed(error, options)


def _answered(options: Any) -> int:
    # Pictures go to files: no window is needed, nor a screen.
    os.environ.setdefault("MPLBACKEND", "Agg")
    from stationary.cli.commands import answer

    reply = answer(options)
    written, failed = reply.write(options)
    if failed and (options.debug or getattr(options, "json", False)):
        raise failed[0]
    if getattr(options, "json", False):
        print(reply.json())
    elif not getattr(options, "quiet", False):
        reply.show(written)
    distinct = {str(error): error for error in failed}.values()
    return [reply.code, *(_failed(error, options) for error in distinct)][-1]


def _failed(error: Exception, options: Any) -> int:
    """Say what is wrong in three parts, and return its code."""
    from stationary.cli.words import for_a_shell
    from stationary.errors import (
        DerivationError,
        DidNotConverge,
        MissingExtra,
        StatementError,
        of_a_file,
    )

    codes = (
        (DidNotConverge, NOT_FOUND),
        (MissingExtra, MISSING),
        ((StatementError, DerivationError), WRONG),
        (OSError, MISSING),
    )
    code = next((code for kind, code in codes if isinstance(error, kind)), WRONG)
    code = {"typed": USAGE, "missing": MISSING}.get(getattr(error, "status", ""), code)
    said = for_a_shell(of_a_file(error) if isinstance(error, OSError) else str(error))
    if getattr(options, "json", False):
        import json

        facts = {"error": type(error).__name__, "message": said}
        facts |= {k: getattr(error, k) for k in ("file", "line", "column", "status")
                  if getattr(error, k, None)}  # fmt: skip
        print(json.dumps(facts, ensure_ascii=False))
        return code
    from rich.console import Console
    from rich.text import Text

    words = Text(said)
    words.highlight_regex(r"\^+$", "bold red")
    words.highlight_regex(r"(?m)^ +\d* \|", "dim")
    head = Text("error: ", style="bold red")
    console = Console(stderr=True, soft_wrap=True)
    console.print(head + words)
    if not str(error).strip() or code == WRONG and not isinstance(error, ValueError):
        console.print(f"  ({type(error).__name__}; --debug shows where it comes from)")
    return code
