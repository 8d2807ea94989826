"""Results as plain data: text for what is stated, arrays for what was computed.

Nothing in a file is evaluated as a program: only the kinds of objects, and the functions of SymPy,
that are listed here are made, of arguments that were made in the same way.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import sympy as sp
from sympy.functions.elementary.piecewise import ExprCondPair

from stationary.derive.from_sympy import FUNCTIONS
from stationary.derive.graph import Graph
from stationary.errors import StatementError
from stationary.lower.inputs import SLOTS, Drives
from stationary.lower.kernel import Kernel, graph_of, kernel_of
from stationary.model.each import Each
from stationary.model.fields import AbstractAtPoint, Field
from stationary.model.layout import Layout
from stationary.result.event_times import Happened
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.views import travelling

_ROOMS = (
    "model.arrays", "model.continuum", "model.each", "model.fields", "model.interpolation",
    "model.drawing", "model.slider", "model.space.rotation", "model.space.shapes", "model.symbols",
    "model.system", "model.terms", "lower.inputs",
    "result.changes", "result.diagram", "result.equilibrium", "result.limits", "result.modes",
    "result.fields", "result.motion", "result.multipliers", "result.pressure", "result.slide",
    "result.state", "result.statespace", "result.step", "result.touched", "result.quadrics",
    "result.weighed", "model.push", "result.speed_limit",
    "many.design", "many.runs", "derive.findings",
)  # fmt: skip

# What is derived from a statement is derived from it again: its kind, where, how, and of what.
_DERIVED = {
    "Equations": ("lagrange", "equations", "system"),
    "Variation": ("variation", "variation", "system"),
    "Hamilton": ("hamilton", "hamilton", "system"),
    "FieldEquations": ("field_equations", "field_equations", "continuum"),
}

_CONSTANTS = {
    "pi": sp.pi, "E": sp.E, "I": sp.I, "oo": sp.oo, "-oo": -sp.oo, "nan": sp.nan, "zoo": sp.zoo,
    "true": sp.true, "false": sp.false, "GoldenRatio": sp.GoldenRatio,
}  # fmt: skip


@cache
def _kinds() -> dict[str, type]:
    """Return the classes of which objects may be made, by name."""
    classes: dict[str, type] = {}
    for room in _ROOMS:
        module = import_module(f"stationary.{room}")
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                if is_dataclass(kind) or issubclass(kind, (sp.Basic, np.ndarray, dict, list)):
                    classes[name] = kind
    return classes


@cache
def _heads() -> dict[str, Any]:
    """Return the functions of which expressions may be made, by name."""
    heads = [*FUNCTIONS, sp.Add, sp.Mul, sp.Pow, sp.Piecewise, ExprCondPair, sp.Tuple]
    return {h.__name__: h for h in heads}


def _rows(values: list) -> list:
    """Return the entries of a list, rows of a table as plain tuples."""
    return [tuple(v) if isinstance(v, tuple) else v for v in values]


class Encoder:
    """Turns objects into plain data; equal expressions and objects are written once."""

    def __init__(self):
        self.nodes: list[Any] = []
        self.objects: list[Any] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._node: dict[sp.Basic, int] = {}
        self._object: dict[int, int] = {}
        self._alive: list[Any] = []

    def __call__(self, value: Any, name: str = "a") -> Any:
        """Return plain data for a value; `name` is for the array that it may be."""
        if value is None or isinstance(value, (bool, int)) or type(value) is str:
            return value
        if isinstance(value, (np.bool_, np.integer)):
            return value.item()
        if isinstance(value, (float, np.floating)):
            return {"f": float(value).hex()}
        if isinstance(value, (complex, np.complexfloating)):
            return {"c": [float(value.real).hex(), float(value.imag).hex()]}
        if isinstance(value, sp.Basic):
            return {"e": self._expression(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if type(value) is list:
            return [self(v, f"{name}_{i}") for i, v in enumerate(value)]
        if type(value) is tuple:
            return {"t": [self(v, f"{name}_{i}") for i, v in enumerate(value)]}
        if type(value) is dict:
            return {"d": [[self(k), self(v, f"{name}_{k}")] for k, v in value.items()]}
        if isinstance(value, Happened):
            return {"h": [self(tuple(value), name), self(value.names)]}
        if isinstance(value, Status):
            parts = value.__reduce__()[1]
            return {"s": [self(v, f"{name}_status") for v in parts]}
        return {"o": self._shared(value, name)}

    def _shared(self, value: Any, name: str) -> int:
        """Write an object once, however often it occurs."""
        if id(value) not in self._object:
            # Kept alive: the identity of what is gone may come again.
            self._alive.append(value)
            written = self._written(value, name)
            self.objects.append(written)
            self._object[id(value)] = len(self.objects) - 1
        return self._object[id(value)]

    def _written(self, value: Any, name: str) -> Any:
        if isinstance(value, Graph):
            return {"graph": self(value.system)}
        if isinstance(value, Layout):
            return {"layout": self(value.system)}
        if isinstance(value, Kernel):
            _, (system, *parts) = value.__reduce__()
            return {"kernel": self(system), "of": [self(p) for p in parts]}
        kind = type(value).__name__
        if kind in _DERIVED and type(value).__module__.startswith("stationary.derive."):
            return {"derived": kind, "of": self(getattr(value, _DERIVED[kind][2]))}
        if _kinds().get(kind) is not type(value):
            raise StatementError(
                f"what is of the kind {kind} cannot be saved.",
                "Expected numbers, statements, and what is calculated or derived from them.",
                "Save a system, or the motion, equilibrium or other result of a question about it.",
            )
        if isinstance(value, dict):
            return {"is": kind, "dict": self(dict(value), name)}
        if isinstance(value, list):
            return {"is": kind, "list": self(_rows(value), name), "said": self(vars(value))}
        known = travelling(value)
        given = {
            f.name: self(content, f"{name}_{f.name}" if name else f.name)
            for f in fields(value)
            if f.init and (content := known.get(f.name, f)) is not f
        }
        return {"is": kind, "with": given}

    def _array(self, value: np.ndarray, name: str) -> Any:
        plain = value.every if isinstance(value, Multipliers) else np.asarray(value)
        if plain.dtype.kind == "O":
            entries = [self(v, f"{name}_{i}") for i, v in enumerate(plain.ravel())]
            return {"several": entries, "shape": list(plain.shape)}
        name = name or "values"
        description: dict[str, Any] = {"dtype": plain.dtype.str, "shape": list(plain.shape)}
        if type(value) is not np.ndarray:
            description["is"] = type(value).__name__
            description["of"] = self(value.layout if hasattr(value, "layout") else value.modes)  # pyright: ignore[reportAttributeAccessIssue]
        if plain.dtype.kind not in "biufc":
            raise StatementError(
                "an array of words cannot be saved.", f"Found {name}.", "Save numbers."
            )
        if plain.size:
            while name in self.arrays:
                name += "_"
            self.arrays[name] = plain.view(float).reshape(-1) if plain.dtype.kind == "c" else plain
            description["a"] = name
        else:
            description["a"] = None
        return description

    def _expression(self, e: sp.Basic) -> int:
        """Write an expression as a list of nodes, each after those that it is made of."""
        if e not in self._node:
            self.nodes.append(self._term(e))
            self._node[e] = len(self.nodes) - 1
        return self._node[e]

    def _term(self, e: Any) -> Any:
        kind = type(e).__name__
        if isinstance(e, (sp.Integer, sp.Rational)):
            return ["Rational", str(e.p), str(e.q)]
        if isinstance(e, sp.Float):
            return ["Float", [str(x) for x in e._mpf_], e._prec]
        if not e.args and str(e) in _CONSTANTS and _CONSTANTS[str(e)] == e:
            return ["constant", str(e)]
        if isinstance(e, Each):
            return ["Each", self(e.expressions), self(e.table), e.name]
        if _kinds().get(kind) is type(e):
            return ["symbol", kind, self(tuple(e.__getnewargs_ex__()[0]))]
        if type(e) is sp.Symbol:
            return ["name", e.name, bool(e.is_real)]
        if _heads().get(kind) is type(e):
            return [kind, *(self._expression(a) for a in e.args)]
        raise StatementError(
            f"'{str(e)[:60]}' cannot be saved.",
            f"Found {kind}; known: {', '.join(sorted(_heads()))}.",
            "Rewrite the expression with these functions.",
        )


class Decoder:
    """Makes objects of plain data, each of those before it; anything else is refused."""

    def __init__(self, nodes: list[Any], objects: list[Any], arrays: dict[str, np.ndarray]):
        self._arrays = arrays
        self._left = [nodes, objects]
        # Expressions name tables and tables expressions: each is made when it is first needed.
        self._decoded: dict[tuple[str, int], Any] = {}

    def __call__(self, data: Any) -> Any:
        """Return the value that plain data stands for."""
        if data is None or isinstance(data, (bool, int, str)):
            return data
        if isinstance(data, list):
            return [self(v) for v in data]
        if "f" in data:
            return float.fromhex(data["f"])
        if "c" in data:
            return complex(*map(float.fromhex, data["c"]))
        if "e" in data:
            return self._once("e", data["e"], self._term)
        if "o" in data:
            return self._once("o", data["o"], self._object)
        if "t" in data:
            return tuple(self(v) for v in data["t"])
        if "h" in data:
            return Happened(*map(self, data["h"]))
        if "d" in data:
            return {self(k): self(v) for k, v in data["d"]}
        if "s" in data:
            return Status(*map(self, data["s"]))
        if "several" in data:
            entries = np.empty(len(data["several"]), dtype=object)
            for i, entry in enumerate(data["several"]):
                entries[i] = self(entry)
            return entries.reshape(tuple(data["shape"]))
        return self._array(data)

    def _once(self, table: str, i: int, make: Any) -> Any:
        if (table, i) not in self._decoded:
            # An index that is being made, or negative, is no earlier one.
            entry = self._left[table == "o"][i] if i >= 0 else None
            if entry is None:
                raise ValueError("a circle")
            self._left[table == "o"][i] = None
            self._decoded[table, i] = make(entry)
        return self._decoded[table, i]

    def _object(self, data: Any) -> Any:
        if "graph" in data:
            return graph_of(self(data["graph"]))
        if "layout" in data:
            return graph_of(self(data["layout"])).layout
        if "kernel" in data:
            signature, *arguments = map(self, data["of"])
            return kernel_of(self(data["kernel"]), _laws(signature), *arguments)
        if "derived" in data:
            room, derive, _ = _DERIVED[data["derived"]]
            statement = self(data["of"])
            _require_no_text([statement])
            return getattr(import_module(f"stationary.derive.{room}"), derive)(statement)
        kind = _kinds()[data["is"]]
        if "dict" in data and issubclass(kind, dict):
            return kind(self(data["dict"]))
        if "list" in data and issubclass(kind, list):
            entries = kind(self(data["list"]))
            for name, said in self(data["said"]).items():
                setattr(entries, str(name), said)
            return entries
        if not is_dataclass(kind):
            raise ValueError(data["is"])
        given = {str(k): self(v) for k, v in data["with"].items()}
        words = {f.name for f in fields(kind) if "str" in str(f.type) or "dict" in str(f.type)}
        if kind is Drives:
            words.add("signature")
            _laws(given["signature"])
        _require_no_text([v for k, v in given.items() if k not in words])
        return kind(**given)

    def _array(self, data: Any) -> np.ndarray:
        dtype, shape = np.dtype(data["dtype"]), tuple(data["shape"])
        if dtype.kind not in "biufc":
            raise ValueError(data["dtype"])
        if data["a"] is None:
            plain = np.zeros(shape, dtype)
        else:
            stored = self._arrays[data["a"]]
            plain = stored.astype(float).view(complex) if dtype.kind == "c" else stored
            plain = np.ascontiguousarray(plain.astype(dtype).reshape(shape))
        if "is" not in data:
            return plain
        return _kinds()[data["is"]].of(plain, self(data["of"]))  # pyright: ignore[reportAttributeAccessIssue]

    def _term(self, data: Any) -> sp.Basic:
        kind, *rest = data
        if kind == "Rational":
            return sp.Rational(int(rest[0]), int(rest[1]))
        if kind == "Float":
            sign, mantissa, exponent, bits = map(int, rest[0])
            # Of nothing SymPy would make the whole number.
            value = (sign, mantissa, exponent, bits) if bits else 0.0
            return sp.Float(value, precision=int(rest[1]))
        if kind == "constant":
            return _CONSTANTS[rest[0]]
        if kind == "name":
            return sp.Symbol(str(rest[0]), real=True if rest[1] else None)
        if kind == "Each":
            return Each(self(rest[0]), self(rest[1]), rest[2])
        if kind == "symbol":
            symbol = _kinds()[rest[0]]
            if not issubclass(symbol, sp.Symbol):
                raise ValueError(rest[0])
            name, *settings = self(rest[1])
            if issubclass(symbol, (Field, AbstractAtPoint)):
                # The side of a point is a word, too.
                _require_no_text([x for x in settings if x not in ("", "+", "-")])
            return symbol(str(name), *settings)
        arguments = [self({"e": int(i)}) for i in rest]
        # As it was written: what SymPy would simplify, it had simplified before.
        if kind in ("Add", "Mul", "Pow"):
            return _heads()[kind](*arguments, evaluate=False)
        return _heads()[kind](*arguments)


def _laws(signature: Any) -> Any:
    """Return how inputs are given, if it is so that each has a kind and at most an expression."""
    if any(kind not in SLOTS for kind, _ in signature):
        raise ValueError("an input of no known kind")
    _require_no_text([content for _, content in signature])
    return signature


def _require_no_text(values: Any) -> None:
    """Refuse text where an expression belongs: SymPy would evaluate it."""
    if isinstance(values, str) and not isinstance(values, Status):
        raise ValueError(f"text where an expression belongs: {values[:40]}")
    if isinstance(values, dict):
        _require_no_text([*values, *values.values()])
    elif isinstance(values, (list, tuple)) and not hasattr(values, "_fields"):
        for value in values:
            _require_no_text(value)
