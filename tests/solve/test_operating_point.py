"""Operating points: what is given is held, what is left out follows, and nothing is moved."""

import numpy as np
import pytest

import stationary as st

x, y, phi, theta, u = st.coordinates("x y phi theta u")


def wheel(radius=0.3, mass=2.0):
    """A disc that rolls on a line, on a spring between two walls that drive along."""
    return st.System(
        kinetic=mass * x.dot**2 / 2 + mass * radius**2 / 2 * phi.dot**2 / 2 + u.dot**2 / 2,
        potential=5.0 * u**2 / 2,
        pfaffian=[st.Pfaffian(x.dot - radius * phi.dot, name="rolling")],
        coordinates=[x, phi, u],
    )


def test_a_speed_that_is_given_is_the_speed():
    lin = st.linearize(wheel(), at={x.dot: 5.0})
    assert lin.at[x.dot] == 5.0
    assert lin.at[phi.dot] == pytest.approx(5.0 / 0.3, rel=1e-14)
    assert "x.dot = 5" in repr(lin)


def test_speeds_that_contradict_each_other_are_refused():
    with pytest.raises(st.StatementError) as told:
        st.linearize(wheel(), at={x.dot: 5.0, phi.dot: 1.0})
    assert str(told.value) == (
        "the operating point violates constraints.\n"
        "  Found: 'rolling' has Ṙ = 4.7; expected zero.\n"
        "  What is given is held, and what is left out is found: give other values, leave some "
        "out, or pass at=st.consistent(system, …)."
    )


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_place_that_contradicts_the_constraints_is_refused(unit):
    bob = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), unit)
    with pytest.raises(st.StatementError, match="operating point violates"):
        st.linearize(bob, at={x: 0.0, y: -1.001 * unit})
    lin = st.linearize(bob, at={y: -unit})
    np.testing.assert_allclose(lin.frequencies, np.sqrt(9.81 / unit), rtol=1e-10)
    assert lin.states == ("x", "x.dot")


@pytest.mark.parametrize("seed", range(4))
def test_last_digits_do_not_choose_the_states(seed):
    """A frame of four equal rods hung at two corners: both lower corners tell the motion alike."""
    p, q, r, s = st.coordinates("p q r s")
    frame = (
        st.particle(1.0, at=(p, q), gravity=9.81)
        + st.particle(1.0, at=(r, s), gravity=9.81)
        + st.rod((0, 0), (p, q), 1.0)
        + st.rod((1, 0), (r, s), 1.0)
        + st.rod((p, q), (r, s), 1.0)
    )
    noise = 1 + 2.2e-16 * np.random.default_rng(seed).integers(-2, 3, 4)
    at = dict(zip((p, q, r, s), np.array([0.0, -1.0, 1.0, -1.0]) * noise))
    lin = st.linearize(frame, at=at)
    assert lin.states == ("p", "p.dot")
    np.testing.assert_allclose(lin.frequencies, np.sqrt(9.81), rtol=1e-10)
    assert st.linearize(frame, at=at, states=[r]).states == ("r", "r.dot")


def test_states_that_are_asked_for_are_the_states():
    pair = st.System(
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        potential=(x**2 + (x - y) ** 2 + 3 * theta**2) / 2,
    )
    lin = st.linearize(pair, states=[theta])
    assert lin.states == ("theta", "theta.dot")
    np.testing.assert_allclose(lin.frequencies, [np.sqrt(3)])
    assert st.linearize(pair, states=[y, x]).states == ("x", "y", "x.dot", "y.dot")
    with pytest.raises(st.StatementError, match="'x.dot' depends on 'y', which was not asked for"):
        st.linearize(pair, states=[x])
    bob = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), 1.0)
    with pytest.raises(st.StatementError, match="'y' is no state of its own"):
        st.linearize(bob, at={y: -1.0}, states=[y])
    with pytest.raises(st.StatementError, match="'x' moves at the operating point"):
        st.linearize(wheel(), at={x.dot: 1.0}, states=[x])


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_what_is_steady_is_judged_in_its_own_sizes(unit, shift):
    """A ball in a cosine valley: a thousandth of its width from the bottom is not at rest."""
    valley = st.System(
        kinetic=x.dot**2 / 2, potential=-(unit**2) * st.cos(x / unit - shift), coordinates=[x]
    )
    lin = st.linearize(valley, at={x: shift * unit})
    np.testing.assert_allclose(lin.frequencies, 1.0, rtol=1e-9)
    with pytest.raises(st.StatementError, match="neither an equilibrium nor a steady motion"):
        st.linearize(valley, at={x: (shift + 0.01) * unit})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_moves_by_last_digits_alone_is_no_state(unit):
    """Bobs hang from 0.3 and 0.5 in places that are off by last digits: heights are stationary."""
    p, q, r, s = st.coordinates("p q r s")
    bobs = (
        st.particle(1.0, at=(p, q), gravity=9.81)
        + st.particle(1.0, at=(r, s), gravity=9.81)
        + st.rod((0.3 * unit, 0), (p, q), unit)
        + st.rod((0.5 * unit, 0), (r, s), unit)
    )
    at = {p: (0.1 + 0.2) * unit, q: -unit, r: 0.5 * unit, s: -unit}
    lin = st.linearize(bobs, at=at, states=[p, r])
    np.testing.assert_allclose(lin.frequencies, np.sqrt(9.81 / unit), rtol=1e-9)
    for states in ([q, r], [p, q], [q], [q, s], [p, q, r]):
        with pytest.raises(st.StatementError, match=r"'[qs]' is no state of its own"):
            st.linearize(bobs, at=at, states=states)
