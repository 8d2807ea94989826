"""What cannot be parsed is told in three parts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from stationary.errors import did_you_mean, say

_KINDS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong, what it takes and what to do."""

    def __init__(self, *places: Any, **given: Any):
        super().__init__(*places, **given)
        # What begins like a negative number is a value, as in --span -1:2.
        self._negative_number_matcher = re.compile(r"-[\d.]")

    # The overloads of argparse say no more than this.
    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Iterable[str] | None = None, namespace: Any = None
    ) -> Any:
        """Parse all that is typed; what is strange is told by the command that it follows."""
        options, strange = self.parse_known_args(None if args is None else [*args], namespace)
        if strange:
            self._of(options).refuse_strange(strange)
        return options

    def _of(self, options: Any) -> Parser:
        """Return the parser of the command that was typed."""
        several = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        choices = {name: one for action in several for name, one in action.choices.items()}
        return choices.get(str(getattr(options, "command", "")), self)

    def refuse_strange(self, strange: Sequence[str]) -> NoReturn:
        """Refuse what is no argument."""
        known = sorted(o for o in self._option_string_actions if o.startswith("--"))
        first = strange[0].partition("=")[0]
        near = did_you_mean(first, known) if first.startswith("-") else ""
        self._refuse(
            f"'{strange[0]}' is nothing that '{self.prog}' takes.",
            f"Options: {', '.join(known)}.{near}",
        )

    def error(self, message: str) -> NoReturn:
        """Refuse what argparse does not understand."""
        argument, _, wrong = message.removeprefix("argument ").partition(": ")
        kind, _, given = wrong.removeprefix("invalid ").partition(": ")
        if wrong.startswith("invalid choice: "):
            given, _, listed = given.partition(" (choose from ")
            choices = re.findall(r"[\w.-]+", listed)
            near = did_you_mean(given.strip("'"), choices)
            if argument == "COMMAND":
                self._refuse_function(given.strip("'"), choices)
            what = "no command" if argument == "COMMAND" else f"nothing that {argument} takes"
            self._refuse(f"{given} is {what}.", f"Known: {', '.join(choices)}.{near}")
        if wrong.startswith("invalid "):
            expected = _KINDS.get(kind.split(" ")[0], "another value")
            self._refuse(f"{argument} is not {expected}.", f"Found {given}.")
        if message.startswith("the following arguments are required"):
            self._refuse(f"{wrong} is missing.", f"Expected: {self.format_usage()[7:]}")
        if wrong.startswith("expected "):
            option = argument.split("/")[-1]
            remedy = f"A value that begins with '-' is written as in {option}=-x."
            self._refuse(f"{argument} stands without its value.", f"It {wrong}.", remedy)
        if wrong.startswith("ignored explicit argument "):
            self._refuse(f"{argument} takes no value.", f"Found {wrong.split(' ', 3)[3]}.")
        self._refuse(f"{argument} is not understood.", f"Found: {wrong or message}.")

    def _refuse_function(self, name: str, choices: list[str]) -> None:
        """Refuse the name of a function of the library, and say where it is asked."""
        import stationary as st
        from stationary.cli.words import for_a_shell

        if name.isidentifier() and callable(getattr(st, name, None)):
            typed = for_a_shell(f"st.{name}")
            remedy = f"Use {typed}." if typed.startswith("'") else f"Ask it there, as st.{name}(…)."
            self._refuse(f"'{name}' is no command, but a function of the library in Python.",
                         f"Known: {', '.join(choices)}.", remedy)  # fmt: skip

    def _refuse(self, what: str, finding: str, remedy: str = "") -> NoReturn:
        finding = " ".join(finding.split())
        remedy = remedy or f"'{self.prog} --help' lists what can be typed."
        self.exit(2, f"error: {say(what, finding, remedy)}\n")
