"""Orientations and solids of model files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stationary.io.reader import Reader
from stationary.io.toml import Path
from stationary.model.space.rotation import Orientation
from stationary.model.space.shapes import AbstractShape, Box, Cylinder, Rod, Sphere

#: Shapes by name; each has sizes, and some an axis.
SHAPES: dict[str, Callable[..., AbstractShape]] = {
    "box": lambda *size, axis: Box(size),
    "sphere": lambda radius, axis: Sphere(radius),
    "cylinder": lambda radius, length, axis: Cylinder(radius, length, axis),
    "rod": lambda length, axis: Rod(length, axis),
}
_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "rod": 1}


def rotations(reader: Reader, coordinates: list[Any]) -> list[Any]:
    """Declare the orientations of a file, as rotations = ["R"]; return all coordinates.

    The entries of R are R_w, R_x, R_y and R_z; R_omega_x and the like are its angular velocity in
    the axes of the body, and R_xz is the component along x of its axis z.
    """
    path = ("rotations",)
    if reader.at(path) is None:
        return coordinates
    for place in reader.items(path, "'rotations'"):
        name = reader.text(place, "a rotation")
        reader.declare(place, name, "a rotation", reader.document.complain)
        turned = Orientation(name)
        for entry in turned.entries:
            listed = [k for k, c in enumerate(coordinates) if c.name == entry.name]
            if listed:
                coordinates[listed[0]] = entry
            else:
                reader.declare(
                    place, entry.name, "an entry of a rotation", reader.document.complain
                )
                coordinates.append(entry)
            reader.names.symbols[entry.name] = entry
        known = {f"{name}_omega_{axis}": w for axis, w in zip("xyz", turned.omega)}
        for i, row in zip("xyz", turned.matrix):
            known |= {f"{name}_{i}{j}": e for j, e in zip("xyz", row)}
        for word, e in known.items():
            reader.declare(place, word, "something of a rotation", reader.document.complain)
            reader.names.symbols[word] = e
        reader.names.rotations[name] = turned
    return coordinates


def shape(reader: Reader, path: Path) -> AbstractShape | None:
    """Read the shape of a solid: shape = "cylinder", size = ["r", "l"], axis = "z"."""
    if reader.at((*path, "shape")) is None:
        return None
    kind = reader.choice((*path, "shape"), "the shape of a solid", tuple(SHAPES))
    places = reader.items((*path, "size"), "'size'")
    if len(places) != _SIZES[kind]:
        reader.document.complain(
            (*path, "size"), f"a {kind} has {_SIZES[kind]} sizes.", f"Found {len(places)}.",
            "Give them as in size = [1, 2, 3].",
        )  # fmt: skip
    sizes = [
        reader.expression(p, "a size of a solid", velocities=False, inputs=False) for p in places
    ]
    axis = "z"
    if reader.at((*path, "axis")) is not None:
        axis = reader.choice((*path, "axis"), "the axis of a solid", ("x", "y", "z"))
    return SHAPES[kind](*sizes, axis=axis)


def written(form: AbstractShape, write: Callable[[Any], str]) -> dict[str, Any]:
    """Return the keys of a shape."""
    if isinstance(form, Box):
        return {"shape": "box", "size": [write(e) for e in form.size]}
    if isinstance(form, Sphere):
        return {"shape": "sphere", "size": [write(form.radius)]}
    if isinstance(form, Cylinder):
        sizes = [write(form.radius), write(form.length)]
        return {"shape": "cylinder", "size": sizes, "axis": form.axis}
    assert isinstance(form, Rod)
    return {"shape": "rod", "size": [write(form.length)], "axis": form.axis}
