"""A constraint, a gap or a slip may be written with any factor: answers stay the same."""

import re

import numpy as np
import pytest

import stationary as st

x, y, a = st.coordinates("x y a")
P = st.inputs("P")
FACTORS = [1e-150, 1e-100, 1e-30, 1e-12, 1e-8, 1e-4, 1e4, 1e8, 1e12, 1e30, 1e100, 1e150]
# The speed of a particle that a fence pushes at one while 0.3 pulls it aside against friction 1.
ASIDE = 0.3 / np.sqrt(1 - 0.3**2)


def pushed(c):
    """A particle behind a fence, whose row is written times c."""
    return st.System(
        potential=0.3 * x,
        friction=[st.Friction(1.0, on=(x, y))],
        constraints=[st.Constraint(c * (y - st.t), name="fence")],
    )


def on_a_floor(c, more=()):
    """A block of weight 10 on a floor of friction 0.4, its gap times c."""
    floor = st.Contact(c * y, friction=0.4 * c, slip=x, name="floor")
    return st.System(potential=10 * y, contacts=[floor], loads=[st.Load(P, on=x)], constraints=more)


@pytest.mark.parametrize("c", FACTORS)
@pytest.mark.parametrize("ask", [st.minimum_power, st.minimum_dissipation, st.newton])
def test_a_constraint_may_be_written_with_any_factor(ask, c):
    step = ask(pushed(c))
    assert step[x.dot] == pytest.approx(-ASIDE, rel=1e-11)
    assert step.lam["fence"] * c == pytest.approx(1 / np.hypot(1, ASIDE), rel=1e-11)
    assert step.unique is True


@pytest.mark.parametrize("c", FACTORS)
@pytest.mark.parametrize("ask", [st.minimum_power, st.newton])
def test_a_slip_may_be_written_with_any_factor(ask, c):
    # Beside friction that is stated plainly; both together are as strong as one of 1.
    plain, other = (
        st.Friction(0.5, on=(x, y), name="plain"),
        st.Friction(0.5 / c, on=(c * x, c * y), name="other"),
    )
    both = st.System(
        potential=0.3 * x, friction=[other, plain], constraints=[st.Constraint(y - st.t)]
    )
    step = ask(both)
    assert step[x.dot] == pytest.approx(-ASIDE, rel=1e-11)
    assert step.forces["other"] * c == pytest.approx(step.forces["plain"], rel=1e-10)
    assert step.unique is True


@pytest.mark.parametrize("c", FACTORS)
@pytest.mark.parametrize("ask", [st.minimum_power, st.newton])
def test_so_may_one_along_which_nothing_else_rubs(ask, c):
    # Two blocks that a bar turns against each other: the hand feels 1 on x and 3 · 0.5 on y.
    pair = st.System(
        friction=[st.Friction(1.0, on=x, name="plain"), st.Friction(0.5 / c, on=c * y)],
        constraints=[st.Constraint(y - 3 * x), st.Constraint(x - st.t, name="hand")],
    )
    step = ask(pair)
    assert step[y.dot] == pytest.approx(3, rel=1e-12)
    assert step.lam["hand"] == pytest.approx(2.5, rel=1e-11)


@pytest.mark.parametrize("c", FACTORS)
@pytest.mark.parametrize("ask", [st.minimum_power, st.newton])
def test_a_gap_may_be_written_with_any_factor(ask, c):
    step = ask(on_a_floor(c, [st.Constraint(x - st.t, name="hand")]), inputs={P: 0.0})
    assert step.lam["floor"] * c == pytest.approx(10, rel=1e-11)
    assert step.lam["hand"] == pytest.approx(4, rel=1e-11)
    assert step[y.dot] == pytest.approx(0, abs=1e-12) and step.unique is True


@pytest.mark.one_in(3)
@pytest.mark.parametrize("c", FACTORS)
def test_limit_loads_do_not_depend_on_factors(c):
    found = st.limit_load(on_a_floor(c), load=P)
    assert (found.low.factor, found.high.factor) == pytest.approx((-4, 4), rel=1e-9)
    assert found.high.lam["floor"] * c == pytest.approx(10, rel=1e-9)
    held = st.System(
        potential=10 * y, loads=[st.Load(P, on=x)], friction=[st.Friction(4, on=x)],
        constraints=[st.Constraint(c * y, name="rail")],
    )  # fmt: skip
    found = st.limit_load(held, load=P)
    assert found.factor == pytest.approx(4, rel=1e-9)
    assert found.high.lam["rail"] * c == pytest.approx(10, rel=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("c", [c for c in FACTORS if 1e-13 < c < 1e13])
def test_gaps_and_slips_may_all_be_written_in_units_that_coordinates_are_not_in(c):
    # Two blocks on a bar: pulled by P, pushed back by 4, they rest while |P − 4| ≤ 0.3·4 + 0.4·2.
    X, Y = st.coordinates("X Y")
    blocks = st.System(
        work=-3 * x - 4 * y - X - 2 * Y,
        loads=[st.Load(P, on=x)],
        contacts=[st.Contact(c * y, friction=0.3, slip=c * x, name="front"),
                  st.Contact(c * Y, friction=0.4, slip=c * X, name="back")],
        constraints=[x - X],
    )  # fmt: skip
    rests = st.limit_load(blocks, load=P)
    assert rests.interval == pytest.approx((2, 6), rel=1e-9) and rests.exact
    assert rests.high.mode == pytest.approx(np.array(rests.low.mode) * -1)
    assert rests.high.lam["front"] * c == pytest.approx(4, rel=1e-9)
    for ask in (st.minimum_power, st.newton):
        for pull, word in ((5.9, "sticks"), (6.1, "accelerates")):
            assert ask(blocks, inputs={P: pull}, throw=False).status == word


@pytest.mark.parametrize("ask", [st.minimum_power, st.newton])
def test_forces_that_are_no_numbers_in_units_of_what_slips_are_refused(ask):
    floor = st.Contact(1e-150 * y, friction=0.4, slip=1e-150 * x, name="floor")
    block = st.System(potential=10 * y, work=5 * x, contacts=[floor])
    with pytest.raises(st.StatementError, match="too large or too small to reckon with"):
        ask(block)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("c", FACTORS)
def test_a_tractrix_does_not_depend_on_factors(c):
    link = st.Constraint(c * (st.norm((x - st.t, y)) - 1), name="link")
    slip = c if 1e-101 < c < 1e101 else 1.0
    bead = st.System(friction=[st.Friction(1 / slip, on=(slip * x, slip * y))], constraints=[link])
    slide = st.quasistatics(bead, span=(0, 1), start={y: 1}, points=3)
    assert slide[y][-1] == pytest.approx(1 / np.cosh(1), rel=1e-12)
    assert slide[x][-1] == pytest.approx(1 - np.tanh(1), rel=1e-12)
    assert slide.lost[-1] == pytest.approx(np.log(np.cosh(1)), rel=1e-12)
    assert np.asarray(slide.lam["link"])[1:] * c == pytest.approx(-np.ones(2), rel=1e-11)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("c", FACTORS)
def test_springs_and_floors_over_time_do_not_depend_on_factors(c):
    # It starts when the spring of stiffness 4 pulls with 1.
    pulled = st.System(
        potential=2 * (x - y) ** 2, friction=[st.Friction(1.0, on=x)],
        constraints=[st.Constraint(c * (y - st.t), name="hand")],
    )  # fmt: skip
    slide = st.quasistatics(pulled, span=(0, 2), points=3)
    assert slide[x][-1] == pytest.approx(1.75, rel=1e-10)
    assert slide.events[0] == pytest.approx([0.25], rel=1e-8)
    assert np.asarray(slide.lam["hand"])[-1] * c == pytest.approx(1, rel=1e-10)
    hand = st.Constraint(x - st.t, name="hand")
    slide = st.quasistatics(on_a_floor(c, [hand]), span=(0, 1), inputs={P: 0.0}, points=3)
    assert slide.lost[-1] == pytest.approx(4, rel=1e-11)
    assert np.asarray(slide.lam["floor"])[-1] * c == pytest.approx(10, rel=1e-11)


@pytest.mark.parametrize("c", [1e-12, 1.0, 1e12])
def test_what_is_said_of_rows_is_said_as_they_are_stated(c):
    with pytest.raises(st.StatementError, match=re.escape(f"'fence' has R = {0.5 * c:.3g};")):
        st.minimum_power(pushed(c), at={y: 0.5})
    with pytest.raises(st.StatementError, match=re.escape(f"a gap of -{0.5 * c:.3g}, expected")):
        st.minimum_power(on_a_floor(c), at={y: -0.5}, inputs={P: 0.0})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("c", FACTORS)
def test_drives_beyond_reach_are_told_whatever_the_factor(c):
    arm = st.System(
        friction=[st.Friction(1.0, on=a)],
        constraints=[st.Constraint(c * (st.sin(a) - st.t), name="drive")],
    )
    with pytest.raises(st.NoMotion) as told:
        st.quasistatics(arm, span=(0, 2), points=3)
    assert told.value.kind == "jammed" and told.value.names == ("drive",)
    assert told.value.solution.t[-1] == pytest.approx(1, abs=1e-6)
