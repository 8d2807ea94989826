"""Rest where it is hard to find: flat points, far minima, endless energies, contacts, samples."""

from dataclasses import replace

import numpy as np
import pytest

import stationary as st
from stationary.errors import DerivationError, DidNotConverge
from tests.solve.test_statics import chain, sagging

x, y, theta = st.coordinates("x y theta")
m, l, g, k = st.parameters(m=1.0, l=1.0, g=9.81, k=10.0)  # noqa: E741 (l, as on the slides)
tau, F = st.inputs("tau F")

# -- points without stiffness ----------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("start", [1.0, 1e-3, -1.0])
@pytest.mark.parametrize("energy", [x**3, 1e3 + x**3, x**5, x**3 + y**2])
def test_an_inflection_is_no_minimum_and_the_energy_below_it_has_no_bottom(energy, start):
    with pytest.raises(DidNotConverge) as caught:
        st.statics(st.System(potential=energy), start={x: start})
    assert caught.value.status == "unbounded"
    assert "goes down for ever along 'x'" in str(caught.value)


def test_a_start_on_an_inflection_is_refused_and_taken_when_asked():
    cubic = st.System(potential=x**3)
    with pytest.raises(DidNotConverge) as caught:
        st.statics(cubic)
    assert caught.value.status == "saddle"
    assert "without stiffness, and less energy beside it" in str(caught.value)
    rest = st.statics(cubic, kind="any")
    assert rest[x] == 0.0 and not rest.stable


@pytest.mark.parametrize("start", [1.0, 1e-9, 0.0])
@pytest.mark.parametrize("power", [4, 6])
def test_a_minimum_without_stiffness_is_one(power, start):
    rest = st.statics(st.System(potential=x**power), start={x: start})
    assert rest.stable and abs(rest[x]) < 1e-12
    # It is no family either: there is one bottom.
    assert len(rest.free) == 0


def test_the_energy_may_fall_between_two_flat_directions():
    # x³y + y⁴ is zero along x, rises along y, and falls where x = −2y.
    saddle = st.System(potential=x**3 * y + y**4)
    assert not st.statics(saddle, kind="any").stable


def test_an_inflection_on_a_constraint_is_examined_along_it():
    # On the circle the energy is sin³φ: flat at φ = 0 and no minimum; it is at φ = −π/2.
    circle = st.Constraint(x**2 + y**2 - 1, name="circle")
    system = st.System(potential=y**3, constraints=[circle])
    flat = st.statics(system, start={x: 1.0}, kind="any")
    assert flat[x] == 1.0 and not flat.stable
    rest = st.statics(system, start={x: 1.0, y: 0.3})
    assert (rest[x], rest[y]) == pytest.approx((0.0, -1.0), abs=1e-10) and rest.stable


def test_a_search_that_meets_a_saddle_goes_on_to_a_minimum():
    # From (1, 0) all steps go along y = 0, to the saddle at the origin.
    rest = st.statics(st.System(potential=x**2 - y**2 + y**4), start={x: 1.0})
    assert rest.stable and rest.energy == pytest.approx(-0.25, rel=1e-13)


# -- near and far ----------------------------------------------------------------------------------

swing = st.System(potential=-st.cos(theta))


@pytest.mark.parametrize("angle", [0.5, 1.5, 1.57, 1.58, 1.7, 2.0, 2.5, 3.0, 3.1, 3.14])
def test_a_pendulum_falls_to_the_bottom_on_its_own_side(angle):
    for side in (1, -1):
        rest = st.statics(swing, start={theta: side * angle})
        assert rest[theta] == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("angle", [0.5, 1.2, 1.5, 1.57, 1.58, 1.7, 2.5])
def test_any_equilibrium_is_one_of_the_two_around_the_start(angle):
    rest = st.statics(swing, start={theta: angle}, kind="any")
    assert min(abs(rest[theta]), abs(rest[theta] - np.pi)) < 1e-10


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e12])
def test_rest_does_not_depend_on_the_unit_of_energy(unit):
    rest = st.statics(st.System(potential=-unit * st.cos(theta)), start={theta: 1.0})
    assert rest[theta] == pytest.approx(0.0, abs=1e-10) and rest.stable
    assert rest.inertia == (1, 0, 0) and rest.eigenvalues == pytest.approx([unit])


# -- energies that go down for ever ----------------------------------------------------------------


@pytest.mark.parametrize("torque", [9.82, 10.0, 100.0])
def test_a_torque_that_no_weight_holds_is_named_with_its_direction(torque):
    pendulum = st.System(potential=m * g * l * (1 - st.cos(theta)), loads=[st.Load(tau, on=theta)])
    with pytest.raises(DidNotConverge) as caught:
        st.statics(pendulum, inputs={tau: torque})
    assert caught.value.status == "unbounded"
    assert str(caught.value).startswith("the energy goes down for ever along 'theta'.")
    # One that it just holds is held: sin θ = τ/mgl.
    rest = st.statics(pendulum, inputs={tau: 9.80})
    assert rest[theta] == pytest.approx(np.arcsin(9.80 / 9.81), rel=1e-10)


@pytest.mark.parametrize("energy", [1 / x, -st.log(x), -(x**2) / (1 + x**2)])
def test_a_force_that_fades_with_distance_never_lets_go(energy):
    with pytest.raises(DidNotConverge) as caught:
        st.statics(st.System(potential=energy), start={x: 1.0})
    assert caught.value.status == "unbounded"


# -- contacts --------------------------------------------------------------------------------------

stop = st.System(
    kinetic=theta.dot**2 / 2, potential=-st.cos(theta), contacts=[st.Contact(theta - 1, name="w")]
)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("spring", [0.0, 1e-2])
def test_a_table_that_stands_where_it_starts_rests_on_legs_that_only_push(unit, spring):
    # Its weight is over (e, e), and the legs (±1, ±1) have the moments of it about both axes.
    z, a, b = st.coordinates("z a b")
    corners, e = [(i, j) for i in (-1, 1) for j in (-1, 1)], 0.9
    table = st.System(
        potential=z + e * unit * (a + b) + spring * z**2 / unit / 2,
        contacts=[st.Contact(z + unit * (i * a + j * b), name=f"{i}{j}") for i, j in corners],
    )
    rest = st.statics(table)
    push = np.array([rest.lam[f"{i}{j}"] for i, j in corners])
    assert np.all(push >= 0)
    assert np.append(push @ corners, push.sum()) == pytest.approx([e, e, 1.0], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_in_a_corner_of_more_walls_than_are_needed_all_push(seed):
    # U = r²/2 − f·r is least at the origin where f presses into the corner: f = Σ −push wall.
    rng, (x, y, z) = np.random.default_rng(seed), st.coordinates("x y z")
    for _ in range(4):
        walls = rng.standard_normal((5, 3)) * 10.0 ** rng.uniform(-1, 1, (5, 1))
        force = -rng.uniform(0, 1, 5) @ walls
        corner = st.System(
            potential=1e9 * ((x**2 + y**2 + z**2) / 2 - force @ [x, y, z]),
            contacts=[st.Contact(wall @ [x, y, z], name=f"{k}") for k, wall in enumerate(walls)],
        )
        rest = st.statics(corner, start=dict(zip((x, y, z), rng.standard_normal(3))))
        push = np.array([rest.lam[f"{k}"] for k in range(5)])
        assert np.all(push >= 0)
        assert push @ walls == pytest.approx(-1e9 * force, rel=1e-7, abs=1.0)


def test_any_equilibrium_leans_on_a_contact_or_stands_free():
    lean = st.statics(stop, start={theta: 0.5}, kind="any")
    assert lean[theta] == pytest.approx(1.0) and lean.stable
    assert lean.lam["w"] == pytest.approx(np.sin(1.0), rel=1e-13)
    free = st.statics(stop, start={theta: 2.0}, kind="any")
    assert free[theta] == pytest.approx(np.pi) and not free.stable and free.lam["w"] == 0.0


def test_all_equilibria_lean_on_contacts_or_stand_free():
    found = st.equilibria(stop, within={theta: (-1, 7)})
    assert [rest[theta] for rest in found] == pytest.approx([1.0, np.pi, 2 * np.pi])
    assert [rest.stable for rest in found] == [True, False, True]
    # A contact only pushes: it does not hold what hangs behind it.
    assert [rest.lam["w"] for rest in found] == pytest.approx([np.sin(1.0), 0, 0], abs=1e-12)


def test_a_contact_holds_one_side_of_a_circle_only():
    bead = st.System(
        potential=y,
        constraints=[st.Constraint(x**2 + y**2 - 1, name="wire")],
        contacts=[st.Contact(x - 0.5, name="wall")],
    )
    found = st.equilibria(bead, within={x: (-2, 2), y: (-2, 2)})
    assert [(rest[x], rest[y]) for rest in found] == [pytest.approx((0.5, -np.sqrt(0.75)))]
    assert found[0].lam["wall"] > 0


def test_small_motions_keep_to_the_contacts_that_push():
    # In the bowl y = x² the energy is (mg + k/2) x²: ω² = (2mg + k)/m at the bottom.
    bowl = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        potential=m * g * y + k * x**2 / 2,
        contacts=[st.Contact(y - x**2, name="bowl"), st.Contact(5 - x, name="wall")],
    )
    rest = st.statics(bowl, start={x: 0.3, y: 1.0}, params={m: 3.0})
    lin = st.linearize(bowl, at=rest)
    assert lin.frequencies == pytest.approx([np.sqrt((2 * 3 * 9.81 + 10) / 3)], rel=1e-12)
    assert lin.states == ("x", "x.dot")


def test_a_contact_that_touches_and_does_not_push_has_no_linear_motion():
    edge = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, contacts=[st.Contact(x, name="edge")]
    )
    with pytest.raises(DerivationError, match="contact 'edge' touches and does not push"):
        st.linearize(edge, at=st.statics(edge, start={x: 1.0}))
    with pytest.raises(DerivationError, match="whether contact 'edge' is open or closed"):
        st.linearize(edge, at={x: 0.0})


def test_contacts_hold_loads_that_have_no_stated_energy():
    # The spring is a load; the bowl and the stop push where it would go through.
    system = st.System(
        potential=y,
        loads=[st.Load(-3 * x, on=x)],
        contacts=[st.Contact(y - x**2, name="bowl"), st.Contact(x - 0.5, name="stop")],
    )
    rest = st.statics(system, start={x: 1.0, y: 1.2})
    assert (rest[x], rest[y]) == pytest.approx((0.5, 0.25))
    # −3x − 2x μ + ν = 0 with μ = 1.
    assert (rest.lam["bowl"], rest.lam["stop"]) == pytest.approx((1.0, 2.5))


# -- rows that say nothing new, in large systems ---------------------------------------------------


@pytest.mark.parametrize("links", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_rows_that_say_nothing_new_are_named_in_chains_of_any_length(links):
    r, plain = chain(links)
    h = next(p for p in plain.parameters if p.name == "h")
    mid = links // 2
    legs = [r[mid + 1, i] - r[mid, i] for i in (0, 1)]
    again = st.Constraint(2 * (st.sqrt(legs[0] ** 2 + legs[1] ** 2) - h), name="again")
    double = replace(plain, constraints=(*plain.constraints, again))
    single, rest = (st.statics(s, start={r: sagging(links)}) for s in (plain, double))
    assert rest.redundant == ("again",)
    assert rest[r] == pytest.approx(single[r], abs=1e-12)
    assert rest.stable and rest.inertia == single.inertia == (links - 2, 0, 0)
    assert rest.residual["force"] < 1e-12
    # The tension T of the link is shared as λ + 2λ' = T, smallest in the mean: T/5 and 2T/5.
    tension = single.lam["link"][mid]
    assert rest.lam["link"][mid] == pytest.approx(tension / 5, rel=1e-9)
    assert rest.lam["again"] == pytest.approx(2 * tension / 5, rel=1e-9)


@pytest.mark.parametrize("links", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_rows_that_contradict_each_other_are_named_in_chains_of_any_length(links):
    r, plain = chain(links)
    h = next(p for p in plain.parameters if p.name == "h")
    mid = links // 2
    legs = [r[mid + 1, i] - r[mid, i] for i in (0, 1)]
    longer = st.Constraint(st.sqrt(legs[0] ** 2 + legs[1] ** 2) - 2 * h, name="longer")
    with pytest.raises(DidNotConverge) as caught:
        st.statics(
            replace(plain, constraints=(*plain.constraints, longer)), start={r: sagging(links)}
        )
    assert f"'link[{mid}]'" in str(caught.value) and "'longer'" in str(caught.value)


# -- inputs ----------------------------------------------------------------------------------------

driven = st.System(kinetic=x.dot**2 / 2, potential=2 * x**2, loads=[st.Load(F, on=x)])
SAMPLES = ([0.0, 1.0, 3.0], [0.0, 2.0, 8.0])


@pytest.mark.parametrize(
    ("t", "force"), [(0.0, 0.0), (0.25, 0.5), (1.0, 2.0), (2.0, 5.0), (3.0, 8.0)]
)
def test_samples_are_interpolated_at_their_time(t, force):
    rest = st.statics(driven, inputs={F: SAMPLES}, t=t)
    assert rest[x] == pytest.approx(force / 4, rel=1e-14, abs=1e-15)
    assert rest.inputs == {"F": pytest.approx(force)}
    st.linearize(driven, at={x: force / 4}, inputs={F: SAMPLES}, t=t)
    assert st.linearize(driven, at=rest).frequencies == pytest.approx([2.0])


def test_an_input_after_samples_keeps_its_own_value():
    both = st.System(
        kinetic=x.dot**2 / 2 + y.dot**2 / 2, potential=2 * x**2 + y**2 / 2
    ) + st.System(loads=[st.Load(F, on=x), st.Load(tau, on=y)])
    given = {F: SAMPLES, tau: 3.0}
    rest = st.statics(both, inputs=given, t=2.0)
    assert (rest[x], rest[y]) == pytest.approx((1.25, 3.0))
    st.linearize(both, at={x: 1.25, y: 3.0}, inputs=given, t=2.0)


def test_a_load_that_has_a_potential_has_an_energy():
    # W = −5x² + x³/3 from x = 0: what is stated as a force is found by its work.
    system = st.System(potential=-2 * x, loads=[st.Load(-k * x + x**2, on=x)])
    rest = st.statics(system)
    assert rest.energy == pytest.approx(
        5 * rest[x] ** 2 - rest[x] ** 3 / 3 - 2 * rest[x], rel=1e-12
    )
    swirl = st.System(potential=k * (x**2 + y**2) / 2, loads=[st.Load((1 - y, x), on=(x, y))])
    assert st.statics(swirl).energy is None


# -- stability without energy ----------------------------------------------------------------------


def test_a_column_that_flutters_is_not_at_rest_though_no_stiffness_is_negative():
    # EQ-ZIEGLER: it flutters above 7/2 − √2, and has no other equilibrium at any load.
    P = st.parameters(P=1.0)
    a, b = st.coordinates("a b")
    column = st.System(
        kinetic=(3 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * st.cos(a - b)) / 2,
        potential=a**2 / 2 + (b - a) ** 2 / 2,
        loads=[st.Load(P * st.sin(a - b), on=a)],
    )
    critical = 2.0857864376269049512
    assert st.statics(column, params={P: critical - 1e-4}).stable
    assert not st.statics(column, params={P: critical + 1e-4}).stable
    # Without inertia only the stiffness counts, and it is that of a stable spring.
    assert st.statics(replace(column, kinetic=0), params={P: critical + 1e-4}).stable


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1e-8, 1.0])
@pytest.mark.parametrize("count, shift", [(17, 1e3), (53, 30.0), (53, 3e3)])
def test_a_ring_of_springs_floats_wherever_its_origin_is(count, shift, unit):
    # As many ways to be stretched as springs, and all others are free.
    r, rng = st.coordinates("r", shape=(count, 2)), np.random.default_rng(count)
    angle = 2 * np.pi * np.arange(count) / count
    around = unit * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rest = 1.6 * unit * np.sin(np.pi / count)

    def spring(a, b):
        return (st.norm(b - a) - rest) ** 2 / (2 * unit)

    ring = st.System(potential=st.each(spring, r[:-1], r[1:]) + spring(r[0], r[count - 1]))
    start = around * (1 + 0.1 * rng.standard_normal((count, 1))) + shift * unit
    floats = st.statics(ring, start={r: start})
    assert floats.stable and floats.inertia == (count, 0, count) and len(floats.free) == count
    lengths = np.linalg.norm(np.roll(floats[r], -1, axis=0) - floats[r], axis=1)
    assert lengths == pytest.approx(rest, rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_a_long_row_of_springs_sags_by_many_times_what_one_of_them_does(unit):
    # The k-th of n weights hangs w (n k − k (k − 1)/2) below; the stiffness least is a sine's.
    n = 8000
    x, k = st.coordinates("x", shape=(n,)), np.arange(1, n + 1)
    springs = st.each(lambda a, b: (b - a) ** 2 / (2 * unit**2), x[:-1], x[1:])
    weights = st.each(lambda a: -0.1 * a / unit, x)
    rest = st.statics(st.System(potential=springs + x[0] ** 2 / (2 * unit**2) + weights))
    assert rest.stable and rest.inertia == (n, 0, 0)
    np.testing.assert_allclose(rest.q, 0.1 * unit * (n * k - k * (k - 1) / 2), rtol=1e-12)
    least = (2 * np.sin(np.pi / (4 * n + 2)) / unit) ** 2
    assert rest.eigenvalues[0] == pytest.approx(least, rel=1e-6)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
def test_eigenvalues_of_a_row_that_crowd_have_their_least_and_their_signs(sign, unit):
    # Pendulums side by side, hung or stood up, and coupled: all stiffnesses near the least.
    n = 4000
    a = st.coordinates("a", shape=(n,))
    each = st.each(lambda b: -sign * unit * st.cos(b), a)
    row = st.System(
        potential=each + st.each(lambda b, c: 0.01 * unit * (c - b) ** 2 / 2, a[:-1], a[1:])
    )
    rest = st.statics(row, kind="any")
    assert rest.inertia == ((n, 0, 0) if sign > 0 else (0, n, 0))
    assert rest.eigenvalues[0] == pytest.approx(sign * unit, rel=1e-8)
    assert bool(rest.stable) == (sign > 0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("stiffness", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("start", [(1, 0), (-0.1, 2), (0.5, 0.5)])
def test_a_pendulum_on_a_stiff_spring_hangs_from_any_start(start, stiffness, unit):
    energy = stiffness * (st.sqrt(x**2 + y**2) / unit - 1) ** 2 / 2 + y / unit
    rest = st.statics(st.System(potential=energy), start={x: start[0] * unit, y: start[1] * unit})
    # A force of one unit of rounding turns it by the inverse of the smaller stiffness.
    turned = 64 * np.finfo(float).eps * max(stiffness, 1.0)
    assert abs(rest[x]) <= turned * unit
    np.testing.assert_allclose(rest[y], -(1 + 1 / stiffness) * unit, atol=turned**2 * unit)
    assert rest.stable and rest.steps < 150


@pytest.mark.parametrize("unit", [1.0, 3.7e-9, 3.7e9])
def test_a_start_across_a_spring_at_its_natural_length_tells_no_length(unit):
    # Of its stiffness there nothing is left but the rounding of 1 − 1, which is no measure.
    energy = 1e4 * (st.sqrt((x / unit) ** 2 + (y / unit) ** 2) - 1) ** 2 / 2 + y / unit
    rest = st.statics(st.System(potential=energy), start={x: unit, y: 0.0})
    assert rest.inertia == (2, 0, 0) and rest[y] / unit == pytest.approx(-1.0001)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_rows_that_hold_what_has_no_stiffness_at_all_leave_it_flat(unit):
    z = st.coordinates("z")
    energy = sum((q / unit) ** 4 for q in (x, y, z))
    flat = st.System(potential=energy, constraints=[(x + 2 * y - z) / unit])
    assert st.statics(flat).inertia == (0, 0, 2)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("stiff", [1e4, 1e8, 1e10, 1e12])
def test_a_stiff_spring_between_two_leaves_them_where_the_well_is(stiff, unit):
    """U = k(x − y)²/2 + y⁴/4 − y²/2 rests at x = y = ±1 and falls from 0, however large k is."""
    x, y = st.coordinates("x y")
    well = (y / unit) ** 4 / 4 - (y / unit) ** 2 / 2
    system = st.System(potential=stiff * ((x - y) / unit) ** 2 / 2 + well)
    for begin in (0.1, 0.7, 1.3):
        rest = st.statics(system, start={x: begin * unit, y: begin * unit})
        # A last digit of x − y is a force of k times as much.
        assert rest[y] == pytest.approx(unit, rel=max(1e-9, 4e-16 * stiff * 1e-2))
        assert rest.stable
    top = st.statics(system, kind="any")
    assert top[y] == 0 and not top.stable


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("unit", "far"),
    [(1e-9, 0), (1e-3, 100), (0.03, 12_440), (1.0, 0), (1.0, 12_000), (1e9, 1), (1e9, 100)],
)
@pytest.mark.parametrize("angles", [(0.3, 0.2, 0.4), (0.3, 0.3, 0.3), (0.1, 0.5, -0.2)])
def test_a_platform_on_three_cranks_rests_where_its_rows_are_straight(angles, unit, far):
    # X − l sin θ has no curvature at θ = 0, where it hangs; two of the six rows are redundant.
    # In its one freedom U = −m g l cos θ, over moves (θ, θ, θ, lθ) of the four that move.
    X, Y = st.coordinates("X Y")
    thetas = st.coordinates("theta1 theta2 theta3")
    rows = [row for k, a in enumerate(thetas) for row in (
        st.Constraint(X - far * unit - unit * st.sin(a), name=f"x{k}"),
        st.Constraint(Y - far * unit + unit * st.cos(a), name=f"y{k}"),
    )]  # fmt: skip
    platform = st.particle(1.0, at=(X, Y), gravity=9.81) + st.System(constraints=rows)
    start = {X: far * unit, Y: (far - 1) * unit, **dict(zip(thetas, angles))}
    rest = st.statics(platform, start=start)
    assert [rest[a] for a in thetas] == pytest.approx([0, 0, 0], abs=1e-9)
    assert rest.stable and rest.inertia == (1, 0, 0)
    assert rest.eigenvalues == pytest.approx([9.81 * unit / (3 + unit**2)], rel=1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1e-9, 1.0])
@pytest.mark.parametrize(("away", "kind"), [(1e3, "any"), (1e6, "minimum"), (-1e6, "minimum")])
def test_a_long_slope_with_ripples_is_gone_down_to_its_end(unit, away, kind):
    # None of the ripples holds: √(1 + x²) is ten times as steep.
    x = st.coordinates("x")
    slope = st.System(potential=st.sqrt(1 + (x / unit) ** 2) + 0.1 * st.cos(x / unit))
    rest = st.statics(slope, start={x: away * unit}, kind=kind)
    assert rest[x] == pytest.approx(0, abs=1e-12 * unit) and rest.stability == "stable"
    assert rest.steps < 600


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1e-9, 1.0])
@pytest.mark.parametrize("start", [0.7, -0.4])
def test_where_forces_have_only_faded_away_nothing_rests(unit, start):
    # tanh and a bell go down for ever, by less than any number far out: that is no family at rest.
    x, y = st.coordinates("x y")
    for energy in (st.tanh(-x / unit), st.exp(-((x / unit) ** 2)) + (y / unit) ** 2):
        begin = {x: start * unit}
        found = st.statics(st.System(potential=energy), start=begin, throw=False)
        assert found.status != "balanced"
