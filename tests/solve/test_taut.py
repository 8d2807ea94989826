"""Constraints that depend on each other balance no force across: that is told, in any units."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st

SQUARED, ROOT = (
    (lambda square, long: square - long**2),
    (lambda square, long: st.sqrt(square) - long),
)


def chain(links, length, span, *, origin=(0.0, 0.0), turned=0.0, gravity=9.81, rule=SQUARED):
    """Return a chain between two nails, and a start that sags."""
    names = " ".join(f"x{i} y{i}" for i in range(1, links))
    places = np.reshape(st.coordinates(names), (-1, 2))
    along, down = np.array([np.cos(turned), np.sin(turned)]), np.array([0.0, -1.0])
    nails = [np.array(origin), np.array(origin) + span * along]
    points = [nails[0], *places, nails[1]]
    rods = [
        st.Constraint(rule(sum((b - a) ** 2), length / links), name=f"rod{k}")
        for k, (a, b) in enumerate(zip(points, points[1:]))
    ]
    shares = np.arange(1, links) / links
    start = {
        place: value
        for pair, s in zip(places, shares)
        for place, value in zip(pair, nails[0] + span * (s * along + 0.1 * s * (1 - s) * down))
    }
    speeds = [x.dot for x in places.ravel()]
    system = st.System(
        kinetic=sum(v**2 for v in speeds) / 2,
        potential=gravity * sum(places[:, 1]),
        constraints=rods,
    )
    return system, start


@pytest.mark.one_in(6)
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e16])
@pytest.mark.parametrize("kind", ["minimum", "any"])
@pytest.mark.parametrize(("links", "rule"), [(2, SQUARED), (3, ROOT), (8, SQUARED), (12, ROOT)])
def test_a_chain_at_its_full_length_holds_no_weight_across(links, rule, kind, unit):
    system, start = chain(links, unit, unit, gravity=9.81 * unit, rule=rule)
    with pytest.raises(st.DidNotConverge) as error:
        st.statics(system, start=start, kind=kind)
    assert error.value.status == "singular"
    words = str(error.value)
    assert words.startswith("the constraints cannot balance the forces where they hold.\n  Found ")
    assert "depend on each other" in words and "Give what is taut some slack" in words


@pytest.mark.one_in(3)
@pytest.mark.parametrize("origin", [(0.0, 0.0), (3.0, -7.0), (1e6, 2e6)])
@pytest.mark.parametrize("turned", [0.0, 0.3, 1.2])
def test_a_string_nailed_at_its_full_length_is_told_wherever_it_is(origin, turned):
    system, start = chain(2, 1.0, 1.0, origin=origin, turned=turned, rule=ROOT)
    rest = st.statics(system, start=start, throw=False)
    assert rest.status == "singular"
    assert "'rod0'" in rest.status.message and "'rod1'" in rest.status.message


@pytest.mark.parametrize("slack", [1e-12, 1e-10, 1e-8, 1e-4, 0.1])
def test_a_string_with_slack_pulls_as_its_triangle_says(slack):
    system, start = chain(2, 1 + slack, 1.0, rule=ROOT)
    rest = st.statics(system, start=start)
    half = (1 + slack) / 2
    # sag² = half² − 1/4, without the difference of large numbers.
    pull = 9.81 / 2 * half / np.sqrt(slack * (2 + slack) / 4)
    assert rest.lam["rod0"] == pytest.approx(-pull, rel=max(1e-9, 8e-16 / slack))


@pytest.mark.parametrize("links", [2, 3, 5])
def test_a_chain_that_hangs_down_to_its_second_nail_shares_its_weight(links):
    system, start = chain(links, 1.0, 1.0, turned=np.pi / 2, rule=ROOT)
    rest = st.statics(system, start=start, kind="any")
    # One rod more than is needed: forces beside each other differ by one weight.
    forces = [rest.lam[f"rod{k}"] for k in range(links)]
    assert np.abs(np.diff(forces)) == pytest.approx(np.full(links - 1, 9.81))
    assert len(rest.redundant) == 1


def test_a_rhombus_stretched_flat_and_a_toggle_in_angles_hold_nothing_across():
    bx, by, dx, dy = st.coordinates("bx by dx dy")

    def rods(reach):
        ends = [
            ((0, 0), (bx, by)),
            ((bx, by), (reach, 0)),
            ((0, 0), (dx, dy)),
            ((dx, dy), (reach, 0)),
        ]
        return [st.Constraint((p - r) ** 2 + (q - s) ** 2 - 1) for (p, q), (r, s) in ends]

    start = {bx: 1, by: 0.1, dx: 1, dy: -0.1}
    flat = st.System(potential=by + 2 * dy, constraints=rods(2))
    assert st.statics(flat, start=start, throw=False).status == "singular"
    lower = st.System(potential=by + 2 * dy, constraints=rods(1.9999999))
    assert st.statics(lower, start=start).status == "balanced"
    a, b = st.coordinates("a b")
    closed = [st.Constraint(st.cos(a) + st.cos(b) - 2), st.Constraint(st.sin(a) + st.sin(b))]
    toggle = st.System(potential=9.81 * st.sin(a), constraints=closed)
    assert st.statics(toggle, start={a: -0.3, b: 0.3}, throw=False).status == "singular"


def test_a_row_too_many_blocks_nothing_that_is_free_to_move():
    x, y = st.coordinates("x y")
    circle = x**2 + y**2 - 1
    rows = [st.Constraint(circle), st.Constraint((2 + x) * circle)]
    # Nothing rests where a wind blows round: but the rows are not to blame.
    winds = [st.Load(-y, on=x), st.Load(x, on=y)]
    system = st.System(kinetic=x.dot**2 + y.dot**2, loads=winds, constraints=rows)
    rest = st.statics(system, start={x: 1, y: 0.1}, throw=False)
    assert rest.status not in ("balanced", "singular")


@pytest.mark.parametrize("start", [(0.6, -0.8), (0.5, -0.7)])
def test_a_squared_constraint_has_no_gradient_to_hold_by(start):
    x, y = st.coordinates("x y")
    squared = st.Constraint((x**2 + y**2 - 1) ** 2, name="squared")
    with pytest.raises(st.DidNotConverge, match="the gradient of 'squared' vanishes"):
        st.statics(st.System(potential=y, constraints=[squared]), start=dict(zip((x, y), start)))


def test_equilibria_leave_out_what_no_forces_hold_and_say_so():
    x, y = st.coordinates("x y")
    rods = [st.Constraint(x**2 + y**2 - 0.25), st.Constraint((x - 1) ** 2 + y**2 - 0.25)]
    system = st.System(potential=9.81 * y, constraints=rods)
    found = st.equilibria(system, within={x: (-1, 2), y: (-1, 1)})
    assert not found and not found.complete and "last digits" in found.searched


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_a_branch_ends_where_the_forces_of_constraints_grow_without_bound(unit):
    x, y, L = *st.coordinates("x y"), st.parameters(L=1.2 * unit)
    rods = [st.Constraint(x**2 + y**2 - L**2 / 4), st.Constraint((x - unit) ** 2 + y**2 - L**2 / 4)]
    system = st.System(potential=9.81 * y, constraints=rods)
    diagram = st.continuation(
        system, parameter=L, span=(0.9 * unit, 1.3 * unit), start={x: unit / 2, y: -unit / 3}
    )
    (branch,) = diagram.branches
    assert branch.status == "away" and "grows without bound as L goes to" in branch.status.message
    assert branch.parameter.min() == pytest.approx(unit, rel=1e-5)
    assert branch.parameter.min() > unit


@pytest.mark.one_in(3)
@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e6])
@pytest.mark.parametrize("links", [3, 4, 10])
def test_a_chain_that_is_started_straight_sags_between_nails_that_are_nearer(links, unit, far):
    link, span, origin = unit / links, 0.9 * unit, far * unit * np.array([0.7, -1.3])
    # Vertical forces of links differ by one weight; the horizontal one is that which spans.
    upright = np.arange(links) - (links - 1) / 2
    pull = brentq(lambda H: np.sum(H / np.hypot(H, upright)) / links - 0.9, 1e-3, 1e3, xtol=1e-14)
    ways = np.stack([np.full(links, pull), upright], axis=1) / np.hypot(pull, upright)[:, None]
    expected = link * np.cumsum(np.vstack([[0, 0], ways]), axis=0)
    r = st.coordinates("r", shape=(links + 1, 2))
    system = st.System(
        potential=st.each(lambda p: p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - link, r[:-1], r[1:]),
    ) + st.System(constraints=[*(r[0] - origin), *(r[links] - origin - [span, 0])])
    start = origin + np.outer(np.linspace(0, unit, links + 1), [1, 0])
    rest = st.statics(system, start={r: start})
    assert rest.stable
    assert rest[r] - origin == pytest.approx(expected, abs=1e-9 * unit * (1 + far))


@pytest.mark.parametrize("links", [4, 9])
def test_what_is_left_of_places_on_a_line_turns_no_row(links):
    r, h = st.coordinates("r", shape=(links + 1, 2)), 0.02
    system = st.System(
        potential=st.each(lambda p: 0.0981 * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - h, r[:-1], r[1:]),
    ) + st.System(constraints=[r[0, 0], r[0, 1]])
    start = np.outer(np.arange(links + 1) * h, [1, 0])
    rest = st.statics(system, start={r: start})
    # It hangs down: links pull as much as hangs from them.
    pulls = 0.0981 / h * np.arange(links, 0, -1)
    stiffness = np.diag(pulls + np.append(pulls[1:], 0)) - np.diag(pulls[1:], 1)
    stiffness -= np.diag(pulls[1:], -1)
    assert rest.eigenvalues == pytest.approx(np.linalg.eigvalsh(stiffness), rel=1e-9)
