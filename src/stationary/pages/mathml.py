"""Mathematics as browsers draw it by themselves."""

from __future__ import annotations

import re

from stationary.errors import MissingExtra

# Brackets of a matrix are drawn by the style sheet, and dots are full stops set above the letter:
# not every machine has a font that stretches the ones and places the others.
_DOT, _DOTS = "<mo>&#x002D9;</mo></mover>", "<mo>&#x000A8;</mo></mover>"
_MATRIX = re.compile(
    r'<mo stretchy="true" fence="true" form="prefix">\[</mo><mtable>((?:(?!<mtable>).)*?)</mtable>'
    r'<mo stretchy="true" fence="true" form="postfix">\]</mo>',
    re.DOTALL,
)
# A prime is small already: as a superscript it would be set in points that nobody can count.
_PRIMES = re.compile("<mi>((?:&#x0203[234];|&#x02057;)+)</mi>")
_SINGLE = {"&#x02032;": 1, "&#x02033;": 2, "&#x02034;": 3, "&#x02057;": 4}
# Primes before an exponent, u''^{2}: TeX makes one superscript of both, the converter refuses two.
_RAISED = re.compile(r"('+)\^(?:\{|(\w))")
# Names of several letters beside each other, and functions behind a factor, want a thin space.
_FUNCTION = r"\\(?:a?(?:sin|cos|tan|cot)h?|arc\w+|log|exp|sign|mathrm|operatorname)\b"
_FACTORS = re.compile(rf"(?<=[\w)}}|]) (?={_FUNCTION})|(?<=[a-zA-Z]}}) (?=[a-zA-Z\\](?!right|end))")


def math(latex: str, display: bool = False) -> str:
    r"""Turn LaTeX into MathML, which browsers draw by themselves.

    Examples
    --------
    >>> from stationary.pages.mathml import math
    >>> math(r"\dot{x}")[:5]
    '<math'
    """
    try:
        from latex2mathml.converter import convert
    except ImportError:
        raise MissingExtra(
            "pages need latex2mathml.",
            "It is not installed.",
            "Run: pip install latex2mathml",
        ) from None
    # The converter knows the same arrangements under other names.
    latex = latex.strip().replace("{aligned}", "{split}").replace(r"\operatorname{", r"\mathrm{")
    latex = _RAISED.sub(_one_exponent, latex)
    latex = _FACTORS.sub(r" \\, ", latex)
    mathml = convert(latex, display="block" if display else "inline")
    mathml = mathml.replace(_DOT, '<mtext class="dot">.</mtext></mover>').replace("<mi />", "")
    mathml = mathml.replace(_DOTS, '<mtext class="dot">..</mtext></mover>')
    mathml = _PRIMES.sub(_large, mathml)
    mathml = _MATRIX.sub(r'<mtable class="matrix">\1</mtable>', mathml)
    return f'<div class="math">{mathml}</div>' if display else mathml


def _large(match: re.Match[str]) -> str:
    count = sum(match[1].count(sign) * several for sign, several in _SINGLE.items())
    return f'<mtext style="font-size:140%">{"&#x02032;" * count}</mtext>'


def _one_exponent(match: re.Match[str]) -> str:
    primes = r"\prime" * len(match[1])
    return f"^{{{primes} {match[2]}}}" if match[2] else f"^{{{primes} "
