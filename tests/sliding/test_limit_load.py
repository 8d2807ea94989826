"""How far a load can grow: ladders, stacks, capstans, grasps, and both bounds."""

import numpy as np
import pytest

import stationary as st
from tests.sliding.ladder import ladder

x, y, phi = st.coordinates("x y phi")


def agree(found):
    assert found.static == pytest.approx(found.kinematic, rel=1e-8, abs=1e-10)
    assert found.status == "collapses"


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
def test_a_block_on_an_incline_slides_at_the_angle_of_friction(mu):
    # Pulled along x on a floor, with its weight in y: the limit is μ times the weight.
    F = st.inputs("F")
    block = st.System(
        potential=10 * y,
        loads=[st.Load(F, on=x)],
        contacts=[st.Contact(y, friction=mu, slip=x, name="floor")],
    )
    found = st.limit_load(block, load=F)
    assert found.factor == pytest.approx(10 * mu, rel=1e-8)
    assert found.lam["floor"] == pytest.approx(10.0, rel=1e-7)
    assert found.mode[x] > 0
    assert found.static == pytest.approx(found.factor)


@pytest.mark.parametrize("mu, wall, degrees", [
    (0.3, 0.0, 59.03624346792647858289), (0.3, 0.2, 57.4499965078066013057),
])  # fmt: skip
def test_a_ladder_holds_above_the_known_angle_and_not_below(mu, wall, degrees):
    # QS-LADDER: tan θ = (1 − μ μ_w) / (2 μ).
    P, system = ladder(mu, wall)

    def spare(angle):
        """How far it can be pulled; where it does not stand by itself the load must hold it."""
        a = np.radians(angle)
        at = {x: -np.cos(a) / 2, y: np.sin(a) / 2, phi: a}
        return st.limit_load(system, load=P, at=at).factor

    assert spare(degrees + 1) > 0.001
    assert spare(degrees) == pytest.approx(0.0, abs=1e-7)
    # The margin grows through zero: below the angle only a push inwards holds it.
    assert spare(degrees - 1) < -0.001


@pytest.mark.parametrize("mu", [0.3, 0.6])
@pytest.mark.parametrize("angle", [62.0, 70.0])
def test_a_ladder_pulled_at_its_foot_holds_as_much_as_its_balance_says(mu, angle):
    # Smooth wall: N = 1, wall W = cot θ / 2, friction μ ≥ W + P.
    P, system = ladder(mu, 0.0)
    a = np.radians(angle)
    found = st.limit_load(system, load=P, at={x: -np.cos(a) / 2, y: np.sin(a) / 2, phi: a})
    assert found.factor == pytest.approx(mu - 0.5 / np.tan(a), abs=1e-8)
    assert found.lam["wall"] == pytest.approx(0.5 / np.tan(a), abs=1e-7)


def capstan(count, mu=0.3):
    """A rope over N pegs that each turn it by π/N, held with 1 and pulled with T.

    Return the pull, the system, where its nodes are, and the way ahead over each peg.
    """
    delta = np.pi / count
    r = st.coordinates("r", shape=(count, 2))
    T = st.inputs("T")

    def way(angle):
        return np.array([np.cos(angle), np.sin(angle)])

    # Node k sits on peg k, where the rope turns from k δ to (k + 1) δ; along the bisector
    # it is pressed, across it it slides.
    place, contacts = np.zeros((count, 2)), []
    for k in range(1, count):
        place[k] = place[k - 1] + way(delta * k)
    ways = [way(delta * (k + 0.5)) for k in range(count)]
    for k, (a, b) in enumerate(ways):
        u, v = (r[k, j] - float(place[k, j]) for j in range(2))
        contacts.append(st.Contact(b * u - a * v, friction=mu, slip=a * u + b * v, name=f"peg {k}"))
    links = [
        st.Constraint(st.norm([r[k + 1, j] - r[k, j] for j in range(2)]) - 1, name=f"link {k}")
        for k in range(count - 1)
    ]
    loads = [
        st.Load(tuple(-way(0)), on=tuple(r[0]), name="held end"),
        st.Load(tuple(T * x for x in way(np.pi)), on=tuple(r[count - 1]), name="pulled end"),
    ]
    rope = st.System(loads=loads, contacts=contacts, constraints=links, coordinates=[r])
    return T, rope, {r: place}, np.array(ways)


@pytest.mark.parametrize("count, ratio", [
    (2, 3.4489795918367346939), (4, 2.7163182232701406488), (10, 2.5883556335228143507),
])  # fmt: skip
def test_a_capstan_of_n_contacts_holds_the_known_ratio(count, ratio):
    # QS-CAPSTAN: μ = 0.3, θ = π.
    T, rope, at, ways = capstan(count)
    found = st.limit_load(rope, load=T, at=at)
    assert found.factor == pytest.approx(ratio, rel=1e-8)
    # It slides forward over every peg.
    assert np.all(np.einsum("kj,kj->k", found.mode["r"], ways) > 0)
    # Pulled harder it runs as one: as fast over every peg, lifting from none.
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(rope, at=at, inputs={T: 1.01 * ratio})
    assert caught.value.kind == "accelerates" and caught.value.names == ("load 'pulled end'",)
    way = caught.value.direction["r"]
    speed = np.einsum("kj,kj->k", way, ways)
    assert speed[0] > 0
    np.testing.assert_allclose(speed, speed[0], rtol=1e-9)
    np.testing.assert_allclose(way - speed[:, None] * ways, 0, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_stack_overhangs_by_half_the_harmonic_sum(blocks):
    # QS-LADDER: n blocks overhang by (1/2) H_n; a little less stands, a little more falls.
    overhang = sum(1 / (2 * (k + 1)) for k in range(blocks))
    assert overhang == pytest.approx([1 / 2, 3 / 4, 11 / 12][blocks - 1])
    for slack, word in ((1e-3, "sticks"), (-1e-3, "accelerates")):
        q = [st.coordinates(f"x{i} y{i} a{i}") for i in range(blocks)]
        # From the top: block i hangs over the next by 1/(2(i+1)), the last over the table.
        left = [0.0]
        for i in range(blocks):
            left.append(left[-1] - 1 / (2 * (i + 1)) + (slack if i == blocks - 1 else 0))
        contacts, weight = [], 0
        start = {}
        for i, (X, Y, a) in enumerate(q):
            X0, Y0 = left[i] - left[0] + 0.5, 0.1 * (blocks - i) - 0.05
            start |= {X: X0, Y: Y0, a: 0.0}
            weight += Y
            # It touches what is below at its left corner and at the edge below its right part.
            edge = left[i + 1] - left[0] + 1.0
            near = (left[i] if i < blocks else 0.0) - left[0]
            for at, name in ((near, "left"), (edge, "edge")):
                below = q[i + 1] if i + 1 < blocks else None
                mine = Y + (at - X0) * a - 0.05
                if below is None:
                    gap = mine
                else:
                    bx = left[i + 1] - left[0] + 0.5
                    gap = mine - (below[1] + (at - bx) * below[2] + 0.05)
                contacts.append(
                    st.Contact(gap, friction=0.5, slip=X - (below[0] if below else 0),
                               name=f"{name} {i}")
                )  # fmt: skip
        stack = st.System(
            potential=weight, contacts=contacts, coordinates=[c for t in q for c in t]
        )
        step = st.minimum_power(stack, at=start, throw=False)
        assert step.status == word, (blocks, slack)


def test_friction_of_constraints_only_is_a_plain_limit_analysis_with_both_bounds():
    # A bar on two springs of friction, pulled at a third of its length: lever rule.
    F = st.inputs("F")
    a, b = st.coordinates("a b")
    beam = st.System(
        loads=[st.Load(F, on=(2 * a + b) / 3, name="pull")],
        friction=[st.Friction(1.0, on=a, name="left"), st.Friction(1.0, on=b, name="right")],
    )
    found = st.limit_load(beam, load=F)
    assert found.factor == pytest.approx(1.5, rel=1e-9)
    agree(found)
    assert found.mode[a] > 0 and found.mode[b] == pytest.approx(0, abs=1e-6)
    assert found.forces["left"] == pytest.approx(-1.0, rel=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_both_bounds_agree_on_random_parts(seed):
    rng = np.random.default_rng(seed)
    part = st.slider(points=rng.normal(size=(9, 2)), weights=rng.uniform(0.2, 2, 9))
    px, py, turn = part.coordinates
    push = rng.normal(size=3)
    load = st.Load(tuple(push), on=(px, py, turn), name="wrench")
    found = st.limit_load(part, load=load)
    agree(found)
    # Any twist bounds it from above; the mode attains it.
    surface = st.limit_surface(part, count=800)
    power = np.einsum("ij,ij->i", surface.wrenches, surface.twists)
    given = surface.twists @ push
    above = power[given > 0] / given[given > 0]
    assert found.factor <= above.min() * (1 + 1e-9)
    assert above.min() <= found.factor * 1.05
    # Just below it sticks, just above it accelerates.
    for share, word in ((0.999, "sticks"), (1.001, "accelerates")):
        pushed = part + st.System(
            loads=[st.Load(tuple(push * found.factor * share), on=(px, py, turn))]
        )
        step = st.minimum_power(pushed, throw=False)
        assert step.status == word
        if word == "sticks":
            assert step.margin == pytest.approx(1 / share, rel=1e-6)


def test_what_friction_holds_whatever_its_size_is_unlimited():
    # A wedge within its cone of friction: the load presses more than it pushes.
    F = st.inputs("F")
    wedge = st.System(
        loads=[st.Load((0.3 * F, -F), on=(x, y))],
        contacts=[st.Contact(y, friction=0.5, slip=x, name="floor")],
    )
    found = st.limit_load(wedge, load=F)
    assert found.factor == np.inf and found.status == "unlimited"


@pytest.mark.parametrize("force", [1e-9, 1.0, 1e9])
def test_what_holds_any_load_does_not_hold_what_runs_away_beside_it(force):
    # x is held whatever its load; y is pulled by 3 against friction 1, whatever the load on x.
    P = st.inputs("P")
    walls = st.System(contacts=[st.Contact(x), st.Contact(-x)])
    for held in (st.System(constraints=[x]), walls):

        def pulled(pull, held=held):
            return held + st.System(
                work=pull * force * y, loads=[st.Load(P, on=x)],
                friction=[st.Friction(force, on=y)],
            )  # fmt: skip

        assert st.limit_load(pulled(0.9), load=P).interval == (-np.inf, np.inf)
        with pytest.raises(st.DidNotConverge, match="the interval in which it rests is empty"):
            st.limit_load(pulled(3.0), load=P)


def block(wide, high, mu, push):
    """A block of weight 10 on its two lower corners, pushed at a height `push` above the floor."""
    P = st.inputs("P")
    c, s = st.cos(phi), st.sin(phi)

    def place(u, v):
        return x + c * u - s * v, y + s * u + c * v

    feet = [place(u, -high / 2) for u in (-wide / 2, wide / 2)]
    return P, st.System(
        potential=10 * y,
        loads=[st.Load(P, on=place(-wide / 2, push - high / 2)[0])],
        contacts=[
            st.Contact(foot[1], friction=mu, slip=foot[0], name=name)
            for foot, name in zip(feet, ("heel", "toe"))
        ],
        coordinates=[x, y, phi],
    )


@pytest.mark.parametrize("mu, push", [(0.3, 1.0), (0.8, 1.5), (0.4, 0.5), (0.45, 1.2)])
def test_a_block_slides_or_tips_whichever_comes_first(mu, push):
    # Slides at μ W, tips about its toe at W b / 2h: width 1, height 2.
    P, system = block(1.0, 2.0, mu, push)
    found = st.limit_load(system, load=P, at={y: 1.0})
    slides, tips = 10 * mu, 10 * 0.5 / push
    assert found.factor == pytest.approx(min(slides, tips), rel=1e-8)
    agree(found)
    # By Coulomb's law what slides does not lift, and what tips turns about the toe.
    if slides < tips:
        np.testing.assert_allclose(found.mode, [1, 0, 0], atol=1e-6)
    else:
        turn = -1 / push
        np.testing.assert_allclose(found.mode, np.array([-1, -0.5, 1]) * turn, atol=1e-6)
    # Its pressures follow from balance: no motion is possible below.
    assert found.exact and found.safe == pytest.approx(found.factor, rel=1e-8)
    assert "up to it Coulomb's law allows no motion" in found.status.message


def test_a_mode_that_must_lift_says_so_and_one_without_contacts_says_nothing():
    P = st.inputs("P")
    pulled = st.Load((P / 2, -P), on=(x, y))
    rub = st.Friction(1.0, on=(x, y))
    floor = st.Contact(y, friction=0.4, slip=x, name="floor")
    found = st.limit_load(st.System(loads=[pulled], friction=[rub], contacts=[floor]), load=P)
    # The other friction helps most along (1, 0.4): P/2 − 0.4 P = √(1 + 0.4²).
    assert found.factor == pytest.approx(np.sqrt(1.16) / 0.1, rel=1e-8)
    assert "what slips also lifts" in found.status.message
    plain = st.limit_load(st.System(loads=[pulled], friction=[rub]), load=P)
    assert plain.status.message == "static and kinematic bounds agree"


def test_a_block_in_a_slot_may_be_wedged_and_slides_from_where_it_is_not():
    # A push H against one of two walls: pressed by them both it holds anything, by one μ H.
    P = st.inputs("P")
    mu, push = 0.4, 10.0
    walls = [st.Contact(s * x, friction=mu, slip=y, name=f"wall {s}") for s in (-1, 1)]
    slot = st.System(work=push * x, loads=[st.Load(-P, on=y)], contacts=walls)
    found = st.limit_load(slot, load=P)
    assert found.status == "unlimited" and found.factor == np.inf
    assert found.safe == pytest.approx(mu * push, rel=1e-7) and not found.exact
    assert "between -4 and 4 times the load no motion is possible" in found.status.message
    # Below, rest is the only motion; above, there is another.
    for share, known in ((0.99, True), (1.01, False)):
        step = st.minimum_power(slot, inputs={P: mu * push * share})
        assert step.status == "sticks" and step.unique is known
    # Against one wall alone it is as in every book.
    one = st.System(work=push * x, loads=[st.Load(-P, on=y)], contacts=walls[:1])
    found = st.limit_load(one, load=P)
    assert found.factor == pytest.approx(mu * push, rel=1e-8) and found.exact


def test_a_fence_that_moves_has_no_limit_load():
    P = st.inputs("P")
    moving = st.System(
        loads=[st.Load(P, on=y)],
        friction=[st.Friction(3.0, on=(x, y))],
        contacts=[st.Contact(x - st.t, name="fence")],
    )
    with pytest.raises(st.StatementError, match="already moving"):
        st.limit_load(moving, load=P)


@pytest.mark.parametrize("held", [[], [st.Friction(1.0, on=y)], [st.Friction(0.0, on=(x, y))]])
def test_what_has_no_friction_holds_nothing_and_is_no_contradiction(held):
    P = st.inputs("P")
    smooth = st.System(
        potential=10 * y, loads=[st.Load(P, on=x)],
        contacts=[st.Contact(y, friction=0.0, slip=x, name="floor")],
        friction=[st.Friction(0.0, on=x), *held],
    )  # fmt: skip
    found = st.limit_load(smooth, load=P)
    assert found.low.factor == found.high.factor == 0 and "agree" in found.status.message
    # A spring draws it along, and nothing is lost.
    drawn = st.System(potential=(x - st.t) ** 2 / 2 + 10 * y, contacts=smooth.contacts,
                      friction=smooth.friction)  # fmt: skip
    slide = st.quasistatics(drawn, span=(0, 1), points=5)
    np.testing.assert_allclose(slide[x], slide.t, atol=1e-12)
    assert slide.method == "balance" and abs(slide.lost[-1]) < 1e-12


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("weight", [1e-7, 1.0, 1e7])
def test_one_point_holds_no_load_beside_it(unit, weight):
    P = st.inputs("P")
    part = st.slider(points=[(0.3 * unit, 0.2 * unit)], weights=[weight])
    X, Y, turn = part.coordinates
    # Through the point all of its friction holds; beside it the part turns about it for nothing.
    through = X - 0.2 * unit * turn
    for on, factor in ((through, weight), (X, 0), (X + 0.5 * Y, 0), (unit * turn, 0)):
        pulled = part + st.System(loads=[st.Load(P, on=on)])
        limit = st.limit_load(pulled, load=P)
        agree(limit)
        assert limit.high.factor == pytest.approx(factor, rel=1e-9, abs=1e-15 * weight)
        assert factor or "phi.dot" in str(limit)
