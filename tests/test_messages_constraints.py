"""What is said about constraints that cannot be honoured, word for word."""

import pytest

import stationary as st
from tests.checks import assert_says

cos, sin = st.cos, st.sin


@pytest.fixture
def xy():
    return st.coordinates("x y")


def stated(**terms):
    x, y = st.coordinates("x y")
    return st.System(kinetic=(x.dot**2 + y.dot**2) / 2, **terms)


def pendulum(length=1.0, name="rod"):
    x, y = st.coordinates("x y")
    return st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), length, name=name)


# -- statements -----------------------------------------------------------------------------------


def test_a_constraint_without_coordinates_is_refused():
    length = st.parameters(l=1.0)
    assert_says(
        st.StatementError,
        "constraint 'fixed' contains no coordinate.\n"
        "  Found l - 1 = 0, which is free of them.\n"
        "  Remove it, or write it in terms of the coordinates.",
        lambda: stated(constraints=[st.Constraint(length - 1, name="fixed")]),
    )


@pytest.mark.parametrize(("R", "truth"), [(0, "always true"), (1, "never true")])
def test_a_constant_constraint_is_refused_true_or_false(xy, R, truth):
    x, _ = xy
    message = (
        "constraint 'idle' contains no coordinate.\n"
        f"  Found {R} = 0, which is {truth}.\n"
        "  Remove it, or write it in terms of the coordinates."
    )
    assert_says(
        st.StatementError, message, lambda: stated(constraints=[st.Constraint(R, name="idle")])
    )
    # The same, after SymPy has cancelled everything.
    assert_says(
        st.StatementError,
        message,
        lambda: stated(constraints=[st.Constraint(x - x + R, name="idle")]),
    )


def test_a_constraint_on_a_velocity_is_sent_to_pfaffian(xy):
    x, y = xy
    assert_says(
        st.StatementError,
        "constraint 'belt' depends on the velocity 'x.dot'.\n"
        "  Expected R(q, t) = 0.\n"
        "  State it under pfaffian=[…] if it is linear in the velocities.",
        lambda: stated(constraints=[st.Constraint(x.dot - y, name="belt")]),
    )


def test_a_repeated_constraint_on_a_velocity_is_sent_to_pfaffian():
    r = st.coordinates("r", shape=(3, 1))
    assert_says(
        st.StatementError,
        "constraint 'belt' depends on the velocity 'r[i,0].dot'.\n"
        "  Expected R(q, t) = 0.\n"
        "  State it under pfaffian=[…] if it is linear in the velocities.",
        lambda: st.System(
            kinetic=st.each(lambda v: v[0] ** 2, r.dot),
            constraints=st.each(lambda v: v[0] - 1, r.dot, name="belt"),
        ),
    )


@pytest.mark.parametrize("make", [lambda x, y: x.dot**2 - y.dot, lambda x, y: x.dot * y.dot - 1])
def test_a_pfaffian_row_that_is_not_linear_is_refused(xy, make):
    row = make(*xy)
    assert_says(
        st.StatementError,
        "Pfaffian constraint 'roll' is not linear in the velocities.\n"
        f"  Found {row} = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
        "  Solve it for a linear condition first.",
        lambda: stated(pfaffian=[st.Pfaffian(row, name="roll")]),
    )


def test_a_pfaffian_row_without_velocities_is_sent_to_constraints(xy):
    x, y = xy
    assert_says(
        st.StatementError,
        "Pfaffian constraint 'roll' contains no velocity.\n"
        "  Found x - y = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
        "  State it under constraints=[…] if it restricts the coordinates.",
        lambda: stated(pfaffian=[st.Pfaffian(x - y, name="roll")]),
    )


def test_two_constraints_of_one_name_are_refused(xy):
    x, y = xy
    message = (
        "two constraints have the name 'rod'.\n"
        "  Expected a name of its own for each.\n"
        "  Rename one, with name=…, or leave the names out."
    )
    one, other = st.Constraint(x, name="rod"), st.Constraint(y, name="rod")
    assert_says(st.StatementError, message, lambda: stated(constraints=[one, other]))
    # Parts that are added bring their names along.
    assert_says(
        st.StatementError,
        message,
        lambda: stated(constraints=[one]) + st.System(constraints=[other]),
    )


def test_a_constraint_and_a_pfaffian_row_of_one_name_are_refused(xy):
    # motion.lam["a"] could mean either.
    x, y = xy
    with pytest.raises(st.StatementError, match="have the name 'a'"):
        stated(constraints=[st.Constraint(x, name="a")], pfaffian=[st.Pfaffian(y.dot, name="a")])


def test_unnamed_parts_have_numbers_of_their_own(xy):
    x, y = xy
    two = st.rod((0, 0), (x, y), 1) + st.rod((1, 0), (x, y), 1)
    assert [c.name for c in two.constraints] == ["R1", "R2"]


@pytest.mark.parametrize("kind", ["constraints", "pfaffian"])
def test_an_input_in_a_constraint_is_refused(xy, kind):
    # R̈ needs the second rate of an input, and nobody knows it; one left out is a wrong motion.
    x, _ = xy
    F = st.inputs("F")
    term = {
        "constraints": st.Constraint(x - F, name="drive"),
        "pfaffian": st.Pfaffian(x.dot - F, name="drive"),
    }[kind]
    with pytest.raises(st.StationaryError, match="'drive'.*input 'F'"):
        system = stated(**{kind: [term]})
        st.simulate(system, span=(0, 1), inputs={F: sin(st.t)}, points=3)


def test_text_is_not_a_constraint():
    assert_says(
        st.StatementError,
        "constraints has an entry that is not one.\n"
        "  Found 'x - 1', expected st.Constraint(…) or an expression.\n"
        "  Pass a list of such terms.",
        lambda: stated(constraints=["x - 1"]),
    )


# -- starts ---------------------------------------------------------------------------------------


def test_a_start_off_the_constraint_is_refused_where_it_may_not_be_repaired(xy):
    x, y = xy
    assert_says(
        st.StatementError,
        "the start violates constraints.\n"
        "  Found: 'rod' has R = 0.118; expected zero.\n"
        "  Pass repair=True to have it mended.",
        lambda: st.simulate(pendulum(), span=(0, 1), start={x: 1, y: 0.5}, repair=False),
    )
    assert_says(
        st.StatementError,
        "the start violates constraints.\n"
        "  Found: 'rod' has Ṙ = 3; expected zero.\n"
        "  Pass repair=True to have it mended.",
        lambda: st.consistent(pendulum(), {x: 1, x.dot: 3}, repair=False),
    )


def test_the_rows_of_a_repeated_constraint_are_named_by_number():
    r = st.coordinates("r", shape=(4, 2))
    chain = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        constraints=st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
    )
    assert_says(
        st.StatementError,
        "the start violates constraints.\n"
        "  Found: 'link[2]' has R = 1; 'link[1]' has R = 0.5; expected zero.\n"
        "  Pass repair=True to have it mended.",
        lambda: st.consistent(chain, {r: [[0, 0], [1, 0], [2.5, 0], [4.5, 0]]}, repair=False),
    )


def test_contradictory_constraints_are_named(xy):
    x, _ = xy
    system = pendulum() + st.rod((0, 0), st.coordinates("x y"), 2.0, name="long")
    assert_says(
        st.StatementError,
        "the start violates constraints.\n"
        "  Found: 'rod' has R = 0.5; 'long' has R = -0.5; expected zero.\n"
        "  No state near the start satisfies all of them: they contradict each other, or the start "
        "is too far away. Remove one, or start closer.",
        lambda: st.simulate(system, span=(0, 1), start={x: 1}),
    )


def test_a_constraint_that_no_state_satisfies_is_named(xy):
    x, _ = xy
    assert_says(
        st.StatementError,
        "the start violates constraints.\n"
        "  Found: 'nowhere' has R = 1; expected zero.\n"
        "  No state near the start satisfies all of them: they contradict each other, or the start "
        "is too far away. Remove one, or start closer.",
        lambda: st.consistent(stated(constraints=[st.Constraint(x**2 + 1, name="nowhere")])),
    )


def test_contradictory_velocities_are_named(xy):
    x, _ = xy
    system = stated(
        pfaffian=[st.Pfaffian(x.dot - 1, name="slow"), st.Pfaffian(x.dot - 2, name="fast")]
    )
    with pytest.raises(st.StatementError) as caught:
        st.simulate(system, span=(0, 1))
    assert str(caught.value).startswith(
        "the start violates constraints.\n"
        "  Found: 'slow' has Ṙ = 0.5; 'fast' has Ṙ = -0.5; expected zero.\n"
    )


def test_a_start_where_a_constraint_has_no_slope_is_refused_by_name():
    # Coordinates left out are zero, and there a rod from the origin has no direction.
    with pytest.raises(st.StatementError, match="'rod'"):
        st.simulate(pendulum(), span=(0, 1))


def test_a_rod_of_negative_length_is_refused_by_name(xy):
    x, _ = xy
    with pytest.raises(st.StatementError, match="rod"):
        st.simulate(pendulum(-1.0), span=(0, 1), start={x: 1.0})


# -- questions ------------------------------------------------------------------------------------


def test_a_force_of_an_unknown_constraint_names_the_known_ones(xy):
    x, _ = xy
    motion = st.simulate(pendulum(), span=(0, 1), start={x: 1}, points=3)
    with pytest.raises(st.StatementError) as caught:
        motion.force("rood")
    assert str(caught.value) == (
        "constraint 'rood' is not known.\n  Known: rod.\n  Did you mean 'rod'?"
    )


@pytest.mark.parametrize("key", [7, (0, 3), 1.5, "symbol", ("rod", 0), object()])
def test_an_entry_that_no_multiplier_has_is_refused_by_name(xy, key):
    x, _ = xy
    lam = st.statics(pendulum(), start={x: 0.1}).lam
    assert list(lam) == [lam["rod"]] == [lam[0]]
    with pytest.raises(st.StatementError) as caught:
        lam[x if key == "symbol" else key]
    assert "is no entry of the multipliers.\n  Found an array" in str(caught.value)
    assert "names: rod.\n  Name" in str(caught.value)


def test_the_force_of_a_friction_is_no_multiplier(xy):
    x, _ = xy
    pulled = st.System(constraints=[x - st.t], friction=[st.Friction(1, on=x, name="rub")])
    with pytest.raises(st.StatementError) as caught:
        st.minimum_power(pulled).lam["rub"]
    assert "friction 'rub' has no multiplier.\n  Constraints and contacts have one: R1.\n" in str(
        caught.value
    )


def test_a_negative_rate_of_stabilization_is_refused():
    assert_says(
        st.StatementError,
        "the rate of a stabilization is a number, zero or positive.\n"
        "  Found alpha=-1.\n"
        "  Give a rate in 1/s, as in st.Baumgarte(alpha=50), or none to have one chosen.",
        lambda: st.Baumgarte(alpha=-1),
    )


def test_a_rate_of_stabilization_that_is_no_number_is_refused():
    assert_says(
        st.StatementError,
        "the rate of a stabilization is a number, zero or positive.\n"
        "  Found alpha='fast'.\n"
        "  Give a rate in 1/s, as in st.Baumgarte(alpha=50), or none to have one chosen.",
        lambda: st.Baumgarte(alpha="fast"),  # pyright: ignore[reportArgumentType]
    )


@pytest.mark.parametrize("wrong", ["baumgarte", 10.0, st.Projection])
def test_a_stabilization_that_is_none_is_refused_with_the_choices(xy, wrong):
    x, _ = xy
    with pytest.raises((st.StatementError, TypeError), match="Baumgarte"):
        st.simulate(pendulum(), span=(0, 1), start={x: 1}, stabilize=wrong)


def test_a_coordinate_that_neither_mass_nor_constraint_holds_is_refused(xy):
    x, y = xy
    z = st.coordinates("z")
    system = pendulum() + st.System(potential=z**2)
    assert_says(
        st.DerivationError,
        "the mass matrix is singular: no kinetic energy involves the velocity of 'z'.\n"
        "  Expected an inertia for each of the 3 coordinates.\n"
        "  Give 'z' a mass, constrain it, or use quasistatics().",
        lambda: st.simulate(system, span=(0, 1), start={x: 1}),
    )


def test_a_pfaffian_row_may_depend_on_everything_but_squares_of_velocities(xy):
    # Coefficients may be as wild as they like: this is linear.
    x, y = xy
    row = x.dot * sin(x * y) * cos(st.t) - y.dot * (1 + x**2) + sin(st.t) * y
    assert stated(pfaffian=[row]).pfaffian[0].name == "A1"
