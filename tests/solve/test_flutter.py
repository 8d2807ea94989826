"""Hopf points: where what rests begins to swing, though no stiffness gives way."""

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")
P = st.parameters(P=0.0)


def kinds(diagram):
    return [point.kind for point in diagram.special]


def only(diagram, kind):
    return [point.parameter for point in diagram.special if point.kind == kind]


def ziegler(damping=0.0):
    """EQ-ZIEGLER: masses 2 and 1, unit links and springs, a load that follows the second link."""
    a, b = st.coordinates("a b")
    c = st.parameters(c=damping)
    tip = (st.cos(a) + st.cos(b), st.sin(a) + st.sin(b))
    return st.System(
        kinetic=(3 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * st.cos(a - b)) / 2,
        potential=(a**2 + (b - a) ** 2) / 2,
        dissipation=c * (a.dot**2 + (b.dot - a.dot) ** 2) / 2,
        loads=[st.Load((-P * st.cos(b), -P * st.sin(b)), on=tip, name="follower")],
    )


def test_zieglers_column_flutters_at_the_published_load():
    found = st.continuation(ziegler(), parameter=P, span=(0, 4))
    assert kinds(found) == ["hopf"]
    assert found.special[0].parameter == pytest.approx(2.0857864376269049512, abs=1e-10)
    # Where two frequencies meet, ω⁴ = 1/2.
    assert found.special[0].frequency == pytest.approx(2**-0.25, rel=1e-6)
    trunk = found.branches[0]
    assert np.array_equal(trunk.unstable, np.where(trunk.parameter > 2.0857864376269, 2, 0))


@pytest.mark.parametrize("damping", [1e-3, 0.5, 1.0])
def test_damping_lowers_the_load_at_which_zieglers_column_flutters(damping):
    found = st.continuation(ziegler(damping), parameter=P, span=(0, 3))
    exact = 41 / 28 + damping**2 / 2
    assert only(found, "hopf") == pytest.approx([exact], abs=1e-10)
    # Routh: ω² is the ratio of the coefficients of s and s³, which is 2/7 for every damping.
    assert found.special[0].frequency == pytest.approx(np.sqrt(2 / 7), rel=1e-9)
    assert np.array_equal(found.branches[0].stable, found.branches[0].parameter < exact)


def test_a_shaft_that_turns_in_a_damped_bearing_whirls_above_its_critical_speed():
    # ẍ + (c + e)ẋ + kx + cΩy = 0 and likewise for y: rotating damping c, external damping e;
    # it whirls above Ω = (1 + e/c) √k (Kimball 1924; Den Hartog, Mechanical Vibrations).
    W = st.parameters(W=0.0)
    shaft = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(x**2 + y**2) / 2,
        dissipation=(0.2 + 0.1) * (x.dot**2 + y.dot**2) / 2,
        loads=[st.Load((-0.2 * W * y, 0.2 * W * x), on=(x, y), name="bearing")],
    )
    found = st.continuation(shaft, parameter=W, span=(0, 3))
    assert only(found, "hopf") == pytest.approx([1.5], abs=1e-10)
    assert found.special[0].frequency == pytest.approx(1.0, rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_every_pair_that_begins_to_swing_is_a_hopf_point_beside_a_pitchfork_too(unit):
    # Pushed across by λ times their distance, pairs with damping c swing from λ = c √k.
    lam, w = st.parameters("lam"), st.coordinates("w")
    pairs = np.reshape(st.coordinates("a b c d e f"), (3, 2))
    stiffness, damping = np.array([1.0, 2.25, 4.0]), np.array([0.2, 0.3, 0.125])
    system = st.System(kinetic=w.dot**2 / 2, potential=(0.27 - lam) * w**2 / 2 + w**4 / unit**2)
    for (x, y), k, c in zip(pairs, stiffness, damping):
        square, speed = x**2 + y**2, x.dot**2 + y.dot**2
        system += st.System(
            kinetic=speed / 2,
            potential=k * square / 2 + square**2 / unit**2,
            dissipation=c * speed / 2,
            loads=[st.Load(-lam * y, on=x), st.Load(lam * x, on=y)],
        )
    start = dict.fromkeys([w, *pairs.ravel()], 0)
    diagram = st.continuation(system, parameter=lam, span=(0, 1), start=start)
    trunk = [s for s in diagram.special if max(abs(s[x]) for x in start) < 1e-6 * unit]
    swinging = [s for s in trunk if s.kind == "hopf"]
    assert [s.parameter for s in swinging] == pytest.approx([0.2, 0.25, 0.45], abs=1e-9)
    assert [s.frequency for s in swinging] == pytest.approx([1.0, 2.0, 1.5], rel=1e-8)
    assert [s.parameter for s in trunk if s.kind == "pitchfork"] == pytest.approx([0.27])
