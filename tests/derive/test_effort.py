"""Algebra is bounded by operations: beyond the bound everything is right, only longer."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.derive import effort, readable
from stationary.derive.check import check
from stationary.derive.effort import affordable, bounded, expanded, operations
from stationary.derive.readable import tidy

G = 9.81


def cart():
    x, theta, F = *st.coordinates("x theta"), st.inputs("F")
    bob = st.particle(2.0, at=(x + st.sin(theta), -st.cos(theta)), gravity=G)
    return bob + st.particle(1.0, at=x) + st.System(loads=[st.Load(F, on=x)])


def chain(links=2):
    angles, at, made = st.coordinates(" ".join(f"a{i}" for i in range(links))), (0, 0), 0
    for i in range(links):
        turn = sum(angles[: i + 1])
        at = (at[0] + st.sin(turn), at[1] - st.cos(turn))
        made = made + st.particle(1.0, at=at, gravity=G)
    return made


def disk():
    x, y, phi = st.coordinates("x y phi")
    rolling = [x.dot - st.cos(phi) * y.dot, y.dot - y.dot + st.sin(phi) * x.dot - phi.dot * x]
    return st.System(kinetic=x.dot**2 + y.dot**2 + phi.dot**2, pfaffian=rolling)


def rotating(links=2):
    """A chain of bars in space, each turned by a right angle: products of sums of products."""
    angles, R, p, made = st.coordinates(" ".join(f"a{i}" for i in range(links))), sp.eye(3), 0, 0
    for a in angles:
        c, s = sp.cos(a), sp.sin(a)
        R = R * sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        p = R[:, 0] if p == 0 else p + R[:, 0]
        R = R * sp.Matrix([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        made = made + st.System(kinetic=sum(st.rate(e) ** 2 for e in p) / 2, potential=G * p[1])
    return made


SYSTEMS = [cart, chain, disk, rotating]


def numbers(eq, matrices="MCGQA"):
    """Evaluate what is read at a random state."""
    chance = np.random.default_rng(5)
    symbols = [*eq.coordinates, *eq.velocities, *eq.system.inputs]
    swap = {s: chance.uniform(-1, 1) for s in symbols}
    return [np.array(getattr(eq, name).xreplace(swap), dtype=float) for name in matrices]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("make", SYSTEMS)
def test_what_is_too_long_to_be_simplified_is_right_all_the_same(make, monkeypatch):
    system = make()
    simple, sure = st.equations(system), check(system)
    assert simple.simplified and sure.exhaustive
    monkeypatch.setattr(effort, "MOST_EXPANDED", 0)
    raw, unsure = st.equations(system), check(system)
    assert not raw.simplified and "too long to be simplified" in str(raw)
    for one, other in zip(numbers(simple), numbers(raw)):
        assert one == pytest.approx(other, rel=1e-11, abs=1e-11)
    # Numbers decide as algebra does; what was decided by them says so.
    assert [(f.name, bool(f)) for f in unsure] == [(f.name, bool(f)) for f in sure]
    assert not unsure.exhaustive and "decided by numbers" in str(unsure)
    assert "besides" not in unsure["gradient"].text
    assert len(raw.explain()) > 100


def test_terms_are_counted_as_they_are_multiplied_out():
    a, b, c = st.coordinates("a b c")
    for e in ((a + b + 1) ** 4, (a + b) * (a + c) ** 2, a * (b + c) + st.sin(a + b) * (a + b)):
        whole = sp.Add.make_args(sp.expand(e))
        assert len(whole) <= expanded(e) <= 2 * len(whole)
    # Nothing is multiplied out to be counted.
    assert expanded(((((a + 1) ** 99 + b) ** 99 + c) ** 99 + a) ** 99) > 1e60
    assert operations([(a + b + c) ** 2] * 1000, most=50) == 51


def test_a_bound_is_spent_and_then_nothing_is_simplified():
    a = st.coordinates("a")
    long = st.sin(a) ** 2 + st.cos(a) ** 2
    with bounded(30) as left:
        assert [tidy(long) == 1 for _ in range(5)] == [True, True, True, True, False]
    assert left.stopped
    assert tidy(long) == 1 and affordable(long, 1)


def test_quotients_inside_each_other_are_not_taken_apart_without_end(monkeypatch):
    x, takes = st.coordinates("x"), []
    nested = x + 0
    for _ in range(12):
        nested = 1 / (1 + nested)
    collected = readable._by_what_moves
    monkeypatch.setattr(
        readable, "_by_what_moves", lambda *given: takes.append(1) or collected(*given)
    )
    # Each was tidied with and without its denominator: two to the power of their number.
    assert float(tidy(nested).subs(x, 0.3)) == pytest.approx(float(sp.S(nested).subs(x, 0.3)))
    assert len(takes) < 2000


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [8, 200])
def test_of_many_roots_all_are_looked_at_where_they_are_defined(count):
    # Each is undefined below zero; two hundred that are coupled are too long for algebra.
    q = [st.coordinates(f"q{i}") for i in range(count)]
    rows = sum(st.sqrt(c) * c.dot for c in q)
    report = st.check(st.System(kinetic=sum(c.dot**2 for c in q) / 2 + rows**2))
    assert report.passed and report.exhaustive == (count < 200)


@pytest.mark.parametrize("power", [8, 300, 99999])
def test_large_powers_are_left_alone(power):
    x, m = st.coordinates("x"), st.parameters("m")
    system = st.System(kinetic=m * x.dot**2 / 2, potential=(x + m + 1) ** power)
    eq = st.equations(system)
    assert eq.G[0] == power * (x + m + 1) ** (power - 1)
    assert check(system)["energy"]


@pytest.mark.slow
@pytest.mark.parametrize("coupled", ["links", "sum"])
def test_equations_that_nobody_reads_are_refused_and_checked_by_numbers(coupled):
    q = [st.coordinates(f"q{i}") for i in range(30 if coupled == "links" else 200)]
    along = [st.cos(c) * c.dot for c in q]
    across = [st.sin(c) * c.dot for c in q]
    ends = range(1, len(q) + 1) if coupled == "links" else [len(q)]
    chain = st.System(kinetic=sum(sum(along[:k]) ** 2 + sum(across[:k]) ** 2 for k in ends) / 2)
    with pytest.raises(st.DerivationError, match="too long to be read"):
        st.equations(chain)
    # One sum of velocities along each axis leaves all but two motions without inertia.
    report = st.check(chain)
    assert not report.exhaustive and report["symmetric"] and report["energy"]
    assert bool(report["positive definite"]) == (coupled == "links")
