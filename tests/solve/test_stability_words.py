"""One judgement of stability: every verb says the same word of the same rest."""

import numpy as np
import pytest

import stationary as st
from stationary.result.stability import spectrum, word_of

x, y, theta, a, b = st.coordinates("x y theta a b")
mu, c, P = st.parameters(mu=0.01, c=0.0, P=1.0)
u = st.inputs("u")


def three_bodies(length=1.0, mass=1.0, pace=1.0):
    """The circular restricted three-body problem in the turning frame, in units of choice."""
    r1 = st.sqrt((x + mu * length) ** 2 + y**2)
    r2 = st.sqrt((x - (1 - mu) * length) ** 2 + y**2)
    pull = mass * length**3 * pace**2
    return st.System(
        kinetic=mass * ((x.dot - pace * y) ** 2 + (y.dot + pace * x) ** 2) / 2,
        potential=-pull * ((1 - mu) / r1 + mu / r2),
    )


def triangle(ratio, length=1.0):
    return {x: (0.5 - ratio) * length, y: np.sqrt(0.75) * length}


swing = {"kinetic": theta.dot**2 / 2, "potential": -st.cos(theta)}
oscillator = {"kinetic": x.dot**2 / 2, "potential": x**2 / 2}
links = {
    # H. Ziegler, Ing.-Arch. 20 (1952): two links under a follower force.
    "kinetic": (3 * a.dot**2 + 2 * a.dot * b.dot * st.cos(a - b) + b.dot**2) / 2,
    "potential": (a**2 + (b - a) ** 2) / 2,
    "loads": [st.Load((P * st.sin(a - b), 0), on=(a, b))],
}

CASES = {
    "hanging pendulum": (swing, {theta: 0.0}, {}, "marginally stable"),
    "standing pendulum": (swing, {theta: np.pi}, {}, "unstable (saddle)"),
    "damped pendulum": (
        swing | {"dissipation": theta.dot**2}, {theta: 0.0}, {}, "asymptotically stable"
    ),
    "damped standing pendulum": (
        swing | {"dissipation": theta.dot**2}, {theta: np.pi}, {}, "unstable (saddle)"
    ),
    "van der Pol": (
        oscillator | {"loads": [st.Load((1 - x**2) * x.dot, on=x)]}, {x: 0.0}, {},
        "unstable (flutter)",
    ),
    "slow van der Pol": (
        oscillator | {"loads": [st.Load(1e-5 * (1 - x**2) * x.dot, on=x)]}, {x: 0.0}, {},
        "unstable (flutter)",
    ),
    "fourth power": ({"kinetic": x.dot**2, "potential": x**4}, {x: 0.0}, {}, "marginally stable"),
    "minus fourth power": (
        {"kinetic": x.dot**2, "potential": -(x**4)}, {x: 0.0}, {}, "unstable (saddle)"
    ),
    "third power, damped": (
        {"kinetic": x.dot**2, "potential": x**3, "dissipation": x.dot**2}, {x: 0.0}, {},
        "unstable (saddle)",
    ),
    # A charge on a hill, W. Thomson and P. G. Tait: a strong magnet holds it, a weak one does not.
    "hill in a strong magnet": (
        {"kinetic": (x.dot**2 + y.dot**2) / 2, "potential": -(x**2 + y**2) / 2,
         "loads": [st.Load((2.1 * y.dot, -2.1 * x.dot), on=(x, y))]},
        {x: 0.0, y: 0.0}, {}, "marginally stable",
    ),
    "hill in a weak magnet": (
        {"kinetic": (x.dot**2 + y.dot**2) / 2, "potential": -(x**2 + y**2) / 2,
         "loads": [st.Load((1.9 * y.dot, -1.9 * x.dot), on=(x, y))]},
        {x: 0.0, y: 0.0}, {}, "unstable (flutter)",
    ),
    "hill in a strong magnet, damped": (
        {"kinetic": (x.dot**2 + y.dot**2) / 2, "potential": -(x**2 + y**2) / 2,
         "loads": [st.Load((2.1 * y.dot, -2.1 * x.dot), on=(x, y))],
         "dissipation": 0.01 * (x.dot**2 + y.dot**2)},
        {x: 0.0, y: 0.0}, {}, "unstable (flutter)",
    ),
    "pulled links": (links, {a: 0.0, b: 0.0}, {P: 2.0}, "marginally stable"),
    "fluttering links": (links, {a: 0.0, b: 0.0}, {P: 2.2}, "unstable (flutter)"),
    "frozen time": (
        {"kinetic": theta.dot**2 / 2,
         "potential": -(1 + 0.5 * st.cos(2 * st.t)) * st.cos(theta)},
        {theta: 0.0}, {}, "stability not decided",
    ),
    "free particle": ({"kinetic": x.dot**2}, {x: 0.0}, {}, "marginally stable"),
}  # fmt: skip


def words(system, at, params):
    """What every verb says of one rest."""
    statics = st.statics(system, start=at, params=params, kind="any")
    assert all(statics[k] == pytest.approx(v, abs=1e-9) for k, v in at.items())
    within = {k: (v - 0.13, v + 0.11) for k, v in at.items()}
    (found,) = st.equilibria(system, within=within, params=params)
    assert statics.stable is found.stable
    lin = st.linearize(system, at=statics, params=params)
    plain = st.linearize(system, at=at, params=params)
    return statics, [statics.stability, found.stability, lin.stability, plain.stability]


@pytest.mark.parametrize("name", CASES)
def test_every_verb_says_the_same_word(name):
    terms, at, params, expected = CASES[name]
    system = st.System(**terms)
    rest, said = words(system, at, params)
    assert said == [expected] * 4
    stable = {"stability": None, "unstable": False}.get(expected.split()[0], True)
    assert rest.stable is stable
    assert expected in str(rest).splitlines()[0]


@pytest.mark.one_in(2)
# G. Gascheau (1843), E. J. Routh (1875): the triangle holds where 27 μ (1 − μ) < 1.
@pytest.mark.parametrize("ratio", [1e-3, 0.01, 0.038, 0.039, 0.2, 0.5])
@pytest.mark.parametrize(
    ("length", "mass", "pace"), [(1, 1, 1), (3.8e8, 7e22, 2.7e-6), (1e-9, 1e-24, 1e9)]
)
def test_the_triangle_of_three_bodies_holds_below_rouths_ratio(ratio, length, mass, pace):
    system = three_bodies(length, mass, pace)
    rest = st.statics(system, start=triangle(ratio, length), params={mu: ratio}, kind="any")
    lin = st.linearize(system, at=rest)
    holds = 27 * ratio * (1 - ratio) < 1
    assert lin.stability == rest.stability
    assert rest.stability == ("marginally stable" if holds else "unstable (flutter)")
    if holds:
        # A maximum of the energy, which gyroscopic forces alone hold.
        assert rest.inertia == (0, 2, 0) and "gyroscopic" in rest.stability.message
        kept = np.sqrt((1 + np.sqrt(1 - 27 * ratio * (1 - ratio))) / 2) * pace
        assert lin.frequencies.max() == pytest.approx(kept, rel=1e-7)


def test_a_branch_says_the_same_words():
    # The links lose their stability where two frequencies meet.
    system = st.System(**links)
    branch = st.continuation(system, parameter=P, span=(0.5, 3), params={P: 0.5}).branches[0]
    for k in range(0, len(branch), 5):
        rest = st.statics(system, start={}, params={P: branch.parameter[k]}, kind="any")
        assert rest.stable == branch.stable[k]


@pytest.mark.parametrize("seed", range(12))
def test_a_slow_rate_keeps_its_sign_beside_all_that_only_drifts(seed):
    """What a velocity moves, and what that moves, has the rate zero: chains of it scatter."""
    chance = np.random.default_rng(seed)
    slow, sign, unit = 10.0 ** chance.uniform(-8, -3), chance.choice([-1, 0, 1]), 10.0**seed
    swing = chance.uniform(0.5, 2)
    A = np.zeros((8, 8))
    for start, size in ((0, 3), (3, 2)):
        steps = np.arange(start, start + size - 1)
        A[steps, steps + 1] = chance.uniform(0.5, 2, size - 1)
    A[5, 5], A[6:, 6:] = sign * slow, [[-0.1, swing], [-swing, -0.1]]
    A[:5, 5:] = chance.standard_normal((5, 3))
    mixed = np.linalg.qr(chance.standard_normal((8, 8)))[0] * chance.uniform(0.3, 3, 8)
    A = mixed @ A @ np.linalg.inv(mixed) / unit
    values, vectors, moved = spectrum(A, 1e-15 * np.abs(A).max() * np.ones((8, 8)))
    grows = "unstable (saddle)" if sign > 0 else "marginally stable"
    assert word_of(values, moved) == grows
    assert np.sum(values == 0) == 6 - abs(sign)
    if sign:
        (rate,) = [x for x in values * unit if 0 < abs(x) < 1e-2]
        assert rate == pytest.approx(sign * slow, rel=1e-4, abs=1e-13)
    assert np.abs(A @ vectors - vectors * values).max() < 1e-12 * np.abs(A).max()


def test_a_branch_of_a_statement_that_changes_with_time_is_not_judged():
    kapitza = st.System(
        kinetic=theta.dot**2 / 2, potential=(1 - P * 2 * st.cos(9 * st.t)) * st.cos(theta)
    )
    diagram = st.continuation(kapitza, parameter=P, span=(0.1, 0.4), params={P: 0.1})
    assert not diagram.branches[0].decided and not diagram.branches[0].stable.any()
    for answer in (diagram, st.linearize(kapitza), st.statics(kapitza, kind="any")):
        assert "stability not decided" in str(answer) and "frozen at t = 0" in str(answer)


def test_a_frame_that_turns_does_not_change_with_time():
    # Written with cos Ωt the time drops out again.
    turned = (
        x * st.cos(P * st.t) - y * st.sin(P * st.t),
        x * st.sin(P * st.t) + y * st.cos(P * st.t),
    )
    system = st.particle(1.0, at=turned) + st.System(potential=2 * (x**2 + y**2))
    rest = st.statics(system, t=0.7)
    assert rest.stability == "marginally stable" and rest.frozen is None


def test_a_statement_without_inertia_is_judged_by_its_energy_at_the_time_asked_for():
    system = st.System(potential=(x - st.t) ** 2)
    rest = st.statics(system, t=3.0)
    assert rest.stability == "stable" and rest.stable is True and rest[x] == pytest.approx(3.0)
    assert "taken at t = 3" in str(rest)


def test_statics_says_at_which_time_inputs_are_taken():
    pushed = st.System(kinetic=x.dot**2 / 2, potential=x**2, work=u * x)
    rest = st.statics(pushed, inputs={u: st.sin(st.t)}, t=1.5)
    assert rest[x] == pytest.approx(np.sin(1.5) / 2)
    assert "taken at t = 1.5" in str(rest) and rest.stable is None
    assert "an input changes with time" in rest.stability.message
    still = st.statics(pushed, inputs={u: 2.0}, t=1.5)
    assert still.stability == "marginally stable" and "taken at t = 1.5" in str(still)


def test_inputs_that_follow_velocities_damp_or_feed():
    pushed = st.System(kinetic=x.dot**2 / 2, potential=x**2, work=u * x)
    assert st.statics(pushed, inputs={u: -x.dot}).stability == "asymptotically stable"
    assert st.statics(pushed, inputs={u: x.dot}).stability == "unstable (flutter)"


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("slow", [1e-6, 1.0])
def test_a_slow_growth_beside_a_fast_oscillation_is_seen_in_every_unit(unit, slow):
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2 * unit,
        potential=unit * (1e6 * x**2 - slow * y**2) / 2,
    )
    rest = st.statics(system, kind="any")
    assert rest.stability == st.linearize(system, at=rest).stability == "unstable (saddle)"


def test_what_is_held_in_every_direction_is_stable():
    x = st.coordinates("x")
    weight = st.System(kinetic=x.dot**2, potential=3 * x)
    for hold in (st.System(constraints=[x - 2.0]), st.System(contacts=[st.Contact(x - 2.0)])):
        rest = st.statics(weight + hold, start={x: 2.5})
        assert rest.stability == "stable" and rest.stable


def test_a_maximum_of_the_energy_is_told():
    x, y = st.coordinates("x y")
    hill, pass_ = -(x**2 + 3 * y**2), x**2 - y**2
    for inertia in (0, (x.dot**2 + y.dot**2) / 2):
        top = st.statics(st.System(kinetic=inertia, potential=hill), kind="any")
        assert top.stability == "unstable (saddle)"
        assert top.stability.message.endswith("the energy has a maximum there")
        between = st.statics(st.System(kinetic=inertia, potential=pass_), kind="any")
        assert "maximum" not in between.stability.message


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mu", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("start", [(0.49, 0.86), (0.4, 0.8), (0.6, 0.9)])
def test_the_triangular_point_of_a_light_planet_is_found_on_its_ring(mu, start):
    """Beside the sun's, a planet's pull is next to nothing: a ring that hardly slopes."""
    x, y = st.coordinates("x y")
    far, near = (st.sqrt((x + shift) ** 2 + y**2) for shift in (mu, mu - 1))
    plane = st.System(
        kinetic=((x.dot - y) ** 2 + (y.dot + x) ** 2) / 2, potential=-(1 - mu) / far - mu / near
    )
    rest = st.statics(plane, start=dict(zip((x, y), start)), kind="any")
    # Along the ring forces are mu times as stiff.
    assert rest[x] == pytest.approx(0.5 - mu, abs=1e-15 / mu)
    assert rest[y] == pytest.approx(np.sqrt(3) / 2, abs=1e-15 / mu)
    assert rest.stability == "marginally stable"


@pytest.mark.parametrize("unit", [1e-9, 1.0])
@pytest.mark.parametrize(
    ("first", "others", "word"),
    [(1.0, 1.0, "stable"), (1.0, 0.0, "stable"), (-1.0, 1.0, "stability not decided")],
)
def test_damping_of_many_is_judged_by_its_sign_where_all_of_it_is_alike_too(
    first, others, word, unit
):
    r = st.coordinates("r", shape=(200,))
    row = st.System(
        kinetic=st.each(lambda v: (v / unit) ** 2, r.dot),
        potential=st.each(lambda a, b: 50 * ((a - b) / unit) ** 2 + (a / unit) ** 2, r[:-1], r[1:]),
        dissipation=st.each(lambda v: first * (v / unit) ** 2, r.dot[:1])
        + st.each(lambda v: others * (v / unit) ** 2, r.dot[1:]),
    )
    assert st.statics(row).stability == word
