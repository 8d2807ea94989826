"""Branches of equilibria over a parameter: folds, pitchforks, crossings and Hopf points."""

import numpy as np
import pytest

import stationary as st
from stationary.errors import StationaryError

x, y, theta = st.coordinates("x y theta")
g = st.parameters(g=9.81)
mu = st.parameters(mu=0.0)
P = st.parameters(P=0.0)


def kinds(diagram):
    return [point.kind for point in diagram.special]


def only(diagram, kind):
    return [point.parameter for point in diagram.special if point.kind == kind]


def side_branches(diagram):
    return diagram.branches[1:]


# -- the bead on a hoop ----------------------------------------------------------------------------

Omega = st.parameters(Omega=1.0)
hoop = st.System(
    kinetic=(theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
    potential=g * (1 - st.cos(theta)),
    name="bead on a hoop",
)


@pytest.fixture(scope="module")
def bead():
    return st.continuation(hoop, parameter=Omega, span=(0, 10))


def test_the_bead_leaves_the_bottom_where_centrifugal_force_equals_weight(bead):
    # EQ-HOOP of references.md: ω_c = √(g/R).
    assert kinds(bead) == ["pitchfork"]
    assert bead.special[0].parameter == pytest.approx(3.1320919526731650539, abs=1e-10)
    assert bead.special[0][theta] == pytest.approx(0.0, abs=1e-10)


def test_the_side_branches_of_the_hoop_obey_the_slides(bead):
    assert len(side_branches(bead)) == 2
    for branch in side_branches(bead):
        assert np.cos(branch[theta]) == pytest.approx(9.81 / branch.parameter**2, rel=1e-12)
        assert np.all(branch.stable[1:])
    ends = sorted(branch[theta][-1] for branch in side_branches(bead))
    assert ends == pytest.approx([-np.arccos(0.0981), np.arccos(0.0981)], rel=1e-12)


def test_the_bottom_is_stable_before_the_pitchfork_and_not_after(bead):
    trunk = bead.branches[0]
    assert trunk[theta] == pytest.approx(np.zeros(len(trunk)), abs=1e-12)
    assert np.array_equal(trunk.stable, trunk.parameter < 3.1320919526731650539)


def test_branches_end_exactly_at_the_limits_of_the_span(bead):
    trunk = bead.branches[0]
    assert (trunk.parameter[0], trunk.parameter[-1]) == (0.0, 10.0)
    assert all(branch.parameter[-1] == 10.0 for branch in side_branches(bead))
    assert all(branch.status == "span" for branch in bead.branches)
    assert all(np.all(np.diff(branch.parameter) >= 0) for branch in bead.branches)


def test_the_hoop_turning_either_way_has_two_pitchforks():
    found = st.continuation(hoop, parameter=Omega, span=(-6, 6))
    critical = np.sqrt(9.81)
    assert only(found, "pitchfork") == pytest.approx([-critical, critical], abs=1e-10)
    assert len(side_branches(found)) == 4


def test_a_branch_can_start_on_the_pitchfork_itself():
    found = st.continuation(
        hoop, parameter=Omega, span=(0, 6), params={Omega: 3.1320919526731650539}
    )
    assert only(found, "pitchfork") == pytest.approx([np.sqrt(9.81)], abs=1e-10)
    assert len(side_branches(found)) == 2


def test_the_top_of_the_hoop_stays_unstable_and_alone():
    found = st.continuation(hoop, parameter=Omega, span=(0, 10), start={theta: 3.0})
    assert found.special == [] and len(found.branches) == 1
    assert found.branches[0][theta] == pytest.approx(np.full(len(found.branches[0]), np.pi))
    assert not np.any(found.branches[0].stable)


def test_the_side_branch_finds_the_trunk_when_it_is_the_start():
    rest = st.statics(hoop, start={theta: 1.2}, params={Omega: 5.0})
    found = st.continuation(hoop, parameter=Omega, span=(0, 10), start=rest)
    assert only(found, "pitchfork") == pytest.approx([np.sqrt(9.81)], abs=1e-10)
    # The branch of the start goes through to its mirror image; the bottom leaves it both ways.
    reached = [branch[theta][[0, -1]] for branch in found.branches]
    assert any(
        np.allclose(np.sort(ends), [-np.arccos(0.0981), np.arccos(0.0981)]) for ends in reached
    )
    assert sum(np.abs(branch[theta]).max() < 1e-9 for branch in found.branches) >= 1


def test_a_hoop_with_a_coordinate_that_nothing_depends_on_has_the_same_diagram():
    free = hoop + st.System(kinetic=x.dot**2 / 2)
    found = st.continuation(free, parameter=Omega, span=(0, 10))
    assert only(found, "pitchfork") == pytest.approx([np.sqrt(9.81)], abs=1e-10)
    assert found.branches[0].parameter[-1] == 10.0


# -- snap-through ----------------------------------------------------------------------------------

# EQ-VONMISES of references.md, α = 30°.
LIMIT, ANGLE = 0.055300901358315112697, 0.30719903042425495707
WIDE = np.cos(np.pi / 6)


def test_a_shallow_truss_snaps_at_the_two_published_loads():
    truss = st.System(potential=(WIDE / st.cos(theta) - 1) ** 2, work=-P * WIDE * st.tan(theta))
    found = st.continuation(truss, parameter=P, span=(-0.1, 0.1), start={theta: np.pi / 6})
    assert kinds(found) == ["fold", "fold"]
    assert only(found, "fold") == pytest.approx([-LIMIT, LIMIT], abs=1e-10)
    angles = [point[theta] for point in found.special]
    assert angles == pytest.approx([-ANGLE, ANGLE], abs=1e-7)
    branch = found.branches[0]
    load = 2 * (np.sin(branch[theta]) - WIDE * np.tan(branch[theta]))
    assert branch.parameter == pytest.approx(load, abs=1e-12)
    # Between the folds it is unstable, elsewhere stable.
    assert np.array_equal(branch.stable, np.abs(branch[theta]) > ANGLE)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("stiffness", "length"), [(1e6, 0.05), (1e-3, 1.0), (2e11, 1e-3)], ids=["steel", "weak", "tiny"]
)
@pytest.mark.parametrize("coordinate", ["angle", "height"])
def test_folds_do_not_depend_on_the_units_of_load_and_length(stiffness, length, coordinate):
    k, bar = st.parameters(k=stiffness, l0=length)
    half = bar * WIDE
    if coordinate == "angle":
        truss = st.System(
            potential=k * (half / st.cos(theta) - bar) ** 2, work=-P * half * st.tan(theta)
        )
        start = {theta: np.pi / 6}
    else:
        truss = st.System(potential=k * (st.sqrt(half**2 + y**2) - bar) ** 2, work=-P * y)
        start = {y: length / 2}
    limit = LIMIT * stiffness * length
    found = st.continuation(
        truss, parameter=P, span=(-2 * limit, 2 * limit), start=start, points=800, seconds=20
    )
    assert only(found, "fold") == pytest.approx([-limit, limit], rel=1e-9)


# -- buckling --------------------------------------------------------------------------------------


def column(links, pinned=False):
    """EQ-BUCKLING-LINKS: unit links, unit springs at the base and at the joints; P presses."""
    a = [st.coordinates(f"a{i}") for i in range(links)]
    bends = [a[0], *(b - c for b, c in zip(a[1:], a[:-1]))]
    return a, st.System(
        kinetic=sum(angle.dot**2 for angle in a) / 2,
        potential=sum(bend**2 for bend in bends) / 2,
        work=P * sum(1 - st.cos(angle) for angle in a),
    )


@pytest.mark.parametrize("links", [1, 2, 3, pytest.param(5, marks=pytest.mark.slow)])
def test_all_buckling_loads_of_a_column_of_links_are_branch_points(links):
    _, system = column(links)
    found = st.continuation(system, parameter=P, span=(0, 4.2), points=400)
    turns = (2 * np.arange(1, links + 1) - 1) * np.pi / (2 * (2 * links + 1))
    assert kinds(found).count("pitchfork") >= links
    straight = [s.parameter for s in found.special if np.abs(s.q).max() < 1e-8]
    assert straight == pytest.approx(4 * np.sin(turns) ** 2, abs=1e-10)
    # references.md: the first of them.
    first = {
        1: 1.0,
        2: 0.3819660112501051518,
        3: 0.19806226419516174753,
        5: 0.081014052771005220219,
    }
    assert straight[0] == pytest.approx(first[links], abs=1e-10)


def test_a_buckled_link_follows_its_closed_form():
    (angle,), system = column(1)
    found = st.continuation(system, parameter=P, span=(0, 3))
    assert len(side_branches(found)) == 2
    for branch in side_branches(found):
        tilt = branch[angle][1:]
        assert branch.parameter[1:] == pytest.approx(tilt / np.sin(tilt), rel=1e-12)
        assert np.all(branch.stable[1:])


def test_modes_of_a_column_grow_unstable_one_after_the_other():
    _, system = column(3)
    found = st.continuation(system, parameter=P, span=(0, 4))
    trunk = found.branches[0]
    turns = (2 * np.arange(1, 4) - 1) * np.pi / 14
    loads = 4 * np.sin(turns) ** 2
    assert np.array_equal(trunk.unstable, (trunk.parameter[:, None] > loads).sum(axis=1))
    assert len(side_branches(found)) >= 6


@pytest.mark.slow
def test_a_column_in_cartesian_coordinates_buckles_as_in_angles():
    x1, y1, x2, y2 = st.coordinates("x1 y1 x2 y2")
    low, high = st.atan2(x1, y1), st.atan2(x2 - x1, y2 - y1)
    system = st.System(
        kinetic=sum(c.dot**2 for c in (x1, y1, x2, y2)) / 2,
        potential=low**2 / 2 + (high - low) ** 2 / 2,
        work=-P * y2,
        constraints=[
            st.Constraint(x1**2 + y1**2 - 1, name="lower"),
            st.Constraint((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1, name="upper"),
        ],
    )
    found = st.continuation(system, parameter=P, span=(0, 3), start={y1: 1, y2: 2})
    angles = st.continuation(column(2)[1], parameter=P, span=(0, 3))
    exact = [0.3819660112501051518, 2.6180339887498948482]
    assert only(found, "pitchfork") == pytest.approx(exact, abs=1e-10)
    assert len(found.branches) == len(angles.branches) == 5
    # λ is the force along ∂R/∂q, 2λ on a link of length one: it pushes back with P.
    trunk = found.branches[0]
    assert 2 * trunk.forces()["upper"] == pytest.approx(trunk.parameter, abs=1e-12)
    by_angle = [b["a1"][-1] for b in side_branches(angles) if b.stable[-1]]
    by_place = [
        np.arctan2(b["x2"][-1] - b["x1"][-1], b["y2"][-1] - b["y1"][-1])
        for b in side_branches(found)
        if b.stable[-1]
    ]
    assert sorted(by_place) == pytest.approx(sorted(by_angle), abs=1e-9)


def test_a_mode_that_comes_twice_is_not_passed_by():
    # A post that can lean in two directions: both modes vanish at the same load.
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(1 - P) * (x**2 + y**2) / 2 + (x**2 + y**2) ** 2 / 4,
    )
    found = st.continuation(system, parameter=P, span=(0, 2))
    assert [point.parameter for point in found.special] == pytest.approx([1.0], abs=1e-10)


# -- normal forms ----------------------------------------------------------------------------------


def test_branches_that_cross_at_an_angle_are_both_followed():
    # Transcritical: x = 0 and x = μ exchange their stability.
    system = st.System(potential=-mu * x**2 / 2 + x**3 / 3)
    found = st.continuation(system, parameter=mu, span=(-1, 1), params={mu: -1.0})
    assert kinds(found) == ["branch"]
    assert found.special[0].parameter == pytest.approx(0.0, abs=1e-10)
    slanted = [b for b in side_branches(found) if np.allclose(b[x], b.parameter, atol=1e-10)]
    ends = sorted(branch.parameter[-1] for branch in slanted)
    assert ends == pytest.approx([-1.0, 1.0])
    for branch in slanted:
        away = np.abs(branch.parameter) > 1e-6
        assert np.array_equal(branch.stable[away], branch.parameter[away] > 0)


def test_an_imperfect_pitchfork_has_a_smooth_branch_and_a_fold():
    eps = st.parameters(eps=0.01)
    system = st.System(potential=x**4 / 4 - mu * x**2 / 2 - eps * x)
    smooth = st.continuation(system, parameter=mu, span=(-1, 1), params={mu: -1.0})
    assert smooth.special == [] and np.all(smooth.branches[0].stable)
    other = st.continuation(system, parameter=mu, span=(-1, 1), params={mu: 1.0}, start={x: -1.0})
    assert kinds(other) == ["fold"]
    # μ = 3 (ε/2)^⅔ where x³ − μx = ε has a double root.
    assert other.special[0].parameter == pytest.approx(3 * 0.005 ** (2 / 3), abs=1e-10)


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7, 1e-9])
def test_a_strut_bears_less_by_the_two_thirds_power_of_its_imperfection(eps):
    # A rigid strut held at its top by a spring that is off by ε: μ = (1 − ε/sin x) cos x is largest
    # at sin³x = ε (W. T. Koiter; Thompson and Hunt, A General Theory of Elastic Stability, ch. 6).
    strut = st.System(potential=(st.sin(x) - eps) ** 2 / 2 - mu * (1 - st.cos(x)))
    found = st.continuation(strut, parameter=mu, span=(0, 1.5), start={x: eps}, params={mu: 0.0})
    assert kinds(found) == ["fold"]
    assert found.special[0].parameter == pytest.approx((1 - eps ** (2 / 3)) ** 1.5, rel=1e-10)
    (branch,) = found.branches
    assert branch[x][[0, -1]] == pytest.approx([np.arcsin(eps), np.pi / 2], rel=1e-9)
    assert np.array_equal(branch.stable, np.sin(branch[x]) ** 3 < eps)


def test_a_subcritical_pitchfork_has_unstable_side_branches_that_turn_at_folds():
    # μx + x³ − x⁵: side branches begin at 0, turn at x² = ½, μ = −¼, and come back.
    system = st.System(potential=-mu * x**2 / 2 - x**4 / 4 + x**6 / 6)
    found = st.continuation(system, parameter=mu, span=(-0.5, 0.5), params={mu: -0.5})
    assert only(found, "pitchfork") == pytest.approx([0.0], abs=1e-10)
    assert only(found, "fold") == pytest.approx([-0.25, -0.25], abs=1e-10)
    for branch in side_branches(found):
        assert not np.any(branch.stable[np.abs(branch[x]) < np.sqrt(0.5) - 1e-6])
        assert np.all(branch.stable[np.abs(branch[x]) > np.sqrt(0.5) + 1e-6])


@pytest.mark.parametrize("reach", [2.0, 100.0], ids=["narrow span", "wide span"])
def test_a_closed_branch_ends_where_it_began(reach):
    # Equilibria on the circle x² + μ² = 1.
    system = st.System(potential=x**3 / 3 + (mu**2 - 1) * x)
    found = st.continuation(
        system, parameter=mu, span=(-reach, reach), start={x: 0.9}, params={mu: 0.1}, points=400
    )
    (branch,) = found.branches
    assert branch.status == "closed"
    assert only(found, "fold") == pytest.approx([-1.0, 1.0], abs=1e-10)
    assert branch[x] ** 2 + branch.parameter**2 == pytest.approx(np.ones(len(branch)), abs=1e-12)
    assert np.array_equal(branch.stable[1:-1], branch[x][1:-1] > 0)
    assert np.hypot(branch[x][0] - branch[x][-1], np.ptp(branch.parameter[[0, -1]])) < 1e-12


# -- bounds, forms and refusals --------------------------------------------------------------------


def test_steps_and_time_are_bounded():
    few = st.continuation(hoop, parameter=Omega, span=(0, 10), points=5)
    assert all(len(branch) <= 10 for branch in few.branches)
    assert any(branch.status == "points" for branch in few.branches)
    late = st.continuation(hoop, parameter=Omega, span=(0, 10), seconds=0.0)
    assert any(branch.status == "time" for branch in late.branches)


def test_a_smooth_branch_takes_few_points():
    found = st.continuation(column(3)[1], parameter=P, span=(0, 4))
    assert len(found.branches[0]) < 100
    assert sum(len(branch) for branch in found.branches) < 700


def test_the_parameter_may_be_named_and_the_span_turned_round(bead):
    again = st.continuation(hoop, parameter="Omega", span=(10, 0))
    assert only(again, "pitchfork") == pytest.approx(only(bead, "pitchfork"), abs=1e-12)
    assert len(again.branches) == len(bead.branches)


def test_other_parameters_keep_their_values(bead):
    moon = st.continuation(hoop, parameter=Omega, span=(0, 10), params={g: 1.62})
    assert only(moon, "pitchfork") == pytest.approx([np.sqrt(1.62)], abs=1e-10)


def test_a_constraint_may_depend_on_the_parameter():
    # A rod that grows: it hangs at y = −ℓ with the tension of its weight.
    length = st.parameters(length=1.0)
    rod = st.Constraint(x**2 + y**2 - length**2, name="rod")
    system = st.System(potential=g * y, constraints=[rod])
    found = st.continuation(system, parameter=length, span=(0.5, 2), start={y: -1})
    branch = found.branches[0]
    assert branch[y] == pytest.approx(-branch.parameter, rel=1e-12)
    assert branch.forces()["rod"] == pytest.approx(-9.81 / (2 * branch.parameter), rel=1e-12)
    assert found.special == [] and np.all(branch.stable)


def test_every_point_is_an_equilibrium_and_its_stability_that_of_statics(bead):
    rng = np.random.default_rng(0)
    for branch in bead.branches:
        for k in rng.choice(np.arange(1, len(branch)), 5, replace=False):
            rest = st.statics(
                hoop,
                start={theta: branch[theta][k]},
                params={Omega: branch.parameter[k]},
                kind="any",
            )
            assert rest[theta] == pytest.approx(branch[theta][k], abs=1e-10)
            assert rest.stable == branch.stable[k]


def test_a_diagram_prints_its_branches_and_special_points(bead):
    text = repr(bead)
    assert "Diagram over Omega: 3 branch(es)" in text
    assert "pitchfork at 3.13209195267" in text and "limit of the span" in text


def test_an_equilibrium_that_does_not_exist_is_not_continued():
    with pytest.raises(StationaryError):
        st.continuation(st.System(potential=mu * x), parameter=mu, span=(0.5, 1), params={mu: 0.7})


def test_a_branch_that_winds_for_ever_ends_after_a_turn():
    # sin θ = P: every turn has one fold at each end, and is like the one before.
    turned = st.System(potential=-st.cos(theta), work=P * theta)
    found = st.continuation(turned, parameter=P, span=(-2, 2))
    (branch,) = found.branches
    assert branch.status == "closed" and "whole turns further" in branch.status.message
    assert only(found, "fold") == pytest.approx([-1.0, 1.0], abs=1e-10)
    assert abs(branch[theta][-1] - branch[theta][0]) == pytest.approx(2 * np.pi, rel=1e-12)
    assert np.sin(branch[theta]) == pytest.approx(branch.parameter, abs=1e-12)
    assert len(branch) < 300


def test_a_branch_that_leaves_for_infinity_is_given_up_on_the_way():
    # x = 1/μ has nowhere to go at μ = 0.
    system = st.System(potential=mu * x**2 / 2 - x)
    found = st.continuation(system, parameter=mu, span=(-1, 1), params={mu: 0.5}, start={x: 2.0})
    (branch,) = found.branches
    assert branch[x] == pytest.approx(1 / branch.parameter, rel=1e-9)
    assert np.abs(branch[x]).max() > 500 and len(branch) < 1000
    assert "'x' went far away" in branch.status.message and branch.parameter[-1] == 1.0


def test_a_diagram_keeps_the_other_parameters():
    found = st.continuation(hoop, parameter=Omega, span=(0, 10), params={g: 1.62})
    assert found.params == {"g": 1.62} and "g = 1.62" in repr(found)
    side = found.branches[1]
    assert side[Omega**2 * st.cos(theta) / g][1:] == pytest.approx(np.ones(len(side) - 1))
    assert np.array_equal(side["Omega"], side.parameter)
    assert np.array_equal(side[Omega], side.parameter)


def test_an_equilibrium_hands_on_its_inputs_and_its_time():
    push = st.inputs("push")
    system = st.System(potential=mu * x**2 / 2 - st.t * x, loads=[st.Load(push, on=x)])
    rest = st.statics(system, params={mu: 1.0}, inputs={push: 2.0}, t=3.0)
    found = st.continuation(system, parameter=mu, span=(0.5, 2), start=rest)
    assert found.branches[0][x] == pytest.approx(5 / found.branches[0].parameter, rel=1e-12)


def test_an_input_that_feeds_back_bends_the_branch():
    # x + μ = F with F = 2x − x³: μ = x − x³ has its folds where 3x² = 1.
    push = st.inputs("push")
    system = st.System(potential=x**2 / 2 + mu * x, loads=[st.Load(push, on=x)])
    found = st.continuation(
        system, parameter=mu, span=(-2, 2), inputs={push: 2 * x - x**3}, start={x: 1.0}
    )
    fold = 2 / (3 * np.sqrt(3))
    assert only(found, "fold") == pytest.approx([-fold, fold], abs=1e-10)
    branch = found.branches[0]
    assert np.array_equal(branch.stable, 3 * branch[x] ** 2 > 1)


def test_equal_statements_with_parameters_in_another_order_have_one_diagram():
    def column(first, second):
        st.parameters(f"{first} {second}")
        a, b = st.parameters(zz_stiffness=2.0), st.parameters(aa_load=0.1)
        return st.System(potential=a * x**2 / 2 + b * st.cos(x))

    for order in (("zz_stiffness", "aa_load"), ("aa_load", "zz_stiffness")):
        found = st.continuation(column(*order), parameter="aa_load", span=(0, 3))
        assert only(found, "pitchfork") == pytest.approx([2.0], abs=1e-10)
        assert found.params == {"zz_stiffness": 2.0}


def test_a_branch_can_start_on_a_fold():
    system = st.System(potential=x**3 / 3 - mu * x)
    found = st.continuation(system, parameter=mu, span=(-1, 1), params={mu: 0.0})
    assert kinds(found) == ["fold"] and found.special[0].parameter == 0.0
    (branch,) = found.branches
    assert branch[x] ** 2 == pytest.approx(branch.parameter, abs=1e-12)
    assert sorted(branch[x][[0, -1]]) == pytest.approx([-1.0, 1.0])


def test_a_pitchfork_is_one_from_whichever_branch_it_is_met():
    # x + P sin x = 0 turned round: θ = P sin θ, met on the side branch.
    system = st.System(potential=x**2 / 2 + P * st.cos(x))
    for start in (0.0, 1.9, -1.9):
        found = st.continuation(system, parameter=P, span=(0, 2), start={x: start}, params={P: 2.0})
        assert kinds(found) == ["pitchfork"] and len(found.branches) == 3
        assert found.special[0].parameter == pytest.approx(1.0, abs=1e-10)


# -- units and origin ------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("length", "energy", "load", "shift"),
    [
        (1, 1, 1, 0.0), (1, 1, 1, 1e3), (1e-9, 1e-21, 1e-12, 1e3), (1e9, 1, 1e9, 0.0),
        (1, 1e12, 1e-6, 1e3),
    ],
)  # fmt: skip
def test_a_truss_snaps_at_the_same_loads_in_every_unit_and_from_every_origin(
    length, energy, load, shift
):
    # R. von Mises (1923): bars of length c over half a span of one, at height h the load is
    # 100 h (c/√(1 + h²) − 1), largest at 1 + h² = c^(2/3).
    x, a = st.coordinates("x"), st.parameters(a=0.0)
    c = np.sqrt(1.09)
    height = x / length - shift
    system = st.System(
        potential=energy * (50 * (st.sqrt(1 + height**2) - c) ** 2 + a / load * height)
    )
    diagram = st.continuation(
        system, parameter=a, span=(-2 * load, 2 * load), start={x: (shift + 0.3) * length}
    )
    h = np.sqrt(c ** (2 / 3) - 1)
    most = 100 * h * (c / np.sqrt(1 + h**2) - 1)
    assert [s.kind for s in diagram.special] == ["fold", "fold"]
    assert [s.parameter / load for s in diagram.special] == pytest.approx([-most, most], rel=1e-9)
    assert [s[x] / length - shift for s in diagram.special] == pytest.approx([-h, h], abs=1e-5)
    # As many points: steps are measured by the curve's own size.
    assert len(diagram.branches[0]) == pytest.approx(216, abs=4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("energy", [1e-200, 1e-100, 1e100, 1e250])
def test_branches_are_those_of_any_unit_of_energy(energy):
    # Nothing but a stiffness is known at the start, x = 0, and no length at all.
    mu = st.parameters("mu")
    column = st.System(potential=energy * (x**4 / 4 - mu * x**2 / 2))
    diagram = st.continuation(column, parameter=mu, span=(-1, 2))
    ends = sorted(float(branch[x][-1]) for branch in diagram.branches)
    assert ends == pytest.approx([-np.sqrt(2), 0, np.sqrt(2)], abs=1e-9)
    assert [p.kind for p in diagram.special] == ["pitchfork"]


@pytest.mark.parametrize("stiffness", [1e-9, 1.0, 1e9])
def test_a_limit_at_which_a_whole_family_rests_is_reached(stiffness):
    mu = st.parameters(mu=1.0)
    springs = st.System(potential=stiffness * (mu * (x - 1) ** 2 + y**2))
    (branch,) = st.continuation(springs, parameter=mu, span=(0, 2)).branches
    assert sorted(branch.parameter)[:1] == [0.0] and branch[x] == pytest.approx(1.0)
    assert "no point" not in branch.status.message


# -- two at once -----------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("small", "unit"), [(1e-3, 1.0), (1e-5, 1e-9), (1e-7, 1.0)])
def test_two_special_points_within_one_step_are_both_found(small, unit):
    u = x / unit - 0.37
    # µ = u³ − ε u turns at u² = ε/3, and comes back by less than a step.
    twice = st.System(potential=u**4 / 4 - small * u**2 / 2 - mu * u)
    start = {x: -0.6 * unit}
    folds = st.continuation(twice, parameter=mu, span=(-1, 1.2), start=start, params={mu: -0.9})
    size = 2 * small / 3 * np.sqrt(small / 3)
    assert kinds(folds) == ["fold", "fold"]
    assert only(folds, "fold") == pytest.approx([-size, size], rel=1e-5)
    # A stiffness, and a damping, that are negative over 2 √ε.
    lost, sides = (mu - 0.37) ** 2 - small, [0.37 - np.sqrt(small), 0.37 + np.sqrt(small)]
    x0 = x / unit
    column = st.System(potential=lost * x0**2 / 2 + x0**4 / 4)
    swing = st.System(
        kinetic=x0.diff(x) ** 2 * x.dot**2, potential=x0**2,
        dissipation=lost * x0.diff(x) ** 2 * x.dot**2,
    )  # fmt: skip
    for system, kind in ((column, "pitchfork"), (swing, "hopf")):
        diagram = st.continuation(system, parameter=mu, span=(0, 1))
        assert kinds(diagram) == [kind] * 2
        assert only(diagram, kind) == pytest.approx(sides, abs=1e-7)


@pytest.mark.parametrize("rotors", [2, 3])
def test_rotors_on_a_soft_shaft_come_back_by_turning_together(rotors):
    # No rotor can be turned round alone. The torque on all of them is 0.2 sin a: folds at ±0.2.
    q, tau = st.coordinates(f"a0:{rotors}"), st.parameters(tau=0.0)
    shaft = sum((p - r) ** 2 for p, r in zip(q, q[1:])) / 2
    held = st.System(potential=-0.2 * st.cos(q[0]) - tau * q[0] + shaft)
    diagram = st.continuation(held, parameter=tau, span=(-1, 1), start={q[0]: 0.0})
    assert sorted(s.parameter for s in diagram.special) == pytest.approx([-0.2, 0.2], abs=1e-9)
    assert [b.status for b in diagram.branches] == ["closed"]


def test_augustis_column_leans_to_both_sides_and_its_branches_end_where_it_lies_flat():
    # A rod on two springs across each other: G. Augusti (1964). Its height ends where it lies down.
    unit, mass, time = 1e9, 1e12, 1e-5
    a, b, P = *st.coordinates("a b"), st.parameters("P")
    energy, force = mass * unit**2 / time**2, mass * unit / time**2
    height = unit * st.sqrt(1 - st.sin(a) ** 2 - st.sin(b) ** 2)
    column = st.System(
        kinetic=mass * unit**2 * (a.dot**2 + b.dot**2) / 2,
        potential=energy * (a**2 / 2 + 0.8 * b**2) + P * height,
    )
    diagram = st.continuation(column, parameter=P, span=(0, 2 * force), start={a: 0, b: 0})
    upright = [s for s in diagram.special if abs(s[a]) + abs(s[b]) < 1e-6]
    assert [s.kind for s in upright] == ["pitchfork", "pitchfork"]
    assert [s.parameter / force for s in upright] == pytest.approx([1.0, 1.6], rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_branch_that_goes_straight_on_is_followed_by_long_steps(unit):
    """A rope of springs hangs straight: each stretches by what hangs below it."""
    n = 10
    r = st.coordinates("r", shape=(n, 2))
    g, k = st.parameters(g=9.81 * unit, k=100.0)
    stretch = [r[i] - (r[i - 1] if i else 0 * r[0]) for i in range(n)]
    rope = st.System(
        potential=st.each(lambda p: g * p[1], r)
        + sum(k * (st.norm((d[0], d[1])) - unit) ** 2 / 2 for d in stretch)
    )
    hanging = {r: np.column_stack([0.001 * np.arange(n), -1.0 - np.arange(n)]) * unit}
    rest = st.statics(rope, start=hanging)
    diagram = st.continuation(rope, parameter=g, span=(5 * unit, 20 * unit), start=rest)
    (branch,) = diagram.branches
    assert branch.parameter[[0, -1]] == pytest.approx([5 * unit, 20 * unit], rel=1e-12)
    assert len(branch.parameter) < 200 and np.all(branch.stable) and not diagram.special
    below = np.cumsum(np.arange(n, 0, -1))
    for i in (0, n - 1):
        exact = -(i + 1) * unit - branch.parameter / 100.0 * below[i]
        assert branch[r[i, 1]] == pytest.approx(exact, rel=1e-9)
