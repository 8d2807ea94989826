"""Robots from their description files (URDF): links become bodies, joints coordinates."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import sympy as sp

from stationary.errors import MissingExtra, StatementError
from stationary.model.drawing import Part
from stationary.model.space.bodies import impossible, rigid
from stationary.model.space.frames import Frame
from stationary.model.space.rotation import Orientation
from stationary.model.space.shapes import AbstractShape, Box, Cylinder, Sphere
from stationary.model.space.vectors import across, add, direction, scale
from stationary.model.symbols import Coordinate, Parameter
from stationary.model.system import System
from stationary.model.terms import Friction

#: Acceleration of gravity, unless the caller says otherwise.
GRAVITY = 9.81

_KNOWN = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@dataclass
class Robot:
    """A robot on its way from a description to a statement."""

    tree: Any
    name: str
    coordinates: dict[str, Any] = field(default_factory=dict)
    #: The joint, or first link, of every coordinate.
    owners: dict[str, str] = field(default_factory=dict)
    terms: list[System] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)


def is_robot(path: Any) -> bool:
    """Tell whether a path, or a text, is a robot's description."""
    if isinstance(path, str) and "\n" in path:
        return path.lstrip().startswith("<")
    return str(path).lower().endswith(".urdf")


def load_robot(path: Any, floating: bool) -> tuple[System, str]:
    """Read a robot; return its system, and what is to be said about it."""
    robot = Robot(*_parsed(path))
    links = {link.name: link for link in robot.tree.links}
    below = _below(robot.tree.joints, links, robot.name)
    roots = [name for name in links if name not in {j.child for j in robot.tree.joints}]
    if len(roots) != 1:
        raise StatementError(
            f"robot '{robot.name}' is not one tree.",
            f"Found {len(roots)} links that no joint holds: {', '.join(roots) or 'none'}.",
            "Give it one root; closed loops are stated with st.joint.",
        )
    (root,) = roots
    ground = Frame()
    robot.frames[root] = _floating(robot, ground, root) if floating else ground
    waiting = [root]
    while waiting:
        link = waiting.pop(0)
        _body(robot, links[link])
        for joint in below[link]:
            origin = _placed(robot.frames[link], joint.origin)
            robot.frames[joint.child] = _moved(robot, origin, joint)
            waiting.append(joint.child)
    if not robot.coordinates:
        raise StatementError(
            f"robot '{robot.name}' cannot move.",
            "Found fixed joints alone.",
            "Give it a joint that turns or slides, or pass floating=True.",
        )
    system = sum(robot.terms, System(name=robot.name))
    # In the order of the file, the first link before all joints.
    rank = {_word(root): -1} | {_word(j.name): k for k, j in enumerate(robot.tree.joints)}
    owner = {name: rank[_word(of)] for name, of in robot.owners.items()}
    ordered = sorted(system.coordinates, key=lambda c: owner[c.name])
    return replace(system, coordinates=tuple(ordered)), " ".join(robot.notes)


def _parsed(path: Any) -> tuple[Any, str]:
    try:
        import yourdfpy  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(
            "reading robots needs yourdfpy.",
            "It is not installed.",
            "Run: pip install 'stationary[robots]'",
        ) from None
    text = isinstance(path, str) and "\n" in path
    if not text and not Path(path).is_file():
        raise StatementError(
            f"there is no robot '{path}'.",
            "Found no such file.",
            "Check the name, and the folder in which this runs.",
        )
    content = path.encode() if text else Path(path).read_bytes()
    silent = logging.getLogger("yourdfpy.urdf")
    level = silent.level
    silent.setLevel(logging.CRITICAL)
    try:
        # The library mends what is not well formed, and a file that was cut off is no robot.
        if ElementTree.fromstring(content).tag != "robot":
            raise ValueError("no <robot> in it")
        source = io.BytesIO(content)
        tree = yourdfpy.URDF.load(source, build_scene_graph=False, load_meshes=False).robot
    except Exception as error:  # the library raises whatever its parsers do
        raise StatementError(
            f"'{'the text' if text else path}' is no description of a robot.",
            f"Found {str(error)[:120] or type(error).__name__}.",
            "Expected <robot> with <link> and <joint>, as in the URDF specification.",
        ) from None
    finally:
        silent.setLevel(level)
    return tree, tree.name or "robot"


def _below(joints: list[Any], links: dict[str, Any], name: str) -> dict[str, list[Any]]:
    """Return the joints below every link; refuse joints of links that are not there."""
    below: dict[str, list[Any]] = {link: [] for link in links}
    held: dict[str, str] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in links:
                raise StatementError(
                    f"joint '{joint.name}' holds a link that is missing.",
                    f"Found '{end}'; links of '{name}': {', '.join(list(links)[:12])}.",
                    "Describe the link, or mend the name.",
                )
        if joint.child in held:
            raise StatementError(
                f"link '{joint.child}' is held by two joints.",
                f"Found '{held[joint.child]}' and '{joint.name}'.",
                "Remove one; closed loops are stated with st.joint.",
            )
        if joint.type not in _KNOWN:
            raise StatementError(
                f"joint '{joint.name}' is of a kind that is not known.",
                f"Found '{joint.type}', expected one of {', '.join(_KNOWN)}.",
                "Mend its type.",
            )
        held[joint.child] = joint.name
        below[joint.parent].append(joint)
    return below


def _placed(frame: Frame, origin: Any) -> Frame:
    if origin is None:
        return frame
    return frame.move(tuple(origin[:3, 3])).turn(origin[:3, :3])


def _moved(robot: Robot, frame: Frame, joint: Any) -> Frame:
    """Return the frame behind a joint, and note its coordinates."""
    if joint.type == "fixed":
        return frame
    if joint.type == "floating":
        return _floating(robot, frame, joint.name)
    given = (1.0, 0.0, 0.0) if joint.axis is None else tuple(map(float, joint.axis))
    axis = direction(given, f"the axis of joint '{joint.name}'")
    if joint.type == "planar":
        one, two = across(axis)
        names = (f"{joint.name}_{end}" for end in ("x", "y", "turn"))
        x, y, turned = (_coordinate(robot, name, of=joint.name) for name in names)
        return frame.move(add(scale(x, one), scale(y, two))).turn(axis, turned)
    q = _coordinate(robot, joint.name, joint)
    return frame.move(scale(q, axis)) if joint.type == "prismatic" else frame.turn(axis, q)


def _floating(robot: Robot, frame: Frame, name: str) -> Frame:
    place = tuple(_coordinate(robot, f"{name}_{axis}", of=name) for axis in "xyz")
    robot.coordinates[f"{_word(name)}_turn"] = turned = Orientation(f"{_word(name)}_turn")
    robot.owners |= {entry.name: name for entry in turned.entries}
    return frame.move(place).turn(turned)


def _coordinate(robot: Robot, name: str, joint: Any = None, of: str = "") -> sp.Expr:
    """Return the coordinate of a joint, or what it follows from where it mimics another."""
    mimic = getattr(joint, "mimic", None)
    if mimic is not None:
        other = Coordinate(_word(mimic.joint))
        factor = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
        return factor * other + (float(mimic.offset) if mimic.offset else 0)
    word = _word(name)
    if word in robot.coordinates:
        raise StatementError(
            f"two joints of '{robot.name}' have the name '{word}'.",
            f"Found it again in joint '{name}'.",
            "Give every joint a name of its own; signs become underscores.",
        )
    robot.coordinates[word] = q = Coordinate(word)
    robot.owners[word] = of or name
    resists = getattr(joint, "dynamics", None)
    if resists is not None and resists.damping:
        robot.terms.append(System(dissipation=float(resists.damping) * q.dot**2 / 2))
    if resists is not None and resists.friction:
        rub = Friction(float(resists.friction), on=q, name=f"friction in {word}")
        robot.terms.append(System(friction=[rub]))
    return q


def _word(name: str) -> str:
    word = re.sub(r"\W", "_", name)
    return f"q{word}" if not word or word[0].isdigit() or word == "t" else word


def _body(robot: Robot, link: Any) -> None:
    """Add the inertia of a link, and what a picture shows of it."""
    frame, inertial = robot.frames[link.name], link.inertial
    if inertial is not None and inertial.mass:
        origin = np.eye(4) if inertial.origin is None else inertial.origin
        turn = origin[:3, :3]
        tensor = np.zeros((3, 3)) if inertial.inertia is None else np.array(inertial.inertia)
        spread = turn @ tensor @ turn.T
        wrong = impossible(spread)
        if wrong and "negative" in wrong:
            raise StatementError(
                f"the inertia of link '{link.name}' is not positive.",
                f"Found {wrong}.",
                "Mend it in the file; it is about the centre of mass, in kg m².",
            )
        if wrong:
            robot.notes.append(f"No body has the moments of inertia of '{link.name}': {wrong}.")
        gravity = Parameter("g", GRAVITY)
        rows = [[float(x) for x in row] for row in (spread + spread.T) / 2]
        moving = rigid(sp.Float(inertial.mass), rows, frame, tuple(origin[:3, 3]), gravity)
        robot.terms.append(moving)
        if not any(_shape(visual.geometry) for visual in link.visuals or ()):
            # A link without a shape is seen where its mass is.
            axes = tuple(zip(*frame.matrix))
            drawn = Part("solid", (frame.point(tuple(origin[:3, 3])), *axes), name=link.name)
            robot.terms.append(System(parts=(drawn,)))
    for visual in link.visuals or ():
        shape = _shape(visual.geometry)
        if shape is not None:
            seen = _placed(frame, visual.origin)
            axes = tuple(zip(*seen.matrix))
            drawn = Part("solid", (seen.origin, *axes), name=link.name, shape=shape)
            robot.terms.append(System(parts=(drawn,)))


def _shape(geometry: Any) -> AbstractShape | None:
    if geometry is None:
        return None
    if geometry.box is not None:
        return Box(tuple(map(float, geometry.box.size)))
    if geometry.cylinder is not None:
        return Cylinder(float(geometry.cylinder.radius), float(geometry.cylinder.length))
    if geometry.sphere is not None:
        return Sphere(float(geometry.sphere.radius))
    return None
