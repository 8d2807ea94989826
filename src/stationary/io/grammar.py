"""The grammar of expressions in model files: text to SymPy, by descent, with places.

    sum       = product {("+" | "-") product}
    product   = ("-" | "+") product | power {("*" | "/") signed}
    signed    = ("-" | "+") signed | power
    power     = primary [("^" | "**") signed]
    primary   = number | name | name "(" sum {"," sum} ")" | name "[" index {"," index} "]"
              | "(" sum ")"                         each followed by "'" or ".dot" for its rate
    condition = sum ("<" | "<=" | ">" | ">=") sum   as an argument of if() alone

Nothing is evaluated: names are looked up among those declared, functions in a fixed list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

import sympy as sp

from stationary.errors import did_you_mean
from stationary.io.nodes import Nodes, Refused
from stationary.model.contents import contents
from stationary.model.symbols import rate

#: Limits: an expression that a person writes stays far below them.
LONGEST = 20_000
DEEPEST = 60
_MOST_DIGITS = 40
_LARGEST_EXPONENT = 300
_LONGEST_NAME = 60


class Function(NamedTuple):
    """A function of the grammar: what makes it from its arguments, and how many it takes."""

    make: Callable[[Nodes, list[Any]], Any]
    fewest: int = 1
    most: int = 1


def _of(kind: Any) -> Callable[[Nodes, list[Any]], Any]:
    return lambda nodes, arguments: nodes.call(kind, arguments)


FUNCTIONS = {
    **{name: Function(_of(getattr(sp, name))) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "exp", "log",
    )},
    "sqrt": Function(lambda nodes, arguments: nodes.root(arguments[0])),
    **{name: Function(_of(getattr(sp, name))) for name in ("sign", "erf", "floor")},
    "atan2": Function(_of(sp.atan2), 2, 2),
    "abs": Function(_of(sp.Abs)),
    "ceil": Function(_of(sp.ceiling)),
    "step": Function(_of(sp.Heaviside)),
    "min": Function(_of(sp.Min), 1, 20),
    "max": Function(_of(sp.Max), 1, 20),
    "norm": Function(lambda nodes, arguments: nodes.norm(arguments), 1, 20),
    "rate": Function(lambda nodes, arguments: nodes.keep(rate(arguments[0]))),
    "if": Function(lambda nodes, arguments: nodes.choose(*arguments), 3, 21),
}  # fmt: skip

# What people write instead, and what is meant.
_HABITS = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "ln": "log",
           "fabs": "abs", "Abs": "abs", "Max": "max", "Min": "min", "root": "sqrt", "Sin": "sin",
           "Cos": "cos", "sgn": "sign", "Heaviside": "step", "ceiling": "ceil", "dot": "rate",
           "diff": "rate", "Piecewise": "if", "pow": "x^n", "cot": "1/tan", "sec": "1/cos",
           "csc": "1/sin"}  # fmt: skip

_COMPARISONS = {"<": sp.StrictLessThan, "<=": sp.LessThan, ">": sp.StrictGreaterThan,
                ">=": sp.GreaterThan}  # fmt: skip
_SAME = {"−": "-", "–": "-", "·": "*", "⋅": "*", "×": "*", "∗": "*", "**": "^",
         "≤": "<=", "≥": ">=", "’": "'", "′": "'"}  # fmt: skip
# Raised and lowered figures and fractions are letters to Python and powers to people.
_LETTER = r"[^\W¹²³¼½¾⁰-₟⅐-⅟]"
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>(?:(?!\d)LETTER)LETTER*)
    | (?P<mark>\*\*|<=|>=|\.(?=\s*dot\b)|[-+*/^()\[\],:<>'−–·⋅×∗≤≥’′])
    )""".replace("LETTER", _LETTER),
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")


class Token(NamedTuple):
    """A piece of text with a meaning of its own."""

    kind: str  # "number", "name", "mark" or "end"
    text: str
    start: int
    end: int


class Scope(Protocol):
    """What names mean in an expression, and how a mistake is reported."""

    @property
    def nodes(self) -> Nodes:
        """The nodes of all expressions of the file."""
        ...

    def symbol(self, token: Token) -> sp.Expr:
        """Return what a name stands for, or complain."""
        ...

    def entry(self, token: Token, indices: list[Index], end: int) -> sp.Expr:
        """Return the entry of an array, or complain."""
        ...

    def velocity(self, e: sp.Expr, start: int, end: int) -> sp.Expr:
        """Return the rate of a coordinate or of a definition, or complain."""
        ...

    def called(self, token: Token, arguments: list[Any], end: int) -> sp.Expr | None:
        """Return the value of something else that is called, or None."""
        ...

    def names(self) -> list[str]:
        """Return what is declared."""
        ...

    def complain(
        self, start: int, end: int, what: str, finding: str = "", remedy: str = ""
    ) -> NoReturn:
        """Refuse a stretch of the expression."""
        ...


@dataclass(frozen=True)
class Index:
    """An index of an array: a name with a whole number added, or a whole number."""

    name: str
    offset: int
    start: int
    end: int


def parse(text: str, scope: Scope) -> sp.Expr:
    """Turn text into a SymPy expression.

    Parameters
    ----------
    text : str
    scope : Scope
        What names stand for.

    Raises
    ------
    StatementError
        With the place of the mistake; nothing else, whatever the text.
    """
    if len(text) > LONGEST:
        scope.complain(
            0, 1, "the expression is too long.",
            f"Found {len(text)} characters, expected at most {LONGEST}.",
            "State what repeats once, with [[each]], or name parts of it in [definitions].",
        )  # fmt: skip
    parser = _Parser(text, scope)
    try:
        e = parser.whole()
    except Refused as refused:
        before = parser.tokens[max(0, parser.place - 1)]
        scope.complain(parser.began, max(before.end, parser.began + 1), *refused.args)
    except (RecursionError, OverflowError, ZeroDivisionError, TypeError, ValueError) as error:
        if hasattr(error, "line"):
            raise
        # SymPy gives up on it: comparing complex numbers, rounding infinities.
        scope.complain(
            0, len(text), "the expression has no value that can be computed with.",
            f"Found {type(error).__name__} in working it out.", "Simplify it.",
        )  # fmt: skip
    if not isinstance(e, sp.Expr) or contents(e).unphysical:
        scope.complain(
            0, len(text), "the expression is not a finite real number for any state.",
            "Found an infinite or a complex number in it.",
            "Check divisions by zero and roots of what is negative.",
        )  # fmt: skip
    return e


class _Parser:
    def __init__(self, text: str, scope: Scope):
        self.text, self.scope = text, scope
        self.nodes = scope.nodes
        self.tokens = list(self._tokens())
        self.place = 0
        self.depth = 0
        self.began = 0  # where what is put together now begins

    # -- tokens -------------------------------------------------------------------------------

    def _tokens(self):
        at, text = 0, self.text
        while True:
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                break
            kind = match.lastgroup
            start, at = match.start(kind), match.end()
            word = match[kind]
            if kind == "number":
                self._check_number(word, start, at)
            elif kind == "name" and len(word) > _LONGEST_NAME:
                self.scope.complain(
                    start, at, "a name is too long.",
                    f"Found {len(word)} letters, expected at most {_LONGEST_NAME}.",
                    "Shorten it.",
                )  # fmt: skip
            yield Token(kind, _SAME.get(word, word), start, at)
        rest = _SPACE.match(text, at)
        at = rest.end() if rest else at
        if at < len(text):
            self._unknown_character(at)
        yield Token("end", "", len(text), len(text) + 1)

    def _check_number(self, word: str, start: int, end: int) -> None:
        digits, _, exponent = word.lower().partition("e")
        if len(digits) > _MOST_DIGITS or len(exponent) > 4 or (
            exponent and abs(int(exponent)) > _LARGEST_EXPONENT
        ):  # fmt: skip
            self.scope.complain(
                start, end, "a number is too long or too large.",
                f"Found {word[:20]}{'…' * (len(word) > 20)}, expected at most {_MOST_DIGITS} "
                f"digits and an exponent of at most {_LARGEST_EXPONENT}.",
                "Choose units in which it is smaller.",
            )  # fmt: skip

    def _unknown_character(self, at: int) -> NoReturn:
        character = self.text[at]
        remedies = {
            "=": "Write the left side minus the right side instead.",
            "|": "Write abs(x) for |x|.",
            "²": "Write ^2.",
            "³": "Write ^3.",
            "½": "Write 1/2, in brackets as a power.",
            "÷": "Write /.",
            "√": "Write sqrt(x).",
            ".": "Write theta.dot for a velocity, and 0.5 for a half.",
            "{": "Use round brackets.",
            "}": "Use round brackets.",
            ";": "Separate arguments by commas.",
            "%": "Write /100.",
            "!": "Write the product out.",
            "\u0307": "Write theta' or theta.dot for a velocity.",
            '"': "Write theta'' for nothing: accelerations cannot stand in a statement.",
        }
        if character in "₀₁₂₃₄₅₆₇₈₉":
            remedies[character] = "Write figures of names on the line, as in x1."
        if character == '"' and not self.text[:at].strip():
            remedies[character] = "Leave the quotes out."
        package = re.search(r"\b(np|numpy|math|sp|sympy|st)\Z", self.text[:at])
        if character == "." and package:
            remedies["."] = f"Leave '{package[1]}.' out: functions stand alone, as in cos(x)."
        shown = character if character.isprintable() else f"U+{ord(character):04X}"
        self.scope.complain(
            at, at + 1, f"'{shown}' cannot stand in an expression.",
            "Expected numbers, names, + - * / ^, brackets and functions.",
            remedies.get(character, "Remove it."),
        )  # fmt: skip

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> Token:
        token = self.tokens[self.place]
        if token.kind != "end":
            self.place += 1
        return token

    def at(self, *marks: str) -> bool:
        return self.token.kind == "mark" and self.token.text in marks

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.scope.complain(
                self.token.start, self.token.end, "the expression is nested too deeply.",
                f"Found more than {DEEPEST} levels.", "Name parts of it in [definitions].",
            )  # fmt: skip

    # -- the grammar --------------------------------------------------------------------------

    def whole(self) -> sp.Expr:
        if self.token.kind == "end":
            self.scope.complain(
                0, 1, "the expression is empty.", "Found no number and no name.",
                "Write an expression, or leave the key out.",
            )  # fmt: skip
        e = self.sum()
        if self.token.kind != "end":
            self._unexpected()
        return e

    def sum(self) -> sp.Expr:
        start = self.token.start
        terms = [self.product()]
        while self.at("+", "-"):
            minus = self.take().text == "-"
            term = self.product()
            terms.append(self.minus(term) if minus else term)
        self.began = start
        return terms[0] if len(terms) == 1 else self.nodes.add(terms)

    def minus(self, e: sp.Expr) -> sp.Expr:
        return self.nodes.multiply([sp.S.NegativeOne, e])

    def product(self) -> sp.Expr:
        start = self.token.start
        if self.at("-", "+"):
            # A sign is that of the whole product, so that what is written reads back as it was.
            self.deeper()
            minus = self.take().text == "-"
            e = self.product()
            self.depth -= 1
            return self.minus(e) if minus else e
        factors = [self.power()]
        while self.at("*", "/"):
            sign = self.take()
            factor = self.signed()
            self.began = sign.start
            factors.append(self.nodes.divide(factor) if sign.text == "/" else factor)
        self.began = start
        return factors[0] if len(factors) == 1 else self.nodes.multiply(factors)

    def signed(self) -> sp.Expr:
        if self.at("-", "+"):
            self.deeper()
            minus = self.take().text == "-"
            operand = self.signed()
            self.depth -= 1
            return self.minus(operand) if minus else operand
        return self.power()

    def power(self) -> sp.Expr:
        start = self.token.start
        base = self.primary()
        if not self.at("^"):
            return base
        self.deeper()
        self.take()
        exponent = self.signed()
        self.depth -= 1
        self.began = start
        return self.nodes.power(base, exponent)

    def primary(self) -> sp.Expr:
        start = self.token.start
        e = self._primary()
        while self.at("'", "."):
            dotted = self.take().text == "."
            if dotted:
                self.take()
            e = self.scope.velocity(e, start, self.tokens[self.place - 1].end)
        if self.token.kind in ("number", "name") or self.at("(", "["):
            self._missing_operator()
        return e

    def _primary(self) -> sp.Expr:
        token = self.take()
        if token.kind == "number":
            return sp.Integer(token.text) if token.text.isdecimal() else sp.Float(float(token.text))
        if token.kind == "name":
            if self.at("("):
                return self.call(token)
            if self.at("["):
                return self._entry(token)
            if token.text in FUNCTIONS:
                self._without_argument(token)
            return sp.pi if token.text == "pi" else self.scope.symbol(token)
        if token.text == "(":
            self.deeper()
            inside = self.sum()
            self._close(token, ")")
            self.depth -= 1
            return inside
        self.place -= token.kind != "end"
        self._missing_operand()

    def call(self, name: Token) -> sp.Expr:
        bracket = self.take()
        self.deeper()
        arguments: list[Any] = []
        while not self.at(")"):
            arguments.append(self._argument(name.text == "if" and len(arguments) % 2 == 0))
            if not self.at(","):
                break
            self.take()
        self._close(bracket, ")")
        self.depth -= 1
        end = self.tokens[self.place - 1].end
        other = self.scope.called(name, arguments, end)
        if other is not None:
            return other
        function = FUNCTIONS.get(name.text)
        if function is None:
            self._unknown_function(name)
        if not function.fewest <= len(arguments) <= function.most:
            self._wrong_count(name, function, len(arguments), end)
        if name.text == "if":
            self._check_conditions(name, arguments, end)
        self.began = name.start
        return function.make(self.nodes, arguments)

    def _argument(self, condition_expected: bool) -> Any:
        left = self.sum()
        if not self.at(*_COMPARISONS):
            return left
        sign = self.take()
        if not condition_expected:
            self.scope.complain(
                sign.start, sign.end, f"'{sign.text}' cannot stand here.",
                "A comparison stands in if() alone.",
                "Write if(x < 0, value, other value).",
            )  # fmt: skip
        right = self.sum()
        return self.nodes.compare(_COMPARISONS[sign.text], left, right)

    def _check_conditions(self, name: Token, arguments: list[Any], end: int) -> None:
        conditions = [*arguments[:-1:2]]
        values = [*arguments[1::2], arguments[-1]]
        if len(arguments) % 2 == 0 or any(isinstance(c, sp.Expr) for c in conditions) or not all(
            isinstance(v, sp.Expr) for v in values
        ):  # fmt: skip
            self.scope.complain(
                name.start, end, "if() takes conditions and values in turn, and a last value.",
                f"Found {len(arguments)} arguments, of which {len(conditions)} should compare.",
                "Write if(x < 0, value, other value).",
            )  # fmt: skip

    def _entry(self, name: Token) -> sp.Expr:
        bracket = self.take()
        indices = [self._index()]
        while self.at(","):
            self.take()
            indices.append(self._index())
        self._close(bracket, "]")
        return self.scope.entry(name, indices, self.tokens[self.place - 1].end)

    def _index(self) -> Index:
        first = self.token
        name, offset, sign = "", 0, 1
        if self.at("-"):
            self.take()
            sign = -1
        token = self.take()
        if token.kind == "name" and sign == 1:
            name = token.text
            if not self.at("+", "-"):
                return Index(name, 0, first.start, token.end)
            sign = 1 if self.take().text == "+" else -1
            token = self.take()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 9:
            self.scope.complain(
                first.start, max(token.end, first.end), "an index is a whole number or i with one.",
                f"Found {self.text[first.start : token.end]!r}.", "Write r[0,1] or r[i+1,0].",
            )  # fmt: skip
        offset = sign * int(token.text)
        return Index(name, offset, first.start, token.end)

    # -- what is wrong ------------------------------------------------------------------------

    def _close(self, opened: Token, close: str) -> None:
        if self.at(close):
            self.take()
        elif self.token.kind == "end":
            self.scope.complain(
                opened.start, opened.end, "a bracket is opened and never closed.",
                f"Found '{opened.text}' without '{close}'.", f"Add '{close}'.",
            )  # fmt: skip
        else:
            self._unexpected()

    def _unexpected(self) -> NoReturn:
        token = self.token
        if token.text in (")", "]"):
            self.scope.complain(
                token.start, token.end, "a bracket is closed that was never opened.",
                f"Found '{token.text}'.", "Remove it, or add the one that opens.",
            )  # fmt: skip
        before = self.text[: token.start].rstrip()
        after = self.text[token.end :].lstrip()
        if token.text == "," and before[-1:].isdigit() and after[:1].isdigit():
            self.scope.complain(
                token.start, token.end, "a comma stands in a number.",
                "Found ',' between digits.", "Write a decimal point.",
            )  # fmt: skip
        if token.text in _COMPARISONS:
            self.scope.complain(
                token.start, token.end, f"'{token.text}' cannot stand here.",
                "A comparison stands in if() alone.", "Write if(x < 0, value, other value).",
            )  # fmt: skip
        self.scope.complain(
            token.start, token.end, f"'{token.text}' cannot stand here.",
            "Expected an operator, a closing bracket or the end.", "Remove it.",
        )  # fmt: skip

    def _missing_operand(self) -> NoReturn:
        token = self.token
        before = self.tokens[self.place - 1] if self.place else None
        if before is None or before.text in ("(", ",", "["):
            self.scope.complain(
                token.start, token.end, f"something is missing before '{token.text}'."
                if token.text else "something is missing at the end.",
                "Expected a number, a name or a function.", "Complete the expression.",
            )  # fmt: skip
        after = f"'{token.text}'" if token.text else "the end of the expression"
        self.scope.complain(
            before.start, before.end, f"something is missing after '{before.text}'.",
            f"Found {after}, expected a number, a name or a function.", "Complete the expression.",
        )  # fmt: skip

    def _missing_operator(self) -> NoReturn:
        left, right = self.tokens[self.place - 1], self.token
        if right.text == "[":
            self.scope.complain(
                right.start, right.end, "an index stands behind what has none.",
                "Expected the name of an array before '['.", "Use round brackets for grouping.",
            )  # fmt: skip
        before = "(…)" if left.text == ")" else left.text
        wanted = f"{before}*{right.text}{'…)' if right.text == '(' else ''}"
        self.scope.complain(
            left.start, right.end, f"an operator is missing between '{left.text}' and "
            f"'{right.text}'.", f"Found {self.text[left.start : right.end]!r}.",
            f"Write {wanted} for a product"
            + (", at(diff(u, X), 0) for a slope at a point." if "diff(" in self.text else "."),
        )  # fmt: skip

    def _without_argument(self, name: Token) -> NoReturn:
        argument = self.token.text if self.token.kind == "name" else "x"
        power = f"^{self.tokens[self.place + 1].text}" if self.at("^") else ""
        self.scope.complain(
            name.start, name.end, f"the function '{name.text}' has no argument.",
            "Expected a bracket after it.", f"Write {name.text}({argument}){power}.",
        )  # fmt: skip

    def _unknown_function(self, name: Token) -> NoReturn:
        if name.text in self.scope.names() or name.text in ("t", "pi"):
            self.scope.complain(
                name.start, name.end, f"'{name.text}' is not a function.",
                "Found a bracket directly after it.", f"Write {name.text}*(…) for a product.",
            )  # fmt: skip
        near = _HABITS.get(name.text)
        remedy = f"Did you mean '{near}'?" if near else did_you_mean(name.text, FUNCTIONS).strip()
        self.scope.complain(
            name.start, name.end, f"'{name.text}' is not a known function.",
            f"Known: {', '.join(FUNCTIONS)}.", remedy or "Write it with these.",
        )  # fmt: skip

    def _wrong_count(self, name: Token, function: Function, count: int, end: int) -> NoReturn:
        wanted = (
            str(function.fewest) if function.fewest == function.most
            else f"{function.fewest} to {function.most}"
        )  # fmt: skip
        example = {"atan2": "atan2(y, x)", "if": "if(x < 0, value, other value)"}
        self.scope.complain(
            name.start, end, f"{name.text}() does not take {count} "
            f"argument{'s' * (count != 1)}.",
            f"Expected {wanted}.", f"Write {example.get(name.text, f'{name.text}(x)')}.",
        )  # fmt: skip
