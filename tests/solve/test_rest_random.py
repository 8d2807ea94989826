"""Rest of chains, linkages and nets of any size, from any start and in any unit."""

import mpmath
import numpy as np
import pytest
import scipy.sparse as sparse

import stationary as st
from stationary.derive.elimination_order import saddle_order
from stationary.solve.factors import block_signs
from stationary.solve.linear import Rows, Saddle

G = 9.81


def hanging(links, length, shift=0.0):
    """A chain of beads of mass 1, nailed at one end."""
    r = st.coordinates("r", shape=(links, 2))

    def stretch(a, b):
        return (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2

    held = [st.Constraint(stretch(np.full(2, shift), r[0]), name="nail")]
    if links > 1:
        held.append(st.each(stretch, r[:-1], r[1:], name="link"))
    return r, st.System(potential=st.each(lambda p: G * p[1], r), constraints=held)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("start", ["horizontal", "random"])
@pytest.mark.parametrize(
    ("links", "length", "shift"),
    [(1, 1.0, 0.0), (2, 1e-6, 0.0), (3, 0.02, 0.0), (3, 1e6, 1e6), (5, 0.02, 7.0), (45, 1e-3, 0.0)],
)
def test_a_chain_hangs_from_any_start_in_any_unit(links, length, shift, start):
    r, system = hanging(links, length, shift)
    turn = np.random.default_rng(links).uniform(-1.2, 0.3, links) * (start == "random")
    legs = length * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rest = st.statics(system, start={r: shift + np.cumsum(legs, axis=0)})
    straight = shift + length * np.outer(np.arange(1, links + 1), [0.0, -1.0])
    assert rest.stable and rest.inertia == (links, 0, 0)
    assert np.abs(rest[r] - straight).max() <= 1e-9 * links * length
    # The nail carries all of them: 2 ℓ λ = −n G.
    assert rest.lam["nail"] == pytest.approx(-links * G / (2 * length), rel=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("links, unit", [(3, 1.0), (4, 1e-9), (7, 1e9), (13, 1.0), (30, 1e-6)])
def test_a_chain_that_is_pressed_along_one_line_finds_its_way_off_it(links, unit):
    # On the line every link is too short, and no slope says that there is room beside it.
    r, length = st.coordinates("r", shape=(links - 1, 2)), 0.02 * unit
    nails = np.array([[0.0, 0.0], [0.8 * links * length, 0.0]])

    def stretch(p, q):
        return (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 - length**2

    held = [st.Constraint(stretch(nails[0], r[0]), name="first"),
            st.each(stretch, r[:-1], r[1:], name="link"),
            st.Constraint(stretch(r[links - 2], nails[1]), name="last")]  # fmt: skip
    chain = st.System(potential=st.each(lambda p: G * p[1], r), constraints=held)
    rest = st.statics(chain, start={r: np.linspace(nails[0], nails[1], links + 1)[1:-1]})
    # The slope of a chain grows by its weight over the pull, from link to link.
    across, down = np.diff(np.vstack([nails[0], rest[r], nails[1]]).T)
    slopes = np.diff(down / across)
    assert rest.stable and rest[r][:, 1].max() < 0
    assert slopes == pytest.approx(np.full(links - 1, slopes.mean()), rel=1e-9)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("cranks, unit", [(2, 1.0), (3, 1.0), (2, 1e-9), (4, 1e-6), (3, 1e6)])
def test_a_platform_on_equal_cranks_comes_to_rest_at_the_bottom_of_its_circle(cranks, unit):
    # With three cranks one condition is redundant all along, and two more at the flat positions.
    # Angles are angles whatever the unit of length, though no inertia tells how both compare.
    x, y, a = st.coordinates("x y a")
    turns = st.coordinates("t1 t2 t3 t4")[:cranks]
    held = []
    for (bx, by), t in zip(unit * np.array([(0, 0), (2, 0), (1, 0.5), (3, 0.2)]), turns):
        px, py = x + bx * st.cos(a) - by * st.sin(a), y + bx * st.sin(a) + by * st.cos(a)
        at = (px - bx - unit * st.cos(t), py - by - unit * st.sin(t))
        held.append(st.Constraint(at, name=f"pin {t}"))
    weight = G * y + 0.3 * G * (y + unit * st.sin(a) + 0.2 * unit * st.cos(a))
    platform = st.System(potential=weight, constraints=held)
    for angle in 2 * np.pi * (np.arange(8)[:: 1 if unit == 1 else 3] + 0.37) / 8:
        begin = {x: unit * np.cos(angle), y: unit * np.sin(angle)} | dict.fromkeys(turns, angle)
        rest = st.statics(platform, start=begin)
        assert rest.stable and rest[y] / unit == pytest.approx(-1.0, abs=1e-9)
        # It falls on its own side, by less than half a turn.
        assert abs(rest[turns[0]] - angle) < np.pi + 1e-9
    if cranks == 2 or unit != 1:
        return
    # Of all its equilibria those on the circle are at its top and bottom, however the redundant
    # forces are shared; elsewhere three cranks hold it rigidly.
    within = {x: (-1.5, 1.5), y: (-1.5, 1.5), a: (-3.1, 3.1)} | dict.fromkeys(turns, (-3.2, 3.2))
    every = st.equilibria(platform, within=within)
    level = [(round(e[y], 9), e.stable) for e in every if abs(e[a]) < 1e-6]
    assert sorted(level) == [(-1.0, True), (1.0, False)]
    assert all(e.inertia == (0, 0, 0) for e in every if abs(e[a]) > 1e-6)
    assert all(e.residual["R"] < 1e-12 and np.abs(np.asarray(e.lam)).max() < 100 for e in every)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("links", "unit", "mass"), [(12, 1.0, 1.0), (12, 1e-3, 1e3), (40, 1e3, 1)])
def test_a_chain_over_a_pulley_rests_from_every_start_in_every_unit(links, unit, mass):
    r = st.coordinates("r", shape=(links - 1, 2))
    ends, R, length = unit * np.array([[-0.6, -0.2], [0.6, -0.2]]), 0.25 * unit, 2.0 * unit / links

    def stretch(p, q):
        return (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 - length**2

    held = [st.Constraint(stretch(ends[0], r[0]), name="first"),
            st.each(stretch, r[:-1], r[1:], name="link"),
            st.Constraint(stretch(r[links - 2], ends[1]), name="last")]  # fmt: skip
    chain = st.System(
        potential=st.each(lambda p: mass * G * p[1] / links, r),
        constraints=held,
        contacts=st.each(lambda p: st.Contact(st.norm(p) - R, name="pulley"), r),
    )
    s = np.linspace(0, 1, links + 1)[1:-1, None]
    across = ends[0] + (ends[1] - ends[0]) * s
    starts = [across + unit * np.sin(np.pi * s) * [0.0, high] for high in (0.6, 0.9, 3.0)]
    starts.append(starts[0] + 0.02 * unit * np.random.default_rng(0).normal(size=(links - 1, 2)))
    found = {}
    for start in starts:
        rest = st.statics(chain, start={r: start})
        touching = int(np.sum(np.linalg.norm(rest[r], axis=1) < R * (1 + 1e-9)))
        assert rest.stable and rest.inertia == (links - 2 - touching, 0, 0)
        assert rest.residual["gap"] < 1e-9 * unit
        sizes = [rest.energy / mass / unit, rest.eigenvalues[0] / mass * unit]
        found.setdefault(touching > 0, []).append(sizes)
    # It lies on the pulley, or hangs below it: one answer each.
    for several in found.values():
        np.testing.assert_allclose(several, several[:1] * len(several), rtol=1e-7)


def test_what_contradicts_is_named_and_what_could_be_satisfied_is_not():
    x, y, z = st.coordinates("x y z")
    # Rows in units of their own, and one that follows whatever the others do.
    for unit in (1e-6, 1.0, 1e6):
        held = [st.Constraint(unit * (x - 1), name="here"), st.Constraint(x - 2, name="there"),
                st.Constraint(z - x * y, name="innocent")]  # fmt: skip
        with pytest.raises(st.DidNotConverge) as caught:
            st.statics(st.System(potential=x**2 + y**2 + z**2, constraints=held))
        assert all(f"'{name}'" in str(caught.value) for name in ("here", "there"))
        assert "innocent" not in str(caught.value)


@pytest.mark.parametrize("start", [2.0, 3.0, 4.7, 5.0])
def test_a_pendulum_pulled_over_stops_in_the_next_hollow(start):
    theta, tau = st.coordinates("theta"), st.inputs("tau")
    pulled = st.System(potential=-G * st.cos(theta), loads=[st.Load(tau, on=theta)])
    for torque in (5.0, 9.0):
        rest = st.statics(pulled, start={theta: start}, inputs={tau: torque})
        hollow = np.arcsin(torque / G)
        hill = np.pi - hollow
        assert rest[theta] == pytest.approx(hollow + 2 * np.pi * (start > hill), abs=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("nodes", "unit", "grown"),
    [(12, 1e-6, 1.0), (12, 1e6, 1.0), (20, 1.0, 1.01), (52, 1.0, 1.01)],
)
def test_a_ring_of_springs_that_floats_is_at_rest_and_free(nodes, unit, grown):
    # From rest itself, too, where no force and no way tell a length.
    r = st.coordinates("r", shape=(nodes, 2))
    h = 2 * unit * np.sin(np.pi / nodes)

    def spring(a, b):
        return 30 * (st.norm(b - a) - h) ** 2 / 2

    ring = st.System(potential=st.each(spring, r[:-1], r[1:]) + spring(r[-1], r[0]))
    angle = 2 * np.pi * np.arange(nodes) / nodes
    circle = unit * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rest = st.statics(ring, start={r: grown * circle})
    # As many springs as nodes: every other motion leaves their lengths alone.
    assert rest.stable and rest.inertia == (nodes, 0, nodes)
    assert len(rest.free) == nodes
    # And from where it is stretched and crumpled.
    for seed in range(3):
        chance = np.random.default_rng(seed)
        rough = circle * chance.uniform(0.5, 2) + 0.3 * h * chance.standard_normal((nodes, 2))
        rest = st.statics(ring, start={r: rough})
        assert rest.inertia == (nodes, 0, nodes) and len(rest.free) == nodes


# -- linear algebra --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_signs_of_sparse_saddle_points_are_those_of_their_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(30, 150)), int(rng.integers(1, 5))
    m = int(rng.integers(0, n // 2))
    bands = [rng.standard_normal(n) for _ in range(width)]
    H = sparse.diags(bands, list(range(width)), shape=(n, n))
    H = ((H + H.T) * (seed % 4 > 0)).tolil()
    if seed % 3 == 0:
        H[0, n - 1] = H[n - 1, 0] = 1.0
        H[n // 2, :] = H[:, n // 2] = 0.3
    A = sparse.lil_matrix((m, n))
    for row, first in enumerate(np.sort(rng.choice(n - 3, m, replace=False))):
        A[row, first : first + 3] = rng.standard_normal(3)
    H, A = H.tocsc(), A.tocsc()
    K = sparse.bmat([[H, A.T], [A, None]], format="csc") if m else H
    order = saddle_order(H, A)
    values = np.linalg.eigvalsh(K.toarray())
    small = 1e-12 * np.abs(values).max()
    expected = [np.sum(values > small), np.sum(values < -small), np.sum(np.abs(values) <= small)]
    assert list(block_signs(K[order][:, order].tocsc())) == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_eigenvalues_on_the_tangent_of_large_systems_are_dense_ones(seed):
    rng = np.random.default_rng(seed)
    n, m = 160, 50
    H = sparse.diags([rng.uniform(-1, 3, n), rng.standard_normal(n - 2)], [0, 2])
    H = (H + H.T).tocsc()
    A = sparse.lil_matrix((m, n))
    for row, first in enumerate(np.sort(rng.choice(n - 3, m, replace=False))):
        A[row, first : first + 3] = rng.standard_normal(3)
    saddle = Saddle(H, A.tocsc())
    values, vectors = saddle.smallest
    assert values == pytest.approx(saddle.tangent_eigenvalues[0][: len(values)], abs=1e-9)
    assert np.abs(A @ vectors).max() < 1e-9
    assert saddle.negative == np.sum(saddle.tangent_eigenvalues[0] < 0)


@pytest.mark.parametrize("seed", range(3))
def test_eigenvalues_of_either_sign_keep_their_digits_beside_larger_ones(seed):
    rng, n = np.random.default_rng(seed), 5
    units, K = 10 ** rng.uniform(-9, 9, n), rng.standard_normal((n, n))
    H = units[:, None] * (K + K.T) * units
    H = (H + H.T) / 2
    with mpmath.workdps(60):
        exact = [float(x) for x in mpmath.eigsy(mpmath.matrix(H.tolist()), eigvals_only=True)]
    found = Saddle(sparse.csc_matrix(H), sparse.csc_matrix((0, n))).graded_eigenvalues
    assert np.abs(found / np.sort(exact) - 1).max() < 1e-11


@pytest.mark.parametrize("elements", [8, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", [1e-9, pytest.param(1e9, marks=pytest.mark.slow)])
def test_a_column_beyond_its_load_is_a_saddle_with_one_falling_direction(elements, unit):
    # L. Euler: a clamped column bears π² E I/(4 l²). Its unknowns are metres and radians.
    s, w = st.positions("s"), st.field("w", over=(st.positions("s"), 0, unit))
    density = w.diff(s, 2) ** 2 / 2 - 1.02 * (np.pi / 2 / unit) ** 2 * w.diff(s) ** 2 / 2
    column = st.Continuum(potential=density, fixed={w.at(0): 0, w.diff(s).at(0): 0})
    rest = st.statics(st.discretize(column, elements=elements), kind="any")
    assert rest.stability == "unstable (saddle)"
    assert [bool(x) for x in rest.eigenvalues[:3] < 0] == [True, False, False]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_rank_does_not_depend_on_units_and_redundant_rows_share(unit):
    lengths = np.array([unit, unit, 1.0])
    A = np.array([[1.0, 0.0, unit], [0.0, 1.0, 2 * unit], [1.0, 1.0, 3 * unit]])
    rows = Rows(A, lengths)
    assert rows.rank == 2
    assert np.abs(A @ rows.tangent).max() < 1e-12 * unit
    force = A.T @ np.array([1.0, 2.0, 3.0])
    assert A.T @ rows.multipliers(force) == pytest.approx(force, rel=1e-12)
