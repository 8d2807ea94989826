"""Rest and buckling against the closed forms of references.md, by chains of links."""

import numpy as np
import pytest

import stationary as st
from tests.solve.test_statics import chain

x, y = st.coordinates("x y")
P = st.parameters(P=0.0)

# -- EQ-CATENARY -----------------------------------------------------------------------------------


def hanging(links, end, length):
    """Return the rest of a chain from the origin to `end`, and its horizontal pull over w."""
    r, system = chain(links, span=end[0], length=length)
    drop = end[1]
    if drop:
        h = next(p for p in system.parameters if p.name == "h")
        last = st.Constraint(
            st.sqrt((r[-1, 0] - end[0]) ** 2 + (r[-1, 1] - drop) ** 2) - h, name="last"
        )
        system = st.System(potential=system.potential, constraints=[*system.constraints[:2], last])
    s = np.arange(1, links) / links
    start = np.stack([end[0] * s, drop * s - 4 * 0.8 * s * (1 - s)], axis=1)
    rest = st.statics(system, start={r: start})
    legs = np.diff(rest[r], axis=0)
    # λ is minus the tension; the whole chain weighs 1, so that w = 1/length.
    pulls = -rest.lam["link"] * legs[:, 0] / np.hypot(*legs.T) * length
    assert rest.stable and np.ptp(pulls) < 1e-9
    return rest[r], float(pulls.mean())


@pytest.mark.parametrize(
    ("end", "pull", "lowest"),
    [
        ((2.0, 0.0), 0.616472939472080790972513, -1.005266523296630336914095),
        ((2.0, 1.0), 0.67049583805892154098, -0.48955243005292088723),
    ],
    ids=["level", "uneven"],
)
def test_chains_approach_the_catenary_with_the_square_of_their_links(end, pull, lowest):
    errors = []
    for links in (50, 100, 200):
        r, found = hanging(links, end, 3.0)
        errors.append(found - pull)
        # Beads of the weight of a link at the joints: the ends of the chain are h/2 short of it.
        assert r[:, 1].min() == pytest.approx(lowest, abs=3.0 / links)
    ratios = np.divide(errors[:-1], errors[1:])
    assert ratios == pytest.approx([4.0, 4.0], rel=0.05)
    assert abs(errors[-1]) < 1e-4


# -- EQ-BUCKLING-LINKS -----------------------------------------------------------------------------


def angles(links):
    return [st.coordinates(f"a{i}") for i in range(links)]


@pytest.mark.parametrize(
    ("links", "load"),
    [(2, 2.0), (3, 1.0), (4, 0.5857864376269049512), (5, 0.3819660112501051518)],
)
def test_a_column_with_two_hinged_ends_buckles_at_the_published_load(links, load):
    a = angles(links)
    system = st.System(
        kinetic=sum(c.dot**2 for c in a) / 2,
        potential=sum((u - v) ** 2 for u, v in zip(a[1:], a)) / 2,
        work=P * sum(1 - st.cos(c) for c in a),
        constraints=[st.Constraint(sum(st.sin(c) for c in a), name="axis")],
    )
    found = st.continuation(system, parameter=P, span=(0, 1.2 * load), points=400)
    first = found.special[0]
    assert first.kind == "pitchfork" and first.parameter == pytest.approx(load, abs=1e-10)
    side = found.branches[1:3]
    assert len(side) == 2
    # Before it buckles the guide carries nothing; afterwards both sides carry the same.
    assert found.branches[0].forces()["axis"] == pytest.approx(0.0, abs=1e-12)
    ends = [b["a0"][-1] for b in side]
    assert ends[0] == pytest.approx(-ends[1], rel=1e-8) and abs(ends[0]) > 0.1


@pytest.mark.parametrize(
    ("links", "load"),
    [
        (1, 2.0),
        (2, 0.5857864376269049512),
        (5, 0.097886967409692855767),
        (40, 0.0015419275185541305257),
    ],
)
def test_a_clamped_column_loses_its_stability_at_the_published_load(links, load):
    a = st.coordinates("b", shape=(links, 1))
    bends = st.each(lambda u, v: (v[0] - u[0]) ** 2 / 2, a[:-1], a[1:]) if links > 1 else 0
    system = st.System(
        potential=bends + a[0, 0] ** 2,
        work=st.each(lambda u: P * (1 - st.cos(u[0])), a),
    )
    below, above = (
        st.statics(system, params={P: load * (1 + e)}, kind="any") for e in (-1e-7, 1e-7)
    )
    assert below.stable and not above.stable
    assert above.inertia == (links - 1, 1, 0)


# -- EQ-ELASTICA -----------------------------------------------------------------------------------


def elastica(links, axial=0.0, across=0.0):
    """Links of total length 1 and stiffness 1, clamped by half a cell, pulled at the tip."""
    a = st.coordinates("c", shape=(links, 1))
    h = 1 / links
    bends = st.each(lambda u, v: (v[0] - u[0]) ** 2 / (2 * h), a[:-1], a[1:])
    shortening = st.each(lambda u: h * (1 - st.cos(u[0])), a)
    deflection = st.each(lambda u: h * st.sin(u[0]), a)
    system = st.System(
        potential=bends + a[0, 0] ** 2 / h, work=axial * shortening + across * deflection
    )
    rest = st.statics(system, start={a: 0.5 * np.linspace(0, 1, links)[:, None]})
    bent = rest[a][:, 0]
    assert rest.stable
    return h * np.cos(bent).sum(), h * np.sin(bent).sum()


@pytest.mark.parametrize(
    ("load", "tip"),
    [
        (1.1517196204691383686, (0.74101960607632692715, 0.59320764616488510856)),
        (1.884800868978091767, (0.12315997240512475961, 0.80317099000746473205)),
        (3.1053619842769469431, (-0.22226838294687679162, 0.69790736378623002065)),
    ],
    ids=["60°", "120°", "150°"],
)
def test_a_buckled_column_approaches_the_elastica_with_the_square_of_its_links(load, tip):
    errors = [
        np.subtract(elastica(links, axial=load * np.pi**2 / 4), tip) for links in (20, 40, 80)
    ]
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(np.full((2, 2), 4.0), rel=0.1)
    assert np.abs(errors[-1]).max() < 2e-3


@pytest.mark.parametrize(
    ("load", "deflection", "shortening"),
    [
        (1, 0.3017207737998135, 0.05643323628337688),
        (5, 0.7137915236119127, 0.3876283607244299),
        (10, 0.8106090248802965, 0.5549955977537513),
    ],
)
def test_a_cantilever_bends_as_in_the_table_of_bisshopp_and_drucker(load, deflection, shortening):
    errors = [
        np.subtract(elastica(links, across=load), (1 - shortening, deflection))
        for links in (20, 40, 80)
    ]
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(np.full((2, 2), 4.0), rel=0.1)
    assert np.abs(errors[-1]).max() < 1e-3


# -- CLS-BRACH: plain optimization -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "time"), [(1.0, 0.58289546315474264101), (2.0, 0.80556382951639893019)]
)
def test_the_fastest_slide_is_that_of_the_brachistochrone(end, time):
    found = []
    for legs in (40, 80):
        # Closer together where the slide is steep: x grows as the third power there.
        place = end * np.linspace(0, 1, legs + 1) ** 3
        d = st.coordinates("d", shape=(legs - 1, 1))

        def leg(low, high, dx):
            return (
                2
                * st.sqrt(dx**2 + (high - low) ** 2)
                / (st.sqrt(2 * 9.81 * low) + st.sqrt(2 * 9.81 * high))
            )

        between = st.each(lambda u, v, dx: leg(u[0], v[0], dx), d[:-1], d[1:], np.diff(place)[1:-1])
        first = leg(0, d[0, 0], float(place[1]))
        last = leg(d[-1, 0], 1, float(place[-1] - place[-2]))
        start = np.sqrt(place[1:-1, None] / end)
        rest = st.statics(st.System(potential=first + between + last), start={d: start})
        assert rest.stable
        found.append(rest.energy - time)
    # A polygon is slower than the cycloid, and the less so the more legs it has.
    assert 0 < found[1] < found[0] < 2e-3 and found[0] / found[1] > 3


# -- supports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("supports", "loads", "reactions"),
    [
        # The facts that SymPy's test_column.py states of bars of length 10 under unit loads.
        ((0, 5, 10), (2, 8), (3 / 5, 4 / 5, 3 / 5)),
        ((0, 10), (6,), (2 / 5, 3 / 5)),
    ],
)
def test_supports_of_a_bar_share_its_loads_by_stiffness(supports, loads, reactions):
    places = sorted({*supports, *loads})
    u = dict(zip(places, (st.coordinates(f"u{p}") for p in places)))
    bar = st.System(
        potential=sum((u[b] - u[a]) ** 2 / (2 * (b - a)) for a, b in zip(places, places[1:])),
        loads=[st.Load(1, on=u[p]) for p in loads],
        constraints=[st.Constraint(u[p], name=f"support {p}") for p in supports],
    )
    rest = st.statics(bar)
    assert [-rest.lam[f"support {p}"] for p in supports] == pytest.approx(reactions, rel=1e-13)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("long", [1.0, 1e-6, 1e4])
def test_a_branch_of_a_linear_statement_stands_upright_at_its_load(long):
    # Two links of length l, springs k at both joints: P l = k/2 (3 ∓ √5), whatever the deflection.
    y1, y2 = st.coordinates("y1 y2")
    P = st.parameters(P=0.0)
    k, slopes = 2.0 * long**2, (y1 / long, (y2 - y1) / long)
    bent = k / 2 * (slopes[0] ** 2 + (slopes[1] - slopes[0]) ** 2)
    columns = st.System(potential=bent - P * long / 2 * (slopes[0] ** 2 + slopes[1] ** 2))
    diagram = st.continuation(columns, parameter=P, span=(0, 8 * long))
    loads = k / long / 2 * np.array([3 - np.sqrt(5), 3 + np.sqrt(5)])
    assert [s.parameter for s in diagram.special] == pytest.approx(loads, rel=1e-9)
    for branch in diagram.branches[1:]:
        assert branch.status == "upright" and "at any size" in branch.status.message
        assert len(branch.parameter) < 400
