"""Bodies in space: accelerations of trees of 6 to 34 axes, and an arm of six over ten seconds."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration, ratio
from benchmarks.worker import best_of, measure, now, say

#: Branches of each tree, link by link from the ground: arms, a walker and a humanoid.
TREES: dict[int, tuple[tuple[int, int], ...]] = {
    6: ((-1, 6),),
    7: ((-1, 7),),
    20: ((-1, 4), (3, 4), (3, 4), (3, 4), (3, 4)),
    34: ((-1, 4), (3, 7), (3, 7), (3, 4), (0, 6), (0, 6)),
}
SIZES = tuple(TREES)
G, DAMPING, LAST, POINTS = 9.81, 0.5, 10.0, 101
#: Accelerations are looked at in so many states; a run counts with this error.
STATES, EQUAL = 2000, 1e-9
#: What was to be reached at 7 axes, in times of Pinocchio's.
WITHIN = 2.0


@dataclass(frozen=True)
class Robot:
    """A tree of links with hinges: above each link its parent, then where the hinge is."""

    parents: tuple[int, ...]
    axes: np.ndarray
    moves: np.ndarray
    masses: np.ndarray
    centres: np.ndarray
    inertias: np.ndarray

    @property
    def size(self) -> int:
        return len(self.parents)


def robot(size: int) -> Robot:
    """Return the tree of a size: hinges about x, y and z in turn, links of some decimetres."""
    rng, parents = np.random.default_rng(size), []
    for above, count in TREES[size]:
        for k in range(count):
            parents.append(above if k == 0 else len(parents) - 1)
    masses = rng.uniform(1, 5, size)
    edges = rng.uniform(0.05, 0.3, (size, 3))
    inertias = masses[:, None] / 12 * ((edges**2).sum(axis=1, keepdims=True) - edges**2)
    axes = np.eye(3)[(np.arange(size) + 2) % 3]
    moves, centres = rng.uniform(-0.3, 0.3, (size, 3)), rng.uniform(-0.1, 0.1, (size, 3))
    return Robot(tuple(parents), axes, moves, masses, centres, inertias)


def states(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return places and speeds in which trees are compared, one state per row."""
    rng = np.random.default_rng(1)
    return rng.uniform(-2, 2, (STATES, size)), rng.uniform(-1, 1, (STATES, size))


def begin() -> np.ndarray:
    """Return where the arm starts from, at rest."""
    return np.array([0.3, 0.8, -0.5, 0.4, -0.9, 0.2])


# -- the packages ----------------------------------------------------------------------------------


def stated(of: Robot, damping: float = 0.0) -> Any:
    """Return the tree as a statement of ours."""
    import stationary as st

    frames: list[Any] = []
    whole = None
    for k, above in enumerate(of.parents):
        q = st.coordinates(f"q{k:02d}")
        base = frames[above] if above >= 0 else st.Frame()
        frames.append(base.move(tuple(of.moves[k])).turn(tuple(of.axes[k]), q))
        link = st.body(
            of.masses[k], inertia=tuple(of.inertias[k]), at=tuple(of.centres[k]),
            frame=frames[-1], gravity=G,
        )  # fmt: skip
        whole = link if whole is None else whole + link
        if damping:
            whole += st.System(dissipation=damping * q.dot**2 / 2)
    return whole


def _compiled(of: Robot, name: str) -> Callable[[], np.ndarray]:
    from stationary.lower.engines import engine
    from stationary.lower.kernel import kernel_of

    rhs = kernel_of(stated(of), ()).rhs
    made = engine(name)
    code, (q, v) = made.compile(rhs), states(of.size)
    y, t = np.hstack([q, v]), np.zeros(STATES)
    return lambda: made.run(code, t, y, np.zeros(0))[:, of.size :]


def by_c(of: Robot) -> Callable[[], np.ndarray]:
    """Accelerations by our graph as C, in a loop of C."""
    return _compiled(of, "c")


def by_heyoka(of: Robot) -> Callable[[], np.ndarray]:
    """Accelerations by our graph, several states at once."""
    return _compiled(of, "heyoka")


def _pinocchio(of: Robot) -> Any:
    import pinocchio as pin

    model, ids = pin.Model(), []
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for k, above in enumerate(of.parents):
        kind = kinds[int(np.argmax(of.axes[k]))]
        place = pin.SE3(np.eye(3), of.moves[k])
        ids.append(model.addJoint(ids[above] if above >= 0 else 0, kind(), place, f"q{k}"))
        inertia = pin.Inertia(of.masses[k], of.centres[k], np.diag(of.inertias[k]))
        model.appendBodyToJoint(ids[-1], inertia, pin.SE3.Identity())
    model.gravity.linear[:] = 0, 0, -G
    return pin, model


def by_pinocchio(of: Robot) -> Callable[[], np.ndarray]:
    """Accelerations by Pinocchio's articulated bodies, in its own loop over states."""
    pin, model = _pinocchio(of)
    pool, (q, v) = pin.ModelPool(model, 1), states(of.size)
    q, v = np.asfortranarray(q.T), np.asfortranarray(v.T)
    zero = np.zeros_like(v)
    return lambda: pin.abaInParallel(1, pool, q, v, zero).T


def mjcf(of: Robot, damping: float, integrator: str, step: float) -> str:
    """Return the tree as MuJoCo reads it, without all that is not asked for."""
    below: dict[int, list[int]] = {}
    for k, above in enumerate(of.parents):
        below.setdefault(above, []).append(k)

    def row(values: Iterable[float]) -> str:
        return " ".join(repr(float(x)) for x in values)

    def link(k: int) -> str:
        inner = "".join(map(link, below.get(k, [])))
        return (
            f'<body pos="{row(of.moves[k])}"><joint type="hinge" axis="{row(of.axes[k])}" '
            f'damping="{damping!r}"/><inertial pos="{row(of.centres[k])}" '
            f'mass="{float(of.masses[k])!r}" diaginertia="{row(of.inertias[k])}"/>{inner}</body>'
        )

    off = "".join(f' {flag}="disable"' for flag in ("contact", "constraint", "eulerdamp"))
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="0 0 -{G}" timestep="{step!r}" '
        f'integrator="{integrator}"><flag{off}/></option>'
        f"<worldbody>{''.join(map(link, below[-1]))}</worldbody></mujoco>"
    )


def by_mujoco(of: Robot) -> Callable[[], np.ndarray]:
    """Accelerations by MuJoCo, in its own loop of steps so small that nothing moves."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(of, 0.0, "Euler", 1e-12))
    data, (q, v) = mujoco.MjData(model), states(of.size)

    def run() -> np.ndarray:
        data.qpos[:], data.qvel[:] = q[-1], v[-1]
        mujoco.mj_step(model, data, nstep=STATES)
        return data.qacc[None]

    return run


OURS, QUICK = "stationary, C", "stationary, heyoka"
EVALUATED: dict[str, tuple[str, Callable[[Robot], Callable[[], np.ndarray]]]] = {
    OURS: ("stationary", by_c),
    QUICK: ("heyoka", by_heyoka),
    "Pinocchio aba": ("pinocchio", by_pinocchio),
    "MuJoCo": ("mujoco", by_mujoco),
}


# -- one arm over ten seconds ----------------------------------------------------------------------


def arm_by_us(finer: float) -> Callable[[], np.ndarray]:
    """The arm by `st.simulate`."""
    import stationary as st

    system = stated(robot(6), DAMPING)
    st.compile(system).optimize()
    start = dict(zip(system.coordinates, begin()))
    settings: dict[str, Any] = {} if finer >= 1 else {"rtol": 1e-10 * finer, "atol": 1e-12 * finer}

    def run() -> np.ndarray:
        motion = st.simulate(system, span=(0, LAST), start=start, points=POINTS, **settings)
        return np.concatenate([motion.q[-1], motion.v[-1]])

    return run


def arm_by_pinocchio(finer: float) -> Callable[[], np.ndarray]:
    """The arm by Pinocchio's articulated bodies in SciPy's Runge–Kutta method of order 8."""
    from scipy.integrate import solve_ivp

    pin, model = _pinocchio(robot(6))
    data, begun = model.createData(), np.concatenate([begin(), np.zeros(6)])

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        v = y[6:]
        return np.concatenate([v, pin.aba(model, data, y[:6], v, -DAMPING * v)])

    def run() -> np.ndarray:
        made = solve_ivp(
            rate, (0, LAST), begun, "DOP853", np.linspace(0, LAST, POINTS), rtol=1e-8 * finer,
            atol=1e-10 * finer,
        )  # fmt: skip
        return made.y[:, -1]

    return run


def arm_by_mujoco(finer: float) -> Callable[[], np.ndarray]:
    """The arm by MuJoCo's Runge–Kutta method of order 4, in its own loop."""
    import mujoco

    per_point = int(np.ceil(10 * finer**-0.25))
    step = LAST / (POINTS - 1) / per_point
    model = mujoco.MjModel.from_xml_string(mjcf(robot(6), DAMPING, "RK4", step))
    data = mujoco.MjData(model)

    def run() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = begin()
        for _ in range(POINTS - 1):
            mujoco.mj_step(model, data, nstep=per_point)
        return np.concatenate([data.qpos, data.qvel])

    return run


ARM = "stationary"
SIMULATED: dict[str, tuple[str, Callable[[float], Callable[[], np.ndarray]]]] = {
    ARM: ("stationary", arm_by_us),
    "Pinocchio + SciPy DOP853": ("pinocchio", arm_by_pinocchio),
    "MuJoCo RK4": ("mujoco", arm_by_mujoco),
}
#: Angles and speeds at the end, on which our series and Pinocchio's accelerations in SciPy's
#: DOP853 at a tolerance of 1e-13 agree.
END = np.array([
    0.1864210208772631,
    2.646175794585053,
    -1.2999162436995468,
    -0.051845256903663005,
    0.5437051076478703,
    2.342282429030562,
    0.06666475879739467,
    -0.18252054693498135,
    0.11718146962425197,
    -0.0395854286515421,
    0.09299956165331759,
    -0.07601690015054008,
])  # fmt: skip
#: How well the end is known.
KNOWN = 2e-14
#: Tolerances are made finer by these until the error is small enough.
FINER = tuple(10.0**-k for k in range(9))


# -- tables ----------------------------------------------------------------------------------------


def sections(sizes: Sequence[int], limit: float, quick: bool) -> tuple[list[Table], list[Goal]]:
    """Measure all packages that are there, each in a process of its own."""
    several = [_accelerations(sizes, limit, quick), _simulations(limit, quick)]
    return [table for table, _ in several], [goal for _, goals in several for goal in goals]


def _there(needs: str, quick: bool) -> str:
    """Say why a package is left out; nothing where it is not."""
    if find_spec(needs) is None:
        return f"{needs} not installed"
    return "not part of a quick run" if quick and needs in ("pinocchio", "mujoco") else ""


def _accelerations(sizes: Sequence[int], limit: float, quick: bool) -> tuple[Table, list[Goal]]:
    table = Table(
        "space: accelerations of trees", ["package", "axes", "set-up", "one", "÷ Pinocchio", "off"]
    )
    table.remarks = [
        f"{STATES} states in one compiled loop, without Python between; the best of several",
        "C and Pinocchio's wheel are for any processor of the kind, heyoka's code for this one;",
        "set-up: from the statement to the first numbers, nothing kept from before;",
        "off: the largest difference from ours, beside the largest acceleration; MuJoCo at the "
        "last state, by steps of 1e-12 s",
    ]
    took: dict[tuple[str, int], float] = {}
    rows: list[tuple[str, int, float, float]] = []
    for name, (needs, _) in EVALUATED.items():
        if why := _there(needs, quick):
            table.remarks.append(f"left out: {name}: {why}")
            continue
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                command = ["benchmarks.space", "tree", name, str(n), "0.1" if quick else "2"]
                lines, failure = measure(command, Path(folder), limit)
            if failure:
                table.failed |= name in (OURS, QUICK) and failure != "limit"
                table.remarks.append(f"{name}, {n} axes: {failure}")
                continue
            found = lines[-1]
            took[name, n] = found["one"]
            rows.append((name, n, found["setup"], found["off"]))
    for name, n, setup, off in rows:
        theirs = took.get(("Pinocchio aba", n))
        table.add(
            name, n, duration(setup), f"{1e6 * took[name, n]:.3g} µs",
            ratio(took[name, n], theirs), f"{off:.0e}",
        )  # fmt: skip
        table.failed |= off > 1e-6
    goals = []
    theirs = took.get(("Pinocchio aba", 7))
    own = [took[name, 7] for name in (OURS, QUICK) if (name, 7) in took]
    if theirs is not None and own:
        goals.append(
            Goal(
                "space: acceleration at 7 axes", f"≤ {WITHIN:g} × Pinocchio's aba",
                ratio(min(own), theirs), min(own) <= WITHIN * theirs,
            )
        )  # fmt: skip
    return table, goals


def _simulations(limit: float, quick: bool) -> tuple[Table, list[Goal]]:
    table = Table(
        f"space: an arm of six axes over {LAST:g} s", ["package", "one run", "÷ ours", "error"]
    )
    table.remarks = [
        f"{POINTS} output times, warm; the coarsest tolerance or step with an error below "
        f"{EQUAL:g} at the end; ours with optimized code",
    ]
    took: dict[str, tuple[float, float]] = {}
    for name, (needs, _) in SIMULATED.items():
        if why := _there(needs, quick):
            table.remarks.append(f"left out: {name}: {why}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = ["benchmarks.space", "arm", name, "6", "0.1" if quick else "2"]
            lines, failure = measure(command, Path(folder), limit)
        if failure:
            table.failed |= name == ARM and failure != "limit"
            table.remarks.append(f"{name}: {failure}")
            continue
        took[name] = lines[-1]["seconds"], lines[-1]["error"]
    for name, (seconds, error) in took.items():
        own = took.get(ARM, (None,))[0]
        table.add(name, duration(seconds), ratio(seconds, own) if name != ARM else "",
                  f"{error:.0e}")  # fmt: skip
    if find_spec("pydrake") is None:
        table.remarks.append("left out: Drake: pydrake not installed")
    others = {name: pair for name, pair in took.items() if name != ARM and pair[1] <= EQUAL}
    if ARM not in took or not others:
        return table, []
    best = min(others, key=lambda name: others[name][0])
    (own, error), (theirs, _) = took[ARM], others[best]
    goal = Goal(
        "space: the arm, fastest of all at 1e-9", f"≤ {duration(theirs)} ({best})",
        f"{duration(own)}, error {error:.0e}", own <= theirs and error <= EQUAL,
    )  # fmt: skip
    return table, [goal]


# -- one package in a process of its own -----------------------------------------------------------


def main(kind: str, name: str, size: str, seconds: str) -> None:
    """Measure one package."""
    if kind == "tree":
        needs, prepare = EVALUATED[name]
        import_module(needs)
        import stationary as st

        of = robot(int(size))
        clock = now()
        run = prepare(of)
        run()
        setup = now() - clock
        best, found = best_of(run, float(seconds))
        q, v = states(of.size)
        ours = st.compile(stated(of))
        expected = np.array([ours.acceleration(*pair) for pair in zip(q[-5:], v[-5:])])
        off = np.abs(found[-5:] - expected[-len(found[-5:]) :]).max() / np.abs(expected).max()
        say(setup=setup, one=best / STATES, off=float(off))
        return
    needs, prepare_arm = SIMULATED[name]
    import_module(needs)
    for finer in FINER:
        run = prepare_arm(finer)
        error = float(max(KNOWN, np.abs(run() - END).max()))
        if error <= EQUAL:
            break
    best, found = best_of(run, float(seconds))
    say(seconds=best, error=error)


if __name__ == "__main__":
    main(*sys.argv[1:])
