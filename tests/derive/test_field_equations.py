"""Field equations and natural conditions, against textbooks."""

import pytest
import sympy as sp
from sympy import Function

import stationary as st

X = st.positions("X")
rho, A, E, J, G, kappa, k, L = st.parameters("rho A E J G kappa k L")
f, q, m, c, T0, Omega, P = st.parameters("f q m c T0 Omega P")
u = st.field("u", over=(X, 0, L))
w = st.field("w", over=(X, 0, L))
phi = st.field("phi", over=(X, 0, L))


def bar(**more):
    return st.Continuum(
        kinetic=rho * A * u.dot**2 / 2,
        potential=E * A * u.diff(X) ** 2 / 2,
        fixed={u.at(0): 0},
        **more,
    )


def assert_says(equation, left, right=0):
    """Both say the same, up to a common sign."""
    found, expected = equation.lhs - equation.rhs, left - right
    assert 0 in (sp.simplify(found - expected), sp.simplify(found + expected)), equation


def test_extension_of_a_beam_is_that_of_the_slides():
    pde = st.equations(bar(loads=[st.Load(f, on=u.at(L))]))
    assert pde.field_equations == (sp.Eq(rho * A * u.ddot, E * A * u.diff(X, 2), evaluate=False),)
    assert pde.boundary_conditions == (
        sp.Eq(u.at(0), 0, evaluate=False),
        sp.Eq(E * A * u.diff(X).at(L), f, evaluate=False),
    )


def test_constants_give_the_wave_equation_and_both_travelling_waves():
    pde = st.equations(bar())
    assert sp.simplify(pde.wave_speed - sp.sqrt(E / rho)) == 0
    speed = pde.wave_speed
    assert pde.travelling_waves == (
        Function("f")(X - speed * st.t),
        Function("g")(X + speed * st.t),
    )
    assert pde.solved_by({u: sp.exp(-((X - speed * st.t) ** 2))})
    assert not pde.solved_by({u: sp.exp(-((X - 2 * speed * st.t) ** 2))})


def test_coefficients_that_vary_along_the_bar_stay_under_the_derivative():
    area = Function("A")(X)
    pde = st.equations(
        st.Continuum(
            kinetic=rho * area * u.dot**2 / 2,
            potential=E * area * u.diff(X) ** 2 / 2,
            loads=[st.Load(f, on=u.at(L))],
            fixed={u.at(0): 0},
        )
    )
    (equation,) = pde.field_equations
    expected = E * area * u.diff(X, 2) + E * area.diff(X) * u.diff(X)
    assert_says(equation, rho * area * u.ddot, expected)
    assert_says(pde.natural[0], E * area.subs(X, L) * u.diff(X).at(L), f)
    assert "(E*u'*A(X))'" in str(pde)
    assert pde.wave_speed is None and pde.travelling_waves == ()


def test_timoshenko_beam():
    # S. P. Timoshenko, Phil. Mag. 41 (1921) 744; both natural conditions at the free end.
    pde = st.equations(
        st.Continuum(
            kinetic=rho * A * w.dot**2 / 2 + rho * J * phi.dot**2 / 2,
            potential=E * J * phi.diff(X) ** 2 / 2 + kappa * G * A * (w.diff(X) - phi) ** 2 / 2,
            loads=[st.Load(q, on=w)],
            fixed={w.at(0): 0, phi.at(0): 0},
        )
    )
    shear = kappa * G * A
    assert_says(pde[w], rho * A * w.ddot, shear * (w.diff(X, 2) - phi.diff(X)) + q)
    assert_says(
        pde[phi],
        rho * J * phi.ddot,
        E * J * phi.diff(X, 2) + shear * (w.diff(X) - phi),
    )
    assert_says(pde[w.at(L)], shear * (w.diff(X).at(L) - phi.at(L)))
    assert_says(pde[phi.at(L)], E * J * phi.diff(X).at(L))
    assert len(pde.essential) == len(pde.natural) == 2


def test_a_string_of_large_amplitude():
    # Tension T0 along the string: U = T0 (√(1 + w′²) − 1).
    pde = st.equations(
        st.Continuum(
            kinetic=rho * w.dot**2 / 2,
            potential=T0 * (st.sqrt(1 + w.diff(X) ** 2) - 1),
            fixed={w.at(0): 0},
        )
    )
    slope = w.diff(X)
    assert_says(
        pde.field_equations[0],
        rho * w.ddot,
        T0 * w.diff(X, 2) / (1 + slope**2) ** sp.Rational(3, 2),
    )
    end = slope.at(L)
    assert_says(pde.natural[0], T0 * end / sp.sqrt(1 + end**2))


def test_a_beam_on_an_elastic_foundation_with_rotary_inertia_and_axial_load():
    pde = st.equations(
        st.Continuum(
            kinetic=rho * A * w.dot**2 / 2 + rho * J * w.diff(X).dot ** 2 / 2,
            potential=E * J * w.diff(X, 2) ** 2 / 2 + k * w**2 / 2 - P * w.diff(X) ** 2 / 2,
        )
    )
    assert_says(
        pde.field_equations[0],
        rho * A * w.ddot - rho * J * w.diff(X, 2).ddot,
        -E * J * w.diff(X, 4) - P * w.diff(X, 2) - k * w,
    )
    assert len(pde.natural) == 4
    for number, place in ((0, sp.S(0)), (2, L)):
        shear = E * J * w.diff(X, 3).at(place) + P * w.diff(X).at(place)
        assert_says(pde.natural[number], shear, rho * J * w.diff(X).at(place).ddot)
        assert_says(pde.natural[number + 1], E * J * w.diff(X, 2).at(place))


def test_a_rotating_bar_feels_its_centrifugal_force():
    rotating = st.Continuum(
        kinetic=rho * A * (u.dot**2 + Omega**2 * (X + u) ** 2) / 2,
        potential=E * A * u.diff(X) ** 2 / 2,
        fixed={u.at(0): 0},
    )
    pde = st.equations(rotating)
    assert_says(
        pde.field_equations[0],
        rho * A * u.ddot,
        E * A * u.diff(X, 2) + rho * A * Omega**2 * (X + u),
    )
    assert_says(pde.natural[0], E * A * u.diff(X).at(L))
    rest = st.equations(rotating, principle="statics")
    assert_says(rest.field_equations[0], E * A * u.diff(X, 2) + rho * A * Omega**2 * (X + u))


def test_masses_springs_and_dampers_at_the_end_stand_in_its_condition():
    tip = st.System(
        kinetic=m * u.at(L).dot ** 2 / 2,
        potential=k * u.at(L) ** 2 / 2,
        dissipation=c * u.at(L).dot ** 2 / 2,
    )
    pde = st.equations(bar(parts=[tip], loads=[st.Load(f, on=u.at(L))]))
    end = u.at(L)
    assert_says(pde.natural[0], E * A * u.diff(X).at(L), f - m * end.ddot - c * end.dot - k * end)


def test_distributed_loads_and_dissipation_act_along_the_bar():
    p = st.parameters("p")
    moving = bar(loads=[st.Load(p * X * st.sin(st.t), on=u)], dissipation=c * u.dot**2 / 2)
    equation = st.equations(moving).field_equations[0]
    expected = E * A * u.diff(X, 2) + p * X * st.sin(st.t) - c * u.dot
    assert_says(equation, rho * A * u.ddot, expected)


def test_a_load_inside_a_beam_makes_its_shear_jump():
    pde = st.equations(
        st.Continuum(
            kinetic=rho * A * w.dot**2 / 2,
            potential=E * J * w.diff(X, 2) ** 2 / 2,
            fixed={w.at(0): 0, w.at(L): 0},
            loads=[st.Load(f, on=w.at(L / 2))],
        )
    )
    third, second = w.diff(X, 3), w.diff(X, 2)
    jump = third.at(L / 2, "+") - third.at(L / 2, "-")
    said = [e for e in pde.natural if e.has(third.at(L / 2, "+"))]
    assert_says(said[0], E * J * jump, f)
    smooth = [e for e in pde.natural if e.has(second.at(L / 2, "+"))]
    assert_says(smooth[0], E * J * (second.at(L / 2, "+") - second.at(L / 2, "-")))


def test_a_load_inside_makes_the_slopes_of_coupled_fields_jump():
    # What pulls at v is v′ + b u′, of what is loaded f; nothing pulls at v in the middle.
    v, b = st.field("v", over=(X, 0, L)), st.parameters("b")
    du, dv = u.diff(X), v.diff(X)
    pde = st.equations(
        st.Continuum(potential=du**2 / 2 + dv**2 / 2 + b * du * dv, loads=[st.Load(f, u.at(L / 2))])
    )
    jump_u, jump_v = (s.at(L / 2, "-") - s.at(L / 2, "+") for s in (du, dv))
    assert_says(pde[u.at(L / 2)], sp.expand(jump_u + b * jump_v), f)
    assert_says(pde[v.at(L / 2)], sp.expand(jump_v + b * jump_u))


def test_two_bars_joined_at_a_point_balance_their_forces_there():
    a, E2 = st.parameters("a E2")
    one, two = st.field("u1", over=(X, 0, a)), st.field("u2", over=(X, a, L))
    pde = st.equations(
        st.Continuum(
            potential=E * one.diff(X) ** 2 / 2 + E2 * two.diff(X) ** 2 / 2,
            fixed={one.at(0): 0, two.at(a): one.at(a)},
            loads=[st.Load(f, on=one.at(a))],
        )
    )
    assert_says(pde.natural[0], E * one.diff(X).at(a) - E2 * two.diff(X).at(a), f)
    assert_says(pde.natural[1], E2 * two.diff(X).at(L))
    assert sp.Eq(two.at(a), one.at(a), evaluate=False) in pde.essential


def test_a_cart_carrying_a_beam_has_an_equation_of_its_own():
    x, M, F = st.coordinates("x"), st.parameters("M"), st.inputs("F")
    pde = st.equations(
        st.Continuum(
            kinetic=rho * A * w.dot**2 / 2,
            potential=E * J * w.diff(X, 2) ** 2 / 2,
            fixed={w.at(0): x, w.diff(X).at(0): 0},
            parts=[st.System(kinetic=M * x.dot**2 / 2, loads=[st.Load(F, on=x)])],
        )
    )
    assert_says(pde.part_equations[0], M * x.ddot, F - E * J * w.diff(X, 3).at(0))


def test_a_coordinate_inside_a_density_meets_the_whole_field():
    x, M = st.coordinates("x"), st.parameters("M")
    pde = st.equations(
        st.Continuum(
            kinetic=rho * (u.dot + x.dot) ** 2 / 2,
            potential=E * u.diff(X) ** 2 / 2,
            fixed={u.at(0): 0},
            parts=[st.System(kinetic=M * x.dot**2 / 2)],
        )
    )
    assert_says(pde.field_equations[0], rho * (u.ddot + x.ddot), E * u.diff(X, 2))
    whole = sp.Integral(-rho * u.ddot - rho * x.ddot, (X, 0, L))
    assert_says(pde.part_equations[0], M * x.ddot, whole)


def test_decimals_stay_as_they_were_typed():
    v = st.field("v", over=(X, 0, 1.5))
    pde = st.equations(
        st.Continuum(kinetic=0.35 * v.dot**2, potential=0.1 * v.diff(X) ** 2, fixed={v.at(0): 0})
    )
    assert str(pde.field_equations[0].lhs) == "0.7*v.ddot"
    assert str(pde.field_equations[0].rhs) == "0.2*v''"


def test_variational_derivative_agrees_with_sympy():
    # An independent path: SymPy's own Euler–Lagrange equations for functions of two variables.
    from sympy.calculus.euler import euler_equations

    g, x, s = Function("g"), sp.Symbol("x", real=True), sp.Symbol("s", real=True)
    field = g(x, s)

    def density(v, vt, vx, vxx, place):
        return vt**2 * (1 + place) / 2 + vx * vt * v - place * vxx**2 * (1 + v**2) - vx**4 + v**3

    theirs = euler_equations(
        density(field, field.diff(s), field.diff(x), field.diff(x, 2), x), [field], [x, s]
    )[0]
    over = st.field("v", over=(X, 0, 1))
    ours = st.equations(
        st.Continuum(kinetic=density(over, over.dot, over.diff(X), over.diff(X, 2), X))
    )
    shape = sp.sin(2 * X + 3 * st.t) + X**2 * st.t
    here = {X: 0.3, st.t: 0.7}
    residual = ours.residuals[0]
    jets = {
        j: shape.diff(X, j.order).diff(st.t, j.rate).subs(here) for j in residual.atoms(st.Field)
    }
    left = residual.xreplace(jets).subs(here)
    put = shape.xreplace({X: x, st.t: s})
    right = theirs.lhs.subs(field, put).doit().subs({x: 0.3, s: 0.7})
    assert float(left) == pytest.approx(-float(right), rel=1e-12)


def test_the_derivation_shows_every_step_of_the_slides():
    tip = st.System(kinetic=m * u.at(L).dot ** 2 / 2)
    told = st.equations(bar(loads=[st.Load(f, on=u.at(L))], parts=[tip])).explain()
    steps = [line.partition(". ")[2] for line in told.splitlines() if line.startswith("## ")]
    assert steps == [
        "Energies and the Lagrangian",
        "The variation",
        "By parts in time",
        "By parts along the interval",
        "The variation of the action, collected",
        "Field equations and boundary conditions",
        "Constants: the wave equation",
    ]
    assert r"\left[A E u'\, \delta u\right]_{0}^{L} - \int_{0}^{L} A E u''\, \delta u\, dX" in told
    assert r"\left\{A E u'' - A \rho \ddot{u}\right\} \delta u\, dX\, dt" in told
    assert r"\left\{-A E u'(L) + f - m \ddot{u}(L)\right\} \delta u(L)\, dt" in told
    assert r"c = \sqrt{\frac{E}{\rho}}" in told
