"""Random texts for the parser: noise, tokens at random, and models with a few letters changed."""

import random
import string

TOKENS = [
    "x", "theta", "m", "r", "F", "t", "pi", "i", "sin", "sqrt", "abs", "max", "atan2", "if", "rate",
    "norm", "log", "exp", "step", "sign", "floor", "(", ")", "[", "]", ",", "+", "-", "*", "/", "^",
    "**", "'", ".dot", ".", "<", ">=", "0", "1", "2", "0.5", "1e3", "1e300", "1e-300", "9", "99999",
    "__class__", "import", "lambda", "eval", "√", "²", "−", "θ", " ", "\t", ":", "=", "|", "'''",
]  # fmt: skip

MODEL = """name = "cart"
coordinates = ["x", "theta", "r[4,2]"]
inputs = ["F"]

[parameters]
m = "1 kg"
l = "50 cm"
k = 3e2

[definitions]
X = "x + l*sin(theta)"

[energies]
kinetic = "m*(X'^2 + (l*theta')^2)/2"
potential = "m*9.81*l*(1 - cos(theta)) + k*x^2/2"

[[loads]]
force = "F"
on = "X"
name = "push"

[[constraints]]
rows = 3
R = "norm(r[i+1,0] - r[i,0], r[i+1,1] - r[i,1]) - 1"
name = "link"

[[each]]
kind = "kinetic"
rows = 4
expression = "h*(r[i,0]'^2 + r[i,1]'^2)/2"
table = { h = [1, 2, 3, 4] }

[[parts]]
kind = "particle"
m = "m"
at = ["x", "0"]

[start]
theta = 0.1
"theta'" = "2 rpm"

[simulate]
span = [0, 10]

[equilibria]
within = { theta = [-1, 4] }
"""


def noise(chance: random.Random) -> str:
    alphabet = chance.choice([string.printable, "()[]'^*", "0123456789.e+-", '\u0307\u2212xθ\0\n"'])
    return "".join(chance.choices(alphabet, k=chance.randrange(40)))


def tokens(chance: random.Random) -> str:
    return "".join(chance.choices(TOKENS, k=chance.randrange(1, 14)))


def grown(chance: random.Random, depth: int = 0) -> str:
    """Return an expression that the grammar allows."""
    kind = chance.randrange(7 if depth < 5 else 2)
    if kind == 0:
        return chance.choice(["x", "theta", "m", "t", "F", "x'", "theta.dot", "pi", "r[0,1]"])
    if kind == 1:
        return chance.choice(["0", "1", "2", "3.5", "1e5", "0.1", "7", "100"])
    parts = [grown(chance, depth + 1) for _ in range(3)]
    if kind == 2:
        return f"({parts[0]})"
    if kind == 3:
        return f"-{parts[0]}"
    if kind == 4:
        name = chance.choice(["sin", "sqrt", "exp", "log", "abs", "sign", "asin", "step", "floor"])
        return f"{name}({parts[0]})"
    if kind == 5:
        many = ["max({}, {})", "min({}, {})", "atan2({}, {})", "norm({}, {})", "if({} < {}, 1, 0)"]
        return chance.choice(many).format(*parts)
    return chance.choice("+-*/^").join(parts[: chance.randrange(2, 4)])


def repeated(chance: random.Random) -> str:
    piece = chance.choice(["(", "-", "sin(", "x^", "[", "x*", "2^", "9*", "{", "sqrt(", "x'", "1e"])
    return piece * chance.choice([10, 100, 3000])


def expression(chance: random.Random) -> str:
    # SymPy works long on what is good: that is a small share.
    make = chance.choices([noise, tokens, grown, repeated], weights=[40, 53, 4, 3])[0]
    return make(chance)


def model(chance: random.Random) -> str:
    """Return a model file with a few places changed."""
    text = MODEL
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(text))
        upto = min(len(text), at + chance.choice([0, 1, 1, 2, 10, 40]))
        new = chance.choice([noise, tokens, repeated, lambda c: c.choice("\"'[]{}=\n#.,\\")])
        text = text[:at] + new(chance) + text[upto:]
    return text
