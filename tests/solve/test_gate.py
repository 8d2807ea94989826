"""The gate refuses wrong answers of every verb: wrong by ten tolerances, in one number each."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of
from stationary.many.question import VERBS
from stationary.result.multipliers import Multipliers
from stationary.result.touched import Touched
from stationary.solve.gate import many_answers
from stationary.solve.gate.claims import findings, judged
from stationary.solve.gate.early_end import Reason, reason
from stationary.solve.gate.state import State
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.weighing.measured import Measured
from stationary.solve.scales import scales_of
from tests.solve.speeds_told import towed_speed

UNITS = [1e-6, 1.0, 1e6]


@dataclass
class Answer:
    """What a verb says, what the gate has to know besides, and answers with one number wrong."""

    result: Any
    wrong: list[tuple[Any, Any]]
    known: dict[str, Any] = field(default_factory=dict)

    def believed(self):
        return all(f.holds for f in findings(self.result, **self.known))

    def accepted(self):
        """Name the wrong answers that are believed all the same."""
        every = ((what, findings(wrong, **self.known)) for what, wrong in self.wrong)
        return [what for what, found in every if all(f.holds for f in found)]


def shifted(values, k, by):
    """Return an array with one entry changed."""
    changed = np.array(values, dtype=float)
    changed[k] += by
    return changed


def hung(unit, shift):
    """Two weights on two rods, pulled aside."""
    a, b, c, d = st.coordinates("a b c d")
    at = (shift * unit, 0.0)
    return (
        st.particle(1.0, at=(a, b), gravity=9.81)
        + st.particle(2.0, at=(c, d), gravity=9.81)
        + st.rod(at, (a, b), 2 * unit)
        + st.rod((a, b), (c, d), unit)
        + st.System(loads=[st.Load(4.0, on=c)])
    ), {a: at[0] + unit, b: -unit, c: at[0] + 2 * unit, d: -2 * unit}


def leaning(unit, shift):
    """A weight on springs that rests against a wall and a floor."""
    x, y = st.coordinates("x y")
    return st.System(
        potential=3 * (x - (shift + 2) * unit) ** 2 / unit**2 + 5 * (y + unit) ** 2 / unit**2,
        contacts=[
            st.Contact((shift + 1) * unit - x, name="wall"),
            st.Contact(y, name="floor"),
            st.Contact(y + 5 * unit, name="cellar"),
        ],
    ), {x: shift * unit, y: unit}


def at_rest(rest, far: Any = 0.0):
    """Wrong in a coordinate, a force, the energy, or a sign."""
    scales = scales_of(rest.graph, rest.params, rest.t, rest.q, u=rest.u)
    lengths = np.maximum(scales.length, np.abs(rest.q - rest.q.mean()) + 1e3 * scales.rounding)
    lengths, known = np.maximum(lengths, far), {"start": rest.q - far} if np.any(far) else {}
    lam = np.array(rest.lam)
    wrong: list[tuple[Any, Any]] = [
        (("q", i), replace(rest, q=shifted(rest.q, i, 1e-6 * lengths[i])))
        for i in range(len(rest.q))
    ]
    for i in range(len(lam)):
        other = shifted(lam, i, 1e-6 * np.abs(lam).max())
        wrong.append((("lam", i), replace(rest, lam=Multipliers.of(other, rest.graph.layout))))
    positive, negative, zero = rest.inertia
    if positive or negative:
        turned = (positive - 1, negative + 1, zero) if positive else (1, negative - 1, zero)
        wrong.append(("inertia", replace(rest, inertia=turned)))
        values = np.abs(rest.eigenvalues) * (-1 if positive else 1)
        wrong.append(("eigenvalues", replace(rest, eigenvalues=values)))
    if rest.energy:
        other = rest.energy * (1 + 1e-7)
        wrong.append(("energy", replace(rest, energy=other)))
    return Answer(rest, wrong, known)


def statics(unit):
    for make in (hung, leaning):
        for shift in (0.0, 100.0):
            system, start = make(unit, shift)
            yield at_rest(st.statics(system, start=start))


def equilibria(unit):
    # Two pendulums and a spring between them: minima, saddles, maxima; and a bead in two wells.
    a, b, x = st.coordinates("a b x")
    pair = st.System(potential=-st.cos(a) - 2 * st.cos(b) + 0.1 * (a - b) ** 2)
    wells = st.System(potential=(x**2 - unit**2) ** 2 / unit**3)
    boxes = [(pair, {a: (-1, 4), b: (-1, 4)}), (wells, {x: (-2 * unit, 2 * unit)})]
    for system, box in boxes:
        several = st.equilibria(system, within=box)
        assert len(several) >= 3
        far = np.array([0.1 * (high - low) for low, high in box.values()])
        for rest in several:
            yield at_rest(rest, far)


def continuation(unit):
    # Euler's column of two links: phi = 0, and the way it buckles.
    phi, (P, k) = st.coordinates("phi"), st.parameters(P=0.5 * unit, k=1.0 * unit)
    column = st.System(potential=2 * k * phi**2 - 2 * P * (1 - st.cos(phi)))
    diagram = st.continuation(column, parameter=P, span=(0, 4 * unit), start={phi: 0})
    known = {"t": 0.0, "u": lambda q: np.zeros(0), "reach": np.ones(1)}
    for branch in diagram.branches:
        assert branch.status != "refuted"
        k, wrong = len(branch.q) // 2, []
        if np.ptp(branch.q):
            wrong.append(("q", replace(branch, q=shifted(branch.q, k, 1e-6))))
            other = branch.parameter * (1 + 1e-6)
            wrong.append(("parameter", replace(branch, parameter=other)))
        yield Answer(branch, wrong, known)


def linearize(unit):
    system, start = hung(unit, 5.0)
    lin = st.linearize(system, at=st.statics(system, start=start))
    # In units of time in which the pendulums swing once.
    rate = np.sqrt(9.81 / unit)
    size = np.array([1.0, 1.0, rate, rate])
    wrong = [
        ((i, j), replace(lin, A=shifted(lin.A, (i, j), 1e-3 * rate * size[i] / size[j])))
        for i, j in np.ndindex(lin.A.shape)
    ]
    yield Answer(lin, wrong)


def bar(unit):
    """A bar in finite elements, pulled at its end."""
    X = st.positions("X")
    u = st.field("u", over=(X, 0, unit))
    whole = st.Continuum(
        kinetic=u.dot**2 / 2, potential=7 * u.diff(X) ** 2 / 2,
        loads=[st.Load(0.3, on=u.at(unit))], fixed={u.at(0): 0},
    )  # fmt: skip
    return st.discretize(whole, elements=5, degree=2)


def discretize(unit):
    rest = st.statics(bar(unit))
    wrong = [
        (i, replace(rest, q=shifted(rest.q, i, 1e-6 * np.abs(rest.q).max())))
        for i in range(len(rest.q))
    ]
    yield Answer(rest, wrong)


def modes(unit):
    system, start = hung(unit, 5.0)
    rest, rod = st.statics(system, start=start), bar(unit)
    hangs = st.modes(system, at=rest, count=2), rest.u, np.asarray(rest.lam)
    for these, u, lam in (hangs, (st.modes(rod, count=3), np.zeros(0), np.zeros(0))):
        wrong: list[tuple[Any, Any]] = []
        for k in range(len(these.squares)):
            squares = these.squares * (1 + 1e-4 * (np.arange(len(these.squares)) == k))
            wrong.append((("square", k), replace(these, squares=squares)))
        for i in range(these.vectors.shape[1]):
            by = 1e-4 * np.abs(these.vectors[0]).max()
            wrong.append((("shape", i), replace(these, vectors=shifted(these.vectors, (0, i), by))))
        yield Answer(these, wrong, {"u": u, "lam": lam})


def moved(motion, k, much=1e-6):
    """Wrong in each entry of the state at a time, or in the time."""
    wrong: list[tuple[Any, Any]] = [
        (i, replace(motion, y=shifted(motion.y, (k, i), much * np.ptp(motion.y[:, i]))))
        for i in range(2 * motion.kernel.size)
    ]
    span = motion.t[-1] - motion.t[0]
    return [*wrong, ("t", replace(motion, t=shifted(motion.t, k, much * span)))]


def rolling(unit):
    """A cart that nothing holds, with a pendulum: one coordinate is in no energy."""
    x, theta = st.coordinates("x theta")
    bob = (x + unit * st.sin(theta), -unit * st.cos(theta))
    cart = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
    return cart, {x: 3 * unit, theta: 1.0, x.dot: 0.1 * np.sqrt(unit)}


def thrown(unit):
    """A ball over a rough floor, which it strikes askew."""
    x, y = st.coordinates("x y")
    floor = st.Contact(y, friction=0.3, slip=x, restitution=0.5, name="floor")
    ball = st.particle(1.0, at=(x, y), gravity=9.81) + st.System(contacts=[floor])
    return ball, {x: 3 * unit, y: unit, x.dot: np.sqrt(unit)}


def swept(unit):
    """A block behind a spring that sticks and slips on a belt, and a weight on a rod upon it."""
    x, a = st.coordinates("x a")
    bob = (x + unit * st.sin(a), -unit * st.cos(a))
    block = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
    belt = st.Friction(6.0, on=x - 0.3 * np.sqrt(unit) * st.t, static=8.0, name="belt")
    spring = st.System(potential=60 / unit * x**2 / 2, friction=[belt])
    return block + spring, {x: 0.1 * unit, a: 0.4}


def hanging(unit):
    """A weight on a rod, which strikes a wall and rubs along it."""
    x, y = st.coordinates("x y")
    wall = st.Contact(0.3 * unit - x, friction=0.2, slip=y, name="wall")
    system = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0.0, 0.0), (x, y), unit)
    return system + st.System(contacts=[wall]), {x: -0.6 * unit, y: -0.8 * unit}


def stepped(motion, much=1e-6):
    """Wrong in a state between two steps, in an impulse, in a time, or in an account."""
    taken, wrong = motion.taken, []
    ways = np.array([np.abs(one.to - one.q) for one in taken]).max(axis=0)
    speeds, pushes = np.abs(motion.v).max(axis=0), max(np.abs(x.impulses).max() for x in taken)
    for k in (5, len(taken) // 2):
        one, following = taken[k], taken[k + 1]

        def tell(what, k=k, one=one, following=following, begins=None, **ends):
            steps = replace(one, **ends), replace(following, **(begins or {}))
            wrong.append(((what, k), replace(motion, taken=steps)))

        for i, (way, speed) in enumerate(zip(ways, speeds)):
            to, after = shifted(one.to, i, much * way), shifted(one.after, i, much * speed)
            tell(f"place {i}", to=to)
            tell(f"place {i}, twice", to=to, begins={"q": to})
            tell(f"velocity {i}", after=after)
            tell(f"velocity {i}, twice", after=after, begins={"v": after})
        for i in range(len(one.rows)):
            tell(f"impulse {i}", impulses=shifted(one.impulses, i, much * pushes))
            tell(f"closing {i}", closing=shifted(one.closing, i, much * pushes))
        tell("begin", t=one.t + much * one.h)
        tell("length", h=one.h * (1 + much))
        for i in range(3):
            tell(f"account {i}", took=shifted(one.took, i, much * pushes * speeds.max()))
    (k,) = (one.output for one in taken if one.output == 7)
    some = replace(motion, taken=tuple(one for one in taken if one.output == k))
    return [*wrong, *moved(some, k)]


def simulate(unit):
    for make in (thrown, swept, hanging):
        system, start = make(unit)
        method = st.Moreau(step=0.02 * np.sqrt(unit))
        motion = st.simulate(system, span=(0, 1.6 * np.sqrt(unit)), start=start, points=21,
                             method=method)  # fmt: skip
        assert isinstance(motion, Touched) and len(motion.taken) == motion.steps == 80
        yield Answer(motion, stepped(motion))
    machines = hung(unit, 5.0), rolling(unit), rolling(unit)
    for (system, start), method in zip(machines, (st.Taylor(), st.Runge(), st.BDF())):
        span = (0, np.sqrt(unit))
        motion = st.simulate(system, span=span, start=start, points=21, method=method)
        yield Answer(motion, moved(motion, 7))
    # A fixed step promises its order: wrong is what is off by ten times its error.
    root = np.sqrt(unit)
    for system, start in [hung(unit, 5.0) if unit == 1.0 else rolling(unit)]:
        motion = st.simulate(system, span=(0, root), start=start, points=11,
                             method=st.Variational(step=root / 200))  # fmt: skip
        yield Answer(motion, moved(motion, 7, 1e-3), {"rtol": 1e-10})
    for make in (thrown, swept):
        system, start = make(unit)
        motion = st.simulate(system, span=(0, 3 * np.sqrt(unit)), start=start, points=31)
        assert isinstance(motion, Touched) and motion.changes
        more = motion.more.copy()
        more[7:, 1] += 1e-6 * np.abs(motion.kinetic).max()
        wrong = [*moved(motion, 7), ("heat", replace(motion, more=more))]
        if make is thrown:
            # As much lower as ten tolerances, it is in the floor.
            y = motion.y.copy()
            y[-1, 1] = -1e-5 * unit
            wrong.append(("floor", replace(motion, y=y)))
        yield Answer(motion, wrong)


def consistent(unit):
    # Two weights on rods, put askew and set off as the rods do not allow, and a wheel that rolls.
    system, start = hung(unit, 5.0)
    a, b, c, d = system.coordinates
    rate = np.sqrt(unit)
    start |= {a.dot: rate, b.dot: 0.3 * rate, c.dot: -rate, d.dot: 0.2 * rate}
    x, y, phi = st.coordinates("x y phi")
    skate = st.System(
        kinetic=(x.dot**2 + y.dot**2 + 0.1 * unit**2 * phi.dot**2) / 2,
        pfaffian=[x.dot * st.sin(phi) - y.dot * st.cos(phi)],
    )
    slides = {x: 5 * unit, phi: 0.4, x.dot: rate, y.dot: rate, phi.dot: rate / unit}
    for machine, begin in ((system, start), (skate, slides)):
        found = st.consistent(machine, begin)
        layout = found.graph.layout
        _, v = layout.state(begin, np.zeros(0))
        wrong = [(("v", i), replace(found, v=shifted(found.v, i, 1e-7 * np.abs(found.v[i]))))
                 for i in range(len(v))]  # fmt: skip
        if machine is system:
            wrong += [(("q", i), replace(found, q=shifted(found.q, i, 1e-7 * unit)))
                      for i in range(len(v))]  # fmt: skip
        yield Answer(found, wrong, {"t": 0.0, "params": np.zeros(0), "wanted": v})


def limit_surface(unit):
    feet = np.array([(0.1, 0.0), (1.0, 0.1), (0.3, 0.9)]) * unit
    mu = st.parameters(mu=0.5)
    limit = st.limit_surface(st.slider(points=feet, weights=[0.2 * mu, 0.5 * mu, mu]), count=50)
    wrong = []
    for k in (3, 20, len(limit.twists) - 1):
        for i, much in enumerate((1.0, 1.0, unit)):
            wrenches = shifted(limit.wrenches, (k, i), 1e-7 * much)
            wrong.append(((k, i), replace(limit, wrenches=wrenches)))
        # The way it turns, not how fast, decides.
        twists = limit.twists.copy()
        twists[k] += 1e-6 * np.array([1.0, -2.0, 3 / unit])
        wrong.append((("twist", k), replace(limit, twists=twists)))
    yield Answer(limit, wrong, {"params": np.array([0.5])})


def pushed(unit, shift):
    """A part on three feet, pushed at a corner by a finger that moves."""
    feet = np.array([(0.0, 0.0), (1.0, 0.1), (0.3, 0.9)]) * unit
    part = st.slider(points=feet, weights=[0.2, 0.5, 0.3])
    x, y, phi = part.coordinates
    finger = y + 0.7 * unit * st.sin(phi) - 0.2 * unit * st.t
    system = part + st.System(constraints=[st.Constraint(finger, name="finger")])
    return system, {x: shift * unit, y: 0.0, phi: 0.0}


def _step(unit, ask):
    system, at = pushed(unit, 3.0)
    step = ask(system, at=at)
    sizes = 0.2 * np.array([unit, unit, 1.0])
    wrong: list[tuple[Any, Any]] = [
        (("v", i), replace(step, v=shifted(step.v, i, 1e-4 * sizes[i]))) for i in range(3)
    ]
    lam = Multipliers.of(np.array(step.lam) * (1 + 1e-4), step.graph.layout)
    wrong.append(("lam", replace(step, lam=lam)))
    (name,) = step.forces
    for k in range(3):
        forces = {name: np.array(step.forces[name])}
        forces[name][k] *= 1 + 1e-4
        wrong.append((("force", k), replace(step, forces=forces)))
    yield Answer(step, wrong)


def minimum_power(unit):
    yield from _step(unit, st.minimum_power)


def minimum_dissipation(unit):
    yield from _step(unit, st.minimum_dissipation)


def newton(unit):
    yield from _step(unit, st.newton)


def towed(unit, shift):
    """Two blocks in a row behind springs, the first towed to and fro."""
    a, b = st.coordinates("a b")
    hand = (shift + st.sin(st.t)) * unit
    row = st.System(
        potential=((hand - a) ** 2 + 2 * (a - b) ** 2) / (2 * unit),
        friction=[st.Friction(0.3, on=a, name="fa"), st.Friction(0.2, on=b, name="fb")],
    )
    return row, {a: shift * unit, b: shift * unit}


def trailing(unit, shift):
    """A bead behind a link: all coordinates move, in a curve."""
    x, y = st.coordinates("x y")
    link = st.norm((x - (shift + st.t) * unit, y)) - unit
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[st.Constraint(link)])
    return bead, {x: shift * unit, y: unit}


def quasistatics(unit):
    # What is wrong is looked at closely, which takes long: one machine for each unit.
    make, points, wrong_at = {
        1e-6: (pushed, 3, [1]), 1.0: (towed, 41, [1, 40]), 1e6: (trailing, 9, [8])
    }[unit]  # fmt: skip
    system, start = make(unit, 3.0)
    slide = st.quasistatics(system, span=(0, 2), start=start, points=points)
    assert slide.status == "done"
    n, much, wrong = system.size, 1e-5, []
    sizes = np.array([1.0 if c.name == "phi" else unit for c in system.coordinates])
    speeds = sizes * np.abs(slide.v / sizes).max()
    for k in wrong_at:
        # Behind springs a velocity shows by where it leads alone: the last leads nowhere.
        for i in range(n if make is towed and k > 1 else 2 * n):
            by = much * (np.ptp(slide.y[:, i]) if i < n else speeds[i - n])
            wrong.append(((k, i), replace(slide, y=shifted(slide.y, (k, i), by))))
        for i in range(3, slide.more.shape[1]):
            by = much * np.abs(slide.more[:, 3:]).max()
            wrong.append((("force", k, i), replace(slide, more=shifted(slide.more, (k, i), by))))
        wrong.append((("t", k), replace(slide, t=shifted(slide.t, k, 2 * much))))
    yield Answer(slide, wrong)


def limit_load(unit):
    system, _ = pushed(unit, 3.0)
    x, y, _ = system.coordinates
    P = st.inputs("P")
    part = st.System(friction=system.friction, loads=[st.Load((P, 0.3 * P), on=(x, y))])
    limit = st.limit_load(part, load=P, at={x: 3 * unit})

    def there(factor):
        return (0.0, np.array([3 * unit, 0.0, 0.0]), np.array([factor])), np.zeros(0)

    assert judged(limit, at=there).status == "collapses"
    wrong = []
    for end in ("low", "high"):
        right = getattr(limit, end)
        mode = np.array(right.mode) * [1, 1, 1.01]
        for what, other in (
            ("factor", replace(right, factor=1.0001 * right.factor)),
            ("mode", replace(right, mode=type(right.mode).of(mode, limit.graph.layout))),
            ("force", replace(right, forces={n: 1.0001 * f for n, f in right.forces.items()})),
        ):
            wrong.append(((end, what), replace(limit, **{end: other})))
    yield Answer(limit, wrong, {"at": there})


def pressure_bounds(unit):
    # A card, a disc and feet, pushed off their centres by smooth and by rough fingers.
    card = [(-unit, -unit / 2), (unit, -unit / 2), (unit, unit / 2), (-unit, unit / 2)]
    feet = [(-unit, -unit / 2), (unit, -0.4 * unit), (0.2 * unit, unit)]
    support, friction = {
        1e-6: ({"outline": card}, 0.4),
        1.0: ({"radius": unit / 2}, 0.0),
        1e6: ({"points": feet}, 0.0),
    }[unit]
    finger = st.Pusher(point=(0.3 * unit, (st.t - 0.5) * unit), friction=friction,
                       edge=((-unit, -unit / 2), (unit, -unit / 2)))  # fmt: skip
    part = st.slider(**support, weight=2.0, centre=(0, 0), pusher=finger)
    phi, scene = part.coordinates[2], Scene.of(part, None, None, 0.0)
    for of in (phi.dot, "power"):
        bounds = st.pressure_bounds(part, of=of)
        value = None if of == "power" else (np.array([0.0, 0.0, 1.0]), 0.0)
        if bounds.status != "conservative":
            yield Answer(bounds, list(_wrong_bounds(bounds, scene)), {
                "scene": scene, "value": value,
            })  # fmt: skip


def _wrong_bounds(bounds, scene):
    fast = scene.speed * np.abs(scene.rates).max(axis=1)
    for k, (points, weights) in enumerate(bounds.pressures):
        pressures, much = list(bounds.pressures), 1e-4

        def named(points=points, weights=weights, k=k, pressures=pressures):
            return replace(bounds, pressures=tuple(
                st.Pressure(points, weights) if j == k else p for j, p in enumerate(pressures)
            ))  # fmt: skip

        for i in range(len(weights)):
            yield ("load", k, i), named(weights=shifted(weights, i, 4 * much))
            if weights[i] > 0.1:
                for j in range(2):
                    by = 20 * much * scene.size
                    yield ("point", k, i, j), named(points=shifted(points, (i, j), by))
        for i in range(3):
            by = much * max(fast[i], abs(bounds.motions[k, i]))
            yield ("motion", k, i), replace(bounds, motions=shifted(bounds.motions, (k, i), by))
        end = ("low", "high")[k]
        other = getattr(bounds, end) + much * (fast[2] if "phi" in bounds.of else 2 * scene.speed)
        yield end, replace(bounds, **{end: other + much * abs(other)})
        dual = getattr(bounds.proof, end)
        if dual.scope and np.isfinite(dual.lowest):
            size = max(np.abs(dual.affine).max(), np.abs(dual.witness).max())
            changed = replace(dual, affine=shifted(dual.affine, 0, -10 * much * size))
            yield ("dual", k), replace(bounds, proof=replace(bounds.proof, **{end: changed}))


def fit_pressure(unit):
    feet = np.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.1, 0.9)]) * unit
    known = st.slider(points=feet, weights=[0.5, 0.3, 0.2, 0.4])
    _, y, phi = known.coordinates
    pushes = []
    for x, way in ((0.2, 1), (0.7, 1), (0.5, -1), (0.9, -1), (0.4, 1), (0.1, -1)):
        finger = st.System(constraints=[y + x * unit * phi - way * unit * st.t])
        step = st.minimum_power(known + finger)
        motion = [step[c.dot] for c in known.coordinates]
        pushes.append(st.Push(point=(x * unit, 0), normal=(0, way), motion=motion))
    fit = st.fit_pressure(st.slider(points=feet, weight=1.4), pushes=pushes)
    assert fit.status == "fitted"
    measured = Measured(feet, np.eye(4), pushes, None, None)
    wrong: list[tuple[Any, Any]] = []
    for k in range(4):
        # The sum is kept, and the centre follows.
        weights = fit.weights + 1e-3 * (np.arange(4) == k) - 1e-3 * (np.arange(4) == (k + 1) % 4)
        centre = weights @ feet / weights.sum()
        wide = np.stack([weights - 1, weights + 1], axis=1)
        wrong.append((k, replace(fit, weights=weights, centre=centre, intervals=wide)))
        wrong.append((("sum", k), replace(fit, weights=shifted(fit.weights, k, 1e-3))))
    for i in range(2):
        wrong.append((("centre", i), replace(fit, centre=shifted(fit.centre, i, 1e-3 * unit))))
    for k in range(len(pushes)):
        wrong.append((("push", k), replace(fit, residuals=shifted(fit.residuals, k, 1e-3))))
    yield Answer(fit, wrong, {"pushes": measured, "weight": 1.4})


def quasistatic_error(unit):
    yield Answer(*towed_speed(unit))


#: Every verb with an answer that claims something.
ASKED = {f.__name__: f for f in (
    statics, equilibria, continuation, linearize, modes, simulate, minimum_power, newton,
    minimum_dissipation, quasistatics, limit_load, discretize, pressure_bounds, fit_pressure,
    consistent, limit_surface, quasistatic_error,
)}  # fmt: skip


def test_every_verb_is_among_them():
    assert set(VERBS) | {"pressure_bounds", "fit_pressure"} <= set(ASKED)


#: Those whose wrong answers take seconds to be examined.
LONG = {"simulate", "quasistatics", "pressure_bounds"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("verb", "unit"), [
    pytest.param(verb, unit, marks=pytest.mark.slow if verb in LONG and unit != 1 else ())
    for verb in ASKED for unit in UNITS
])  # fmt: skip
def test_an_answer_is_believed_and_wrong_ones_are_not(verb, unit):
    for answer in ASKED[verb](unit):
        assert answer.believed()
        assert answer.accepted() == [], type(answer.result).__name__


@pytest.mark.parametrize("unit", UNITS)
def test_of_many_answers_at_once_the_wrong_ones_are_asked_again(unit):
    # Weights on two springs at x = F/k; and a bar on three feet towed askew.
    rng = np.random.default_rng(3)
    k, F = rng.uniform(1, 2, (50, 2)), rng.uniform(-1, 1, (50, 2)) * unit
    q, H = F / k, np.zeros((50, 2, 2))
    H[:, 0, 0], H[:, 1, 1] = k.T
    assert many_answers.rest(k * q - F, H, q, q, 1e-9).all()
    for i in range(2):
        wrong = q + 1e-8 * unit * (np.arange(2) == i)
        assert not many_answers.rest(k * wrong - F, H, wrong, wrong, 1e-9).any()
    assert not many_answers.rest(k * q - F, H * [[1, 1], [1, -1]], q, q, 1e-9).any()
    system, at = pushed(unit, 3.0)
    step = st.minimum_power(system, at=at)
    state = State(step.graph, 0.0, step.q, step.v, step.u, step.params, np.array(step.lam))
    (_, b, A), (_, B, size, _) = state.holds, state.slips
    A, B = (np.asarray(m.toarray() if hasattr(m, "toarray") else m) for m in (A, B))
    free = np.linalg.svd(A / np.linalg.norm(A))[2][1:].T
    given = (A[None], b[None]), (B.reshape(1, 3, 2, 3), np.zeros((1, 3, 2))), size[None, ::2]

    def holds(v):
        return many_answers.sliding(*given, np.zeros((1, 3)), free[None], v[None], 1e-9).all()

    assert holds(step.v)
    for i, much in enumerate(np.array([unit, unit, 1.0])):
        assert not holds(shifted(step.v, i, 1e-7 * much)), i


def test_increments_are_examined_between_the_times_that_are_told():
    system, start = trailing(1.0, 0.0)
    slide = st.quasistatics(system, span=(0, 2), start=start, points=3, step=0.05)
    assert slide.method == "increments" and slide.status == "done"
    # Twenty increments of equal length up to each time.
    ends, states = [0.0], slide.dense
    assert states is not None
    for last in (1.0, 2.0):
        for left in range(20, 0, -1):
            ends.append(ends[-1] + (last - ends[-1]) / left)
    ends = [t for t in ends if t not in slide.t]
    assert judged(slide, between=ends).status == "done"
    assert slide.at(0.5)["y"] == pytest.approx(1 / np.cosh(0.5), abs=0.03)
    count = slide.y.shape[1] + slide.more.shape[1]
    # Coordinates, two forces of friction and that of the link.
    for column in (0, 1, *range(count - 3, count)):
        wrong = 1e-2 * (np.arange(count) == column)
        false = replace(slide, dense=lambda t, wrong=wrong: states(t) + wrong)
        assert judged(false, between=ends).status == "refuted", column
