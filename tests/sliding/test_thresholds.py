"""What decides in sliding, ten times larger or smaller, decides the same."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.sliding.over_time.power_equations import equations_of
from tests.checks import ten_times

# Numbers that decide, room by room, and what asks that room.
DECIDE = {
    "instant.force_balance": (("_BEYOND", "_PROVED"), ("newton",)),
    "over_time.balance_flow": (("_DEPENDENT",), ("chain", "plane")),
    "over_time.by_balance": (
        ("_RIGHT", "_CLEAR", "_DIGITS", "_ADDS", "_DEPENDENT", "_FULL"), ("chain", "plane"),
    ),
    "over_time.by_power": (
        ("_NO_TIME", "_THINNEST", "_THICKEST", "_LATEST", "_BEGINS", "_FULL"), ("feet", "tractrix"),
    ),
    "coulomb.choice": (("LAW", "_OFF"), ("push",)),
    "over_time.power_equations": (
        ("_ROUNDING", "_RIGHT", "_SOFT", "_DEPENDENT", "_SINGULAR", "NONE", "JUMP"), ("feet",),
    ),
    "over_time.runge": (("_FAR_AHEAD",), ("feet",)),
    "coulomb.pressed": (("_ROUNDING",), ("push", "feet")),
    "telling.endings": (("_NEARLY", "_NEUTRAL"), ("chain", "plane")),
    "over_time.flow": (("_VANISHING", "_STRAIGHT", "_ADDS"), ("feet", "chain")),
    "over_time.increment": (("_RIGHT",), ("steps",)),
    "over_time.increment_newton": (("_LAST", "_SOFT", "_TOUCHES"), ("steps",)),
    "limits.load": (("_LARGEST", "_NO_LOAD", "_FINE"), ("slope",)),
    "problem.measure": (("_ROUNDING", "_STILL"), ("steps",)),
    "problem.numbers": (("STILL", "ROLLS", "_EVEN", "_ACROSS", "_NO_FORCE"), ("push", "feet")),
    "problem.question": (("_TOUCHING", "_DIGITS", "_LEAST", "_MOST"), ("feet", "plane")),
    "convex.reduced": (("_ROUNDING", "_ACCEPTED"), ("push", "tractrix")),
    "convex.settle": (("_FREE", "_FREE_AMONG_MANY", "_SLOW", "_FLAT"), ("push", "tractrix")),
    "telling.step": (("_ROUNDING",), ("push",)),
}  # fmt: skip


def told(slide):
    q = slide.y[:, : slide.y.shape[1] // 2]
    return np.concatenate([*slide.events, q[-1] / np.abs(q).max(), slide.lost[-1:]])


def five_feet(apart):
    feet = [(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0, 0.1)]
    point, edge = (0.5 + 0.3 * st.t, st.t - 0.5 - apart), ((-1, -0.5), (1, -0.5))
    pusher = st.Pusher(point=point, edge=edge, friction=0.3)
    return st.slider(points=feet, weights=[0.2, 0.3, 0.1, 0.25, 0.15], pusher=pusher)


def questions():
    """Return questions by name, each of which is answered by some numbers."""
    x, y = st.coordinates("x y")
    N, P = st.parameters("N P")
    pulled = 50 * (x - st.sin(st.t)) ** 2
    two = [st.Friction(9.0, on=x), st.Friction(4.0, on=y)]
    chain = st.System(potential=pulled + 20 * (x - y) ** 2, friction=two)
    plane = st.System(
        potential=pulled + 50 * (y - st.t / 2) ** 2, friction=[st.Friction(10.0, on=(x, y))]
    )
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    slope = st.System(work=(P - N * np.sin(0.3)) * x, friction=[st.Friction(0.5 * N, on=x)])
    late, there = five_feet(0.05), five_feet(0.0)
    return {
        "chain": lambda: told(st.quasistatics(chain, span=(0, 3), points=3)),
        "plane": lambda: told(st.quasistatics(plane, span=(0, 1), points=3)),
        "tractrix": lambda: told(st.quasistatics(bead, span=(0, 2), start={y: 1}, points=3)),
        "steps": lambda: told(st.quasistatics(chain, span=(0, 1), points=3, step=0.1)),
        "feet": lambda: told(st.quasistatics(late, span=(0, 0.4), points=3)),
        "push": lambda: st.minimum_power(there).v,
        "newton": lambda: st.newton(there).v,
        "slope": lambda: np.array(
            [end.factor for k in [st.limit_load(slope, load=P, params={N: 2.0, P: 1.0})]
             for end in (k.low, k.high)]
        ),
    }  # fmt: skip


@pytest.mark.slow
def test_no_answer_depends_on_a_number_that_decides(monkeypatch, request):
    asked = questions()
    known = {name: ask() for name, ask in asked.items()}
    assert known["tractrix"][-1] == pytest.approx(np.log(np.cosh(2)), rel=1e-8)
    assert known["slope"] == pytest.approx([2 * np.sin(0.3) - 1, 2 * np.sin(0.3) + 1], rel=1e-8)
    request.addfinalizer(equations_of.cache_clear)
    for room, (names, asks) in DECIDE.items():
        for name in names:
            for factor in ten_times(monkeypatch, "stationary.solve.sliding", room, name):
                # Numbers are part of what is compiled.
                equations_of.cache_clear()
                for ask in asks:
                    # Ten times later what slows down has come to rest: by 3e-8 here.
                    same = pytest.approx(known[ask], rel=1e-8, abs=1e-7)
                    assert asked[ask]() == same, (room, name, factor, ask)
