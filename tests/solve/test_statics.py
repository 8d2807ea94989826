"""Where systems rest: published numbers, closed forms, contacts, saddles and large chains."""

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import splu

import stationary as st
from stationary.errors import DidNotConverge

x, y, z, theta = st.coordinates("x y z theta")
m, l, g, k = st.parameters(m=1.0, l=1.0, g=9.81, k=10.0)  # noqa: E741 (l, as on the slides)
tau, F = st.inputs("tau F")

# -- the documents ---------------------------------------------------------------------------------

# S. Hirai, Analytical Mechanics: Variational Principles: m = 0.01, l = 2, g = 9.8, τ = 0.1.
HIRAI = {m: 0.01, l: 2.0, g: 9.8}
weight = m * g * l * (1 - st.cos(theta))
pendulum = st.System(potential=weight, loads=[st.Load(tau, on=theta)])

fx, fy = st.parameters(f_x=0.1, f_y=0.2)
rod = st.Constraint(st.sqrt(x**2 + (y - l) ** 2) - l, name="rod")
cartesian = st.System(potential=m * g * y, work=fx * x + fy * y, constraints=[rod])


def test_a_pendulum_under_a_torque_rests_where_the_slides_say():
    rest = st.statics(pendulum, params=HIRAI, inputs={tau: 0.1})
    assert rest[theta] == pytest.approx(0.5354, abs=5e-5)
    assert rest.energy == pytest.approx(-0.0261, abs=5e-5)
    assert rest.stable and rest.status == "balanced"


def test_a_torque_as_work_and_as_a_load_is_the_same():
    torque = st.parameters(torque=0.1)
    by_work = st.statics(st.System(potential=weight, work=torque * theta), params=HIRAI)
    by_load = st.statics(pendulum, params=HIRAI, inputs={tau: 0.1})
    assert by_work[theta] == by_load[theta] and by_work.energy == by_load.energy


def test_a_pendulum_by_sympy_and_by_numbers_is_the_same():
    exact = sp.asin(tau / (m * g * l)).subs({**HIRAI, tau: 0.1})
    inner = (weight - tau * theta).subs({**HIRAI, tau: 0.1, theta: exact})
    rest = st.statics(pendulum, params=HIRAI, inputs={tau: 0.1})
    assert rest[theta] == pytest.approx(float(exact), rel=1e-14)
    assert rest.energy == pytest.approx(float(inner), rel=1e-13)
    assert rest.eigenvalues == pytest.approx([float((m * g * l * st.cos(exact)).subs(HIRAI))])


@pytest.mark.parametrize("start", [{}, {x: 1.0, y: 1.0}, {x: -1, y: -3}, {x: 1e-3, y: 2.0}])
def test_a_cartesian_pendulum_rests_where_the_slides_say_from_any_start(start):
    rest = st.statics(cartesian, params=HIRAI, start=start)
    assert (rest[x], rest[y]) == pytest.approx((1.4001, 3.4281), abs=6e-5)
    assert rest.energy == pytest.approx(-0.4897, abs=5e-5)
    assert rest.stable


def test_the_rod_carries_what_the_equations_of_the_slides_ask_for():
    # −f_x − λ R_x = 0 and mg − f_y − λ R_y = 0: λ is minus the size of the force on the bob.
    rest = st.statics(cartesian, params=HIRAI)
    f = np.array([0.1, 0.2 - 0.01 * 9.8])
    assert rest.lam["rod"] == pytest.approx(-np.linalg.norm(f), rel=1e-13)
    assert (rest[x], rest[y] - 2) == pytest.approx(tuple(2 * f / np.linalg.norm(f)), rel=1e-13)
    assert rest.lam.shape == (1,) and rest.lam[0] == rest.lam["rod"]


def test_a_cartesian_pendulum_by_sympy_and_by_numbers_is_the_same():
    X, Y, lam = sp.symbols("X Y lam", real=True)
    R = sp.sqrt(X**2 + (Y - 2) ** 2) - 2
    inner = 0.098 * Y - (0.1 * X + 0.2 * Y) - lam * R
    exact = sp.nsolve([inner.diff(v) for v in (X, Y, lam)], (X, Y, lam), (1, 3, -0.1), prec=30)
    rest = st.statics(cartesian, params=HIRAI)
    found = (rest[x], rest[y], rest.lam["rod"])
    assert found == pytest.approx(tuple(map(float, exact)), rel=1e-13)


@pytest.mark.parametrize("start", [(1, 1, 1), (1, 2, 3), (0.1, 0.1, 30)])
def test_the_smallest_box_of_given_volume_is_a_cube(start):
    # The appendix: 2y + 2z − λyz = 0 and so on, hence x = y = z = a and λ = 4/a.
    a = st.parameters(a=2.0)
    surface = 2 * x * y + 2 * y * z + 2 * z * x
    volume = st.Constraint(x * y * z - a**3, name="volume")
    box = st.System(potential=surface, constraints=[volume])
    rest = st.statics(box, start=dict(zip((x, y, z), start)))
    assert rest.q == pytest.approx([2, 2, 2], rel=1e-14)
    assert rest.energy == pytest.approx(6 * 2**2, rel=1e-14)
    assert rest.lam["volume"] == pytest.approx(4 / 2, rel=1e-14)
    assert rest.stable


# -- chains ----------------------------------------------------------------------------------------


def chain(links, span=2.0, length=3.0):
    """Beads of total weight 1 on the inner joints of a chain between level supports."""
    r = st.coordinates("r", shape=(links - 1, 2))
    w, h = st.parameters(w=1.0 / links, h=length / links)

    def stretch(a, b):
        return st.norm(b - a) - h

    held = [
        st.Constraint(stretch(np.zeros(2), r[0]), name="first"),
        st.each(stretch, r[:-1], r[1:], name="link"),
        st.Constraint(stretch(r[-1], np.array([span, 0.0])), name="last"),
    ]
    return r, st.System(potential=st.each(lambda p: w * p[1], r), constraints=held)


def sagging(links, span=2.0, sag=0.8):
    """A parabola that has not the right length."""
    s = np.arange(1, links) / links
    return np.stack([span * s, -4 * sag * s * (1 - s)], axis=1)


def catenary(links, span=2.0, length=3.0):
    """EQ-CATENARY: tan θ_k = (k − (N+1)/2)/h; return h and the joints."""
    step = np.arange(1, links + 1) - (links + 1) / 2

    def excess(h):
        return length / links * np.sum(1 / np.hypot(1, step / h)) - span

    h = brentq(excess, 1e-3 * links, 10 * links, xtol=1e-15, rtol=1e-15)
    angle = np.arctan(step / h)
    legs = length / links * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return h, np.cumsum(legs, axis=0)[:-1]


# references.md, EQ-CATENARY: D = 2, S = 3; U in units of the weight of a link, H likewise.
CATENARY = {
    4: (0.8198164804651956141292, -1.048639226484492868, -2.3648791234800707471),
    5: (1.017516441866092131703, -0.95533446199548548207, -2.980208486664725762),
    10: (2.051051014309119331123, -1.0118918631421689573, -6.0306515486247023952),
    20: (4.1078789889260289746, -1.0068932686803853012, -12.096011730891758912),
}


@pytest.mark.parametrize("links", CATENARY)
def test_a_hanging_chain_has_the_closed_form_of_its_links(links):
    horizontal, lowest, energy = CATENARY[links]
    r, system = chain(links)
    rest = st.statics(system, start={r: sagging(links)}, params={"w": 1.0})
    h, joints = catenary(links)
    assert rest[r] == pytest.approx(joints, abs=1e-13)
    assert rest[r][:, 1].min() == pytest.approx(lowest, rel=1e-13)
    assert rest.energy == pytest.approx(energy, rel=1e-13)
    # λ is the force along ∂R/∂q: minus the tension, whose horizontal part is the same in all links.
    level = np.append(np.diff(rest[r][:, 0], prepend=0), 2 - rest[r][-1, 0]) / (3 / links)
    tension = -np.concatenate([[rest.lam["first"]], rest.lam["link"], [rest.lam["last"]]])
    assert tension * level == pytest.approx(np.full(links, horizontal), rel=1e-12)
    assert h == pytest.approx(horizontal, rel=1e-13)
    assert rest.stable


def test_a_chain_of_a_thousand_links_balances_in_few_steps():
    r, system = chain(1000)
    rest = st.statics(system, start={r: sagging(1000)})
    _, joints = catenary(1000)
    assert rest.residual["force"] < 1e-10 and rest.residual["R"] < 1e-10
    assert rest[r] == pytest.approx(joints, abs=1e-12)
    assert rest.steps <= 12
    assert rest.stable and rest.inertia == (998, 0, 0)


def test_the_factors_of_a_chain_grow_linearly():
    from stationary.derive.elimination_order import saddle_order

    filled = []
    for links in (200, 400, 800):
        n = 2 * (links - 1)
        r, system = chain(links)
        compiled = st.compile(system)
        M = compiled.hessian(sagging(links).ravel()) + 2 * _identity(n)
        A = _rows(system, sagging(links).ravel())
        from scipy.sparse import bmat

        K = bmat([[M, A.T], [A, None]], format="csc")
        order = saddle_order(M, A)
        options = {"SymmetricMode": True}
        factors = splu(
            K[order][:, order].tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options
        )
        filled.append(factors.L.nnz + factors.U.nnz)
    growth = np.diff(filled)
    assert growth[1] == pytest.approx(2 * growth[0], rel=0.05)
    assert filled[-1] < 40 * 3 * 800


def _identity(n):
    from scipy.sparse import eye

    return eye(n, format="csc")


def _rows(system, q):
    """The gradients of the constraints, by the graph of motion."""
    compiled = st.compile(system)
    zero = np.zeros_like(q)
    found = compiled.graph.constraints(0.0, q, zero, [], compiled.graph.layout.values(None))
    return found[2].sparse()


@pytest.mark.slow
def test_a_chain_of_ten_thousand_links_balances_to_rounding():
    r, system = chain(10_000)
    rest = st.statics(system, start={r: sagging(10_000)})
    _, joints = catenary(10_000)
    assert rest.residual["force"] < 1e-10 and rest.residual["R"] < 1e-10
    assert rest[r] == pytest.approx(joints, abs=1e-11)
    assert rest.steps <= 20 and rest.stable


def test_a_chain_from_a_crumpled_start_hangs_as_from_a_smooth_one():
    links = 20
    r, system = chain(links)
    start = sagging(links) + 0.05 * np.random.default_rng(3).standard_normal((links - 1, 2))
    rest = st.statics(system, start={r: start})
    assert rest[r] == pytest.approx(catenary(links)[1], abs=1e-12)


# -- points on a sphere ----------------------------------------------------------------------------


def fekete_start():
    """IVP-FEKETE: where the twenty points of the test set start."""
    rings = [(3, 13, 3 / 8), (7, 29, 1 / 8), (6, 7, -2 / 15), (4, 17, -3 / 10)]
    first = [1, 1, 1, 0]
    points = []
    for (count, turn, height), begin in zip(rings, first):
        angle = 2 * np.pi * np.arange(begin, begin + count) / count + np.pi / turn
        up = np.pi * height
        points += [(np.cos(a) * np.cos(up), np.sin(a) * np.cos(up), np.sin(up)) for a in angle]
    return np.array(points)


def test_twenty_charges_on_a_sphere_reach_the_least_energy_of_the_test_set():
    p = st.coordinates("p", shape=(20, 3))
    i, j = np.triu_indices(20, 1)
    repulsion = st.each(lambda a, b: -st.log(st.norm(b - a)), p[i], p[j])
    sphere = st.each(lambda a: a[0] ** 2 + a[1] ** 2 + a[2] ** 2 - 1, p, name="sphere")
    rest = st.statics(st.System(potential=repulsion, constraints=sphere), start={p: fekete_start()})
    assert rest.energy == pytest.approx(-54.0111299745842, abs=1e-10)
    # By the degree of homogeneity every λ is −(N − 1)/4, the force being 2λp.
    assert rest.lam["sphere"] == pytest.approx(np.full(20, -4.75), abs=1e-8)
    # The whole can be turned about three axes.
    assert rest.stable and len(rest.free) == 3


# -- minima, saddles and starts --------------------------------------------------------------------

swing = st.System(potential=-st.cos(theta))


def test_a_start_on_an_unstable_equilibrium_is_refused_and_taken_when_asked():
    with pytest.raises(DidNotConverge) as caught:
        st.statics(swing, start={theta: np.pi})
    assert caught.value.status == "saddle"
    rest = st.statics(swing, start={theta: np.pi}, kind="any")
    assert rest[theta] == np.pi and not rest.stable
    assert rest.eigenvalues == pytest.approx([-1.0])


def test_a_start_near_the_top_goes_to_the_nearest_minimum_or_stays_when_asked():
    assert st.statics(swing, start={theta: 3.0})[theta] == pytest.approx(0.0, abs=1e-13)
    rest = st.statics(swing, start={theta: 3.0}, kind="any")
    assert rest[theta] == pytest.approx(np.pi, rel=1e-15) and not rest.stable


def test_saddles_are_refused_with_what_was_found_inside():
    saddle = st.System(potential=x**2 - y**2 + y**4)
    with pytest.raises(DidNotConverge) as caught:
        st.statics(saddle)
    assert caught.value.solution.inertia == (1, 1, 0)
    assert caught.value.solution.energy == 0.0
    quiet = st.statics(saddle, throw=False)
    assert quiet.status == "saddle" and not quiet.stable
    assert st.statics(saddle, start={y: 0.1})[y] == pytest.approx(np.sqrt(0.5), rel=1e-14)


def test_a_rod_standing_up_is_a_maximum_on_its_circle():
    top = st.System(potential=m * g * y, constraints=[st.Constraint(x**2 + y**2 - 1, name="rod")])
    up = st.statics(top, start={y: 1.0}, kind="any")
    assert up[y] == 1.0 and not up.stable
    assert up.eigenvalues == pytest.approx([-9.81])
    down = st.statics(top)
    assert down[y] == pytest.approx(-1.0) and down.stable
    assert down.lam["rod"] == pytest.approx(-9.81 / 2)


def test_a_flat_minimum_is_found_as_closely_as_its_forces_allow():
    rest = st.statics(st.System(potential=x**4 / 4 + (y - 1) ** 2), start={x: 1.0})
    assert abs(rest[x]) < 1e-4 and rest[y] == pytest.approx(1.0, rel=1e-12)
    assert rest.residual["force"] < 1e-12 and rest.stable


def test_a_family_of_equilibria_counts_as_stable_and_names_its_direction():
    cart = st.System(potential=m * g * (1 - st.cos(theta)) + 0 * x, coordinates=(x, theta))
    rest = st.statics(cart, start={x: 0.7, theta: 0.4})
    assert rest.stable and rest[x] == 0.7
    along = dict(zip(rest.as_start(), np.abs(rest.free[0])))
    assert len(rest.free) == 1 and along == pytest.approx({"x": 1.0, "theta": 0.0})
    assert rest.inertia == (1, 0, 1)


def test_a_minimum_close_to_the_start_is_preferred_to_one_turns_away():
    Omega = st.parameters(Omega=5.0)
    hoop = st.System(
        kinetic=m * l**2 * (theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
        potential=m * g * l * (1 - st.cos(theta)),
    )
    rest = st.statics(hoop, start={theta: 0.3})
    # EQ-HOOP of references.md.
    assert rest[theta] == pytest.approx(1.1675569038050429639, rel=1e-13)


# -- contacts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [{}, {x: 1.0, y: 3.0}, {x: -0.5, y: 0.1}])
def test_a_ball_in_a_bowl_rests_at_the_bottom_and_weighs_on_it(start):
    bowl = st.System(potential=m * g * y, contacts=[st.Contact(y - x**2, name="bowl")])
    rest = st.statics(bowl, start=start)
    assert rest.q == pytest.approx([0, 0], abs=1e-12)
    assert rest.lam["bowl"] == pytest.approx(9.81, rel=1e-12)
    # On the bowl, the energy is mgx².
    assert rest.eigenvalues == pytest.approx([2 * 9.81])
    assert rest.stable


def test_a_stack_of_blocks_weighs_on_the_floor_as_much_as_all_of_them():
    heights, masses = st.coordinates("y1 y2 y3"), (1.0, 2.0, 3.0)
    below = (0, *heights[:-1])
    contacts = [
        st.Contact(top - bottom - (0.05 if k == 1 else 0.1), name=f"under {k}")
        for k, (top, bottom) in enumerate(zip(heights, below), 1)
    ]
    potential = sum(mass * g * h for mass, h in zip(masses, heights))
    rest = st.statics(
        st.System(potential=potential, contacts=contacts), start=dict(zip(heights, (1, 2, 3)))
    )
    forces = [rest.lam[f"under {k}"] for k in (1, 2, 3)]
    assert forces == pytest.approx([6 * 9.81, 5 * 9.81, 3 * 9.81], rel=1e-13)
    assert rest.q == pytest.approx([0.05, 0.15, 0.25], abs=1e-14)


def test_blocks_on_a_floor_press_with_their_weights():
    h = st.coordinates("h", shape=(6, 1))
    masses = np.arange(1.0, 7.0)
    system = st.System(
        potential=st.each(lambda p, w: w * g * p[0], h, masses),
        contacts=st.each(lambda p: st.Contact(p[0] - 0.5, name="floor"), h),
    )
    rest = st.statics(system, start={h: 2.0})
    assert rest.lam["floor"] == pytest.approx(masses * 9.81, rel=1e-13)


@pytest.mark.parametrize("stiffness", [9.0, 9.5, 10.0, 30.0, 100.0, 1000.0])
def test_a_contact_opens_when_the_spring_carries_the_weight(stiffness):
    # A weight on a spring of rest length 1 above a floor: it touches while mg > k.
    hung = st.System(potential=m * g * y + k * (y - 1) ** 2 / 2, contacts=[st.Contact(y, name="f")])
    rest = st.statics(hung, start={y: 0.5}, params={k: stiffness})
    free = 1 - 9.81 / stiffness
    assert rest[y] == pytest.approx(max(0.0, free), abs=1e-13)
    assert rest.lam["f"] == pytest.approx(max(0.0, 9.81 - stiffness), abs=1e-12)
    assert rest.residual["gap"] < 1e-12 and rest.stable


def test_contacts_and_constraints_hold_together():
    # A ladder of length 2 without friction, kept from sliding by a rope of length 1.2.
    foot = st.Constraint(x**2 + y**2 - 4, name="ladder")
    rope = st.Constraint(x - 1.2, name="rope")
    system = st.System(
        potential=m * g * y / 2,
        constraints=[foot, rope],
        contacts=[st.Contact(y, name="wall foot")],
    )
    rest = st.statics(system, start={x: 1.0, y: 1.5})
    assert rest[y] == pytest.approx(1.6, rel=1e-14)
    assert rest.lam["wall foot"] == 0.0
    assert 2 * rest[y] * rest.lam["ladder"] == pytest.approx(9.81 / 2, rel=1e-13)
    # The rope holds what the ladder pushes: mg/2 · x/y.
    assert rest.lam["rope"] == pytest.approx(-9.81 / 2 * 1.2 / 1.6, rel=1e-13)


# -- forces without a potential --------------------------------------------------------------------


def test_a_follower_load_is_balanced_and_has_no_energy():
    swirl = st.System(potential=k * (x**2 + y**2) / 2, loads=[st.Load((1 - y, x), on=(x, y))])
    rest = st.statics(swirl)
    # 10 x = 1 − y and 10 y = x.
    assert rest.q == pytest.approx([10 / 101, 1 / 101], rel=1e-14)
    assert rest.energy is None
    assert "none: the loads have no potential" in repr(rest)
    assert rest.stable


def test_a_follower_load_that_turns_a_weak_spring_makes_it_unstable():
    # The matrix [[k − 1, 1], [−1, k − 1]] − … has eigenvalues k ± i − 2: unstable below k = 2.
    def loaded(stiffness):
        load = st.Load((2 * x - y, x + 2 * y), on=(x, y))
        system = st.System(potential=k * (x**2 + y**2) / 2, loads=[load])
        return st.statics(system, params={k: stiffness}, kind="any")

    assert loaded(2.1).stable and not loaded(1.9).stable


def test_a_spring_stated_as_a_load_rests_as_one_stated_by_its_energy():
    by_load = st.System(potential=-2 * x, loads=[st.Load(-k * x, on=x)])
    rest = st.statics(by_load)
    assert rest[x] == pytest.approx(0.2, rel=1e-14)
    assert rest.eigenvalues == pytest.approx([10.0]) and rest.stable
    # U − W is kx²/2 − 2x, or nothing is said; never half of it.
    assert rest.energy is None or rest.energy == pytest.approx(-0.2)


def test_a_force_that_falls_with_distance_is_balanced():
    magnet = st.System(potential=k * (x - 1) ** 2 / 2, loads=[st.Load(-1 / x**2, on=x)])
    rest = st.statics(magnet, start={x: 1.0})
    assert 10 * (rest[x] - 1) == pytest.approx(-1 / rest[x] ** 2, rel=1e-13)
    assert rest[x] > 0.8


# -- redundant constraints -------------------------------------------------------------------------


def test_a_constraint_stated_twice_is_named_and_shares_the_force():
    twice = [st.Constraint(y - 1, name="shelf"), st.Constraint(2 * y - 2, name="again")]
    rest = st.statics(st.System(potential=m * g * y + k * x**2, constraints=twice))
    assert rest.redundant == ("again",)
    # Least squares: λ₁ + 2λ₂ = mg with λ along (1, 2).
    assert rest.lam == pytest.approx([9.81 / 5, 2 * 9.81 / 5], rel=1e-13)
    assert rest.residual["force"] < 1e-13 and rest.stable


def test_a_table_on_four_legs_stands_evenly():
    legs = [
        st.Constraint(z + a * x + b * y, name=f"leg {n}")
        for n, (a, b) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)], 1)
    ]
    rest = st.statics(st.System(potential=m * g * z, constraints=legs))
    assert len(rest.redundant) == 1
    assert rest.lam == pytest.approx(np.full(4, 9.81 / 4), rel=1e-13)


# -- steady motion ---------------------------------------------------------------------------------


def test_a_bead_on_a_turning_hoop_rests_where_gravity_and_centrifugal_force_balance():
    Omega = st.parameters(Omega=5.0)
    hoop = st.System(
        kinetic=m * l**2 * (theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
        potential=m * g * l * (1 - st.cos(theta)),
    )
    rest = st.statics(hoop, start={theta: 1.0})
    assert rest[theta] == pytest.approx(np.arccos(9.81 / 25), rel=1e-14)
    assert rest.stable and rest.eigenvalues == pytest.approx([25 * np.sin(rest[theta]) ** 2])
    assert not st.statics(hoop, kind="any").stable
    assert st.statics(hoop, params={Omega: 3.0}).stable


def governor(momentum=0.0, turn=None):
    """IFT-A05 of references.md, reduced by symmetry; either p_φ is kept or φ̇."""
    b, s = st.coordinates("beta s")
    grav, K = 9.81, 8e5
    Ia, It = 0.3e-4 / 6, 0.3 * (1 + 1e-4) / 12
    inertia = 0.3 * 1e-4 / 6 + 3 * 0.01 / 6
    inertia += 2 * (Ia * st.sin(b) ** 2 + It * st.cos(b) ** 2)
    inertia += 2 * (0.3 * (0.05 + 0.5 * st.cos(b)) ** 2 + 5 * (0.05 + st.cos(b)) ** 2)
    d = st.sqrt((0.5 * st.cos(b)) ** 2 + (1 - 0.5 * st.sin(b) - s) ** 2)
    U = 2 * (0.3 * grav * (1 - 0.5 * st.sin(b)) + 5 * grav * (1 - st.sin(b))) + 3 * grav * s
    U += K * (d - 0.5) ** 2
    kinetic = (It + 0.3 / 4 + 5) * b.dot**2 + 3 * s.dot**2 / 2
    if turn is None:
        return (b, s), st.System(kinetic=kinetic, potential=U + momentum**2 / (2 * inertia))
    return (b, s), st.System(kinetic=kinetic + inertia * turn**2 / 2, potential=U)


def test_a_governor_stands_where_the_reference_says():
    (b, s), system = governor(momentum=53.868998658418434)
    rest = st.statics(system, start={b: np.pi / 6, s: 0.5})
    assert rest[b] == pytest.approx(0.39894892978294283, abs=1e-9)
    assert rest[s] == pytest.approx(0.6114281707382252, abs=1e-9)
    assert rest.stable


# -- inputs and time -------------------------------------------------------------------------------


def test_an_input_that_feeds_back_enters_the_balance_and_the_stiffness():
    driven = st.System(potential=x**2 / 2, loads=[st.Load(F, on=x)])
    held = st.statics(driven, inputs={F: 1 - 3 * x})
    assert held[x] == pytest.approx(0.25, rel=1e-14)
    assert held.eigenvalues == pytest.approx([4.0]) and held.stable
    # F = 3x pushes harder than the spring pulls: x = 0 is an equilibrium, and unstable.
    pushed = st.statics(driven, inputs={F: 3 * x}, kind="any")
    assert pushed.eigenvalues == pytest.approx([-2.0]) and not pushed.stable


def test_a_feedback_on_an_angle_is_balanced():
    rest = st.statics(pendulum, params={m: 1, l: 1, g: 9.81}, inputs={tau: 1 - 2 * theta})
    assert 9.81 * np.sin(rest[theta]) == pytest.approx(1 - 2 * rest[theta], rel=1e-13)
    assert rest.eigenvalues == pytest.approx([9.81 * np.cos(rest[theta]) + 2], rel=1e-12)


def test_a_moving_constraint_is_taken_at_its_time():
    towed = st.Constraint((x - st.sin(st.t)) ** 2 + y**2 - l**2, name="rod")
    rest = st.statics(st.System(potential=m * g * y, constraints=[towed]), start={y: -1.0}, t=1.0)
    assert (rest[x], rest[y]) == pytest.approx((np.sin(1.0), -1.0), rel=1e-14)
    assert rest.t == 1.0


def test_a_frame_that_accelerates_pushes_even_at_rest():
    # T = ½ m (ẋ + at)²: −ma acts on the spring.
    a = st.parameters(a=2.0)
    lift = st.System(kinetic=m * (x.dot + a * st.t) ** 2 / 2, potential=k * x**2 / 2)
    assert st.statics(lift)[x] == pytest.approx(-2 / 10, rel=1e-13)


# -- results ---------------------------------------------------------------------------------------


def test_a_result_evaluates_expressions_and_serves_as_a_start():
    rest = st.statics(cartesian, params=HIRAI)
    assert rest[x**2 + (y - l) ** 2] == pytest.approx(4.0)
    assert rest["x"] == rest[x] and rest["x.dot"] == 0.0
    again = st.statics(cartesian, params=HIRAI, start=rest.as_start())
    assert again.q == pytest.approx(rest.q, rel=1e-15)
    motion = st.simulate(
        st.System(kinetic=m * (x.dot**2 + y.dot**2) / 2) + cartesian,
        span=(0, 1), params=HIRAI, start=rest.as_start(),
    )  # fmt: skip
    assert motion[x][-1] == pytest.approx(rest[x], abs=1e-9)


def test_whatever_a_name_stands_for_is_looked_up_by_every_result():
    # θ = asin(F/k) under a moment; plain symbols of SymPy are known by their names.
    angle, k = st.coordinates("angle"), st.parameters(k=2.0)
    F = st.inputs("F")
    system = st.System(kinetic=angle.dot**2 / 2, potential=-k * st.cos(angle))
    system += st.System(loads=[st.Load(F, on=angle)])
    rest = st.statics(system, inputs={F: 1.0})
    motion = st.simulate(system, span=(0, 1), start=rest, inputs={F: 1.0}, points=2)
    plain = sp.Symbol("angle")
    for key, value in {
        k: 2.0, "k": 2.0, F: 1.0, "F": 1.0, plain: np.pi / 6, 2 * plain: np.pi / 3,
        k * sp.sin(plain) - F: 0.0, sp.Symbol("k") * F * angle: np.pi / 3,
    }.items():  # fmt: skip
        assert rest[key] == pytest.approx(value, abs=1e-14)
        assert motion[key] == pytest.approx(value, abs=1e-13)


def test_a_result_prints_its_evidence():
    text = repr(st.statics(cartesian, params=HIRAI))
    for part in ("stable: x = 1.40014, y = 3.42815", "balanced", "-0.489685", "rod -0.14284"):
        assert part in text


def test_eigenvalues_are_those_of_the_hessian_on_the_tangent():
    rng = np.random.default_rng(5)
    B = rng.normal(size=(4, 4))
    S, a = B @ B.T, rng.normal(size=4)
    q = sp.Matrix(st.coordinates("u1 u2 u3 u4"))
    system = st.System(
        potential=(q.T * sp.Matrix(S) * q)[0] / 2 - q[0],
        constraints=[st.Constraint((q.T * sp.Matrix(a))[0] - 1, name="plane")],
    )
    rest = st.statics(system)
    K = np.block([[S, a[:, None]], [a[None, :], np.zeros((1, 1))]])
    exact = np.linalg.solve(K, np.array([1.0, 0, 0, 0, 1]))
    assert rest.q == pytest.approx(exact[:4], rel=1e-11)
    assert rest.lam["plane"] == pytest.approx(-exact[4], rel=1e-11)
    Z = np.linalg.svd(a[None, :])[2][1:].T
    assert rest.eigenvalues == pytest.approx(np.linalg.eigvalsh(Z.T @ S @ Z), rel=1e-11)
