"""What is refused about sliding, word for word."""

from typing import Any, cast

import numpy as np
import pytest

import stationary as st
from tests.checks import assert_says

x, y = st.coordinates("x y")


def test_a_negative_friction_limit_at_this_place():
    slope = st.System(friction=[st.Friction(1 - x**2, on=y, name="slope")], constraints=[x - 2,
                      y - st.t])  # fmt: skip
    for find in (st.minimum_power, st.minimum_dissipation, st.newton):
        assert_says(
            st.StatementError,
            "the limit of friction 'slope' is negative here.\n"
            "  Found -3, expected zero or more.\n"
            "  Check its sign, and the normal force in it.",
            lambda find=find: find(slope, at={x: 2}),
        )
    step = st.minimum_power(
        st.System(friction=[st.Friction(1 - x**2, on=y, name="slope")],
                  constraints=[x - 0.5, y - st.t]), at={x: 0.5},
    )  # fmt: skip
    assert step.power == pytest.approx(0.75)


def test_a_negative_limit_of_one_row_is_named_with_its_place():
    r = st.coordinates("r", shape=(4, 2))
    rough = st.System(
        friction=st.each(lambda p: st.Friction(p[0], on=p), r, name="ground"),
        constraints=[r[0, 0] - st.t],
    )
    with pytest.raises(st.StatementError, match=r"the limit of friction 'ground\[2\]' is negative"):
        st.minimum_power(rough, at={r: [[0, 0], [1, 0], [-1, 0], [2, 0]]})


def test_friction_on_something_without_velocity():
    stuck = st.System(
        friction=[st.Friction(1.0, on=(3, 4), name="post"), st.Friction(1.0, on=x, name="floor")],
        constraints=[x - st.t],
    )
    assert_says(
        st.StatementError,
        "friction 'post' acts on something that does not move.\n"
        "  Found 3, 4, which no coordinate moves.\n"
        "  Say against which motion it acts, as in st.Friction(limit, on=(x, y)).",
        lambda: st.minimum_power(stuck),
    )


def test_friction_on_a_velocity_is_told_from_friction_on_a_place():
    # Its rate is an acceleration: it would take nothing of what slides.
    r = st.coordinates("r", shape=(4, 2))
    for made, shown in (
        (lambda: [st.Friction(1.0, on=x.dot, name="floor")], "x.dot"),
        (lambda: [st.Drag(1.0, 2, on=(x, 2 * y.dot), name="floor")], "2*y.dot"),
        (lambda: st.each(lambda v: st.Friction(1.0, on=v), r.dot, name="floor"), "r[i,0].dot"),
    ):
        assert_says(
            st.StatementError,
            f"friction 'floor' acts on '{shown}', which is not a place.\n"
            f"  Found the velocity '{shown.split('*')[-1]}' in it; friction acts against the rate "
            "of what it is given.\n"
            "  Give what slips, whose rate is the speed of the slip, as in "
            "st.Friction(limit, on=x).",
            lambda made=made: st.System(friction=made()),
        )


def test_no_friction_and_no_constraint():
    assert_says(
        st.StatementError,
        "there is no friction and no constraint: nothing balances the loads.\n"
        "  Found neither friction, nor dissipation, nor constraints.\n"
        "  State what resists the motion, or use st.simulate.",
        lambda: st.minimum_power(st.System(potential=x)),
    )


def test_a_pusher_that_is_not_touching():
    finger = st.Pusher(point=(0, st.t - 0.6), edge=((-1, -0.5), (1, -0.5)), name="finger")
    card = st.slider(points=[(-1, 0), (1, 0)], weights=1.0, pusher=finger)
    assert_says(
        st.StatementError,
        "the pusher 'finger' is not touching.\n"
        "  Found a gap of 0.1, expected zero; nothing else moves it.\n"
        "  Start where it touches, or follow it over time by st.quasistatics.",
        lambda: st.minimum_power(card),
    )


def test_a_penetrated_contact():
    wall = st.System(
        friction=[st.Friction(1.0, on=x)], contacts=[st.Contact(x - st.t, name="wall")]
    )
    assert_says(
        st.StatementError,
        "contact 'wall' is penetrated.\n"
        "  Found a gap of -0.2, expected zero or more.\n"
        "  Start where bodies touch or are apart.",
        lambda: st.minimum_power(wall, at={x: -0.2}),
    )


def test_a_configuration_that_violates_a_constraint():
    bead = st.System(
        friction=[st.Friction(1.0, on=(x, y))],
        constraints=[st.Constraint(st.norm((x - st.t, y)) - 1, name="link")],
    )
    assert_says(
        st.StatementError,
        "the configuration violates a constraint.\n"
        "  Found 'link' has R = 0.5; expected zero.\n"
        "  Move it onto the constraints first: at=st.consistent(system, start).",
        lambda: st.minimum_power(bead, at={x: 0, y: 1.5}),
    )


def sled():
    return st.System(friction=[st.Friction(1.0, on=(x, y), name="snow")], constraints=[x - st.t])


def test_unknown_keys_are_refused_by_name():
    k = st.parameters(k=1.0)
    system = st.System(friction=[st.Friction(k, on=(x, y))], constraints=[x - st.t])
    step = st.minimum_power(system)
    for do in (
        lambda: st.minimum_power(system, at={"z": 1}),
        lambda: st.minimum_power(system, params={"kk": 1}),
        lambda: st.minimum_power(system, inputs={"u": 1}),
        lambda: st.quasistatics(system, span=(0, 1), start={"z": 1}),
        lambda: step["z"],
        lambda: step.lam["missing"],
    ):
        with pytest.raises((st.StatementError, KeyError)) as caught:
            do()
        assert any(word in str(caught.value) for word in ("'z'", "'kk'", "'u'", "'missing'"))


def test_a_velocity_dependent_load_is_refused_by_name():
    wind = st.System(
        loads=[st.Load(-2 * x.dot, on=x, name="wind")], friction=[st.Friction(1.0, on=x)]
    )
    assert_says(
        st.DerivationError,
        "the principle of minimum power does not hold for load 'wind'.\n"
        "  It grows with the power 1 of the speed: the slope of its power is 2 times it, so that "
        "the principle is wrong by the factor n + 1.\n"
        "  State drag as st.Drag(…), or use st.newton, which balances the forces.",
        lambda: st.minimum_power(wind),
    )


@pytest.mark.parametrize(
    "term, named, what",
    [
        (st.Friction(1 + x.dot**2, on=x, name="pad"), "friction 'pad'", "limit"),
        (st.Drag(1 + x.dot**2, 1, on=x, name="oil"), "drag 'oil'", "coefficient"),
    ],
)
def test_a_size_that_depends_on_the_velocity_is_refused_in_a_sentence(term, named, what):
    with pytest.raises(st.DerivationError) as caught:
        st.minimum_power(st.System(friction=[term]))
    lines = str(caught.value).splitlines()
    assert lines[0] == f"the principle of minimum power does not hold for {named}."
    assert lines[1] == f"  It depends on the velocity by its {what}."


def test_what_moves_with_an_input_is_refused_since_its_rate_is_not_known():
    F = st.inputs("F")
    assert_says(
        st.StatementError,
        "what friction 'belt' acts on contains the input 'F'.\n"
        "  Found -F + x; its rate would need the rate of the input.\n"
        "  Write the imposed motion as an expression of st.t instead.",
        lambda: st.System(friction=[st.Friction(1.0, on=(x - F, y), name="belt")]),
    )
    assert_says(
        st.StatementError,
        "contact 'hand' contains the input 'F'.\n"
        "  Found -F + x; its rate would need the rate of the input.\n"
        "  Write the imposed motion as an expression of st.t instead.",
        lambda: st.System(contacts=[st.Contact(x - F, name="hand")]),
    )


def test_acceleration_and_jams_are_told_with_what_to_do():
    pulled = st.System(loads=[st.Load(3.0, on=x, name="winch")], friction=[st.Friction(2.0, on=x)])
    assert_says(
        st.NoMotion,
        "there is no quasistatic motion: it accelerates, fed by load 'winch'.\n"
        "  Along (x.dot +1) the loads give 3 and friction takes 2.\n"
        "  Increase the friction, lower the load, hold the direction by a constraint, or use "
        "st.simulate.",
        lambda: st.minimum_power(pulled),
    )
    jammed = st.System(
        friction=[st.Friction(1.0, on=x)],
        constraints=[
            st.Constraint(x - st.t, name="left"), st.Constraint(x - 2 * st.t, name="right"),
        ],
    )  # fmt: skip
    assert_says(
        st.NoMotion,
        "it is jammed: no velocity satisfies all constraints.\n"
        "  These conflict: 'left', 'right'.\n"
        "  Remove one, or change the motion that it imposes.",
        lambda: st.minimum_power(jammed),
    )


@pytest.mark.parametrize("ask", [
    st.minimum_power, st.minimum_dissipation, st.minimum_power_holds, st.newton,
    lambda s: st.quasistatics(s, span=(0, 1)),
])  # fmt: skip
def test_what_is_no_system_is_refused(ask):
    with pytest.raises(st.StatementError, match="what is asked about is not a system"):
        ask("x")


@pytest.mark.parametrize("held", [(x - y) ** 2, x**2 + y**2, x**2 - y**2])
@pytest.mark.parametrize("ask", [
    st.minimum_power, st.minimum_dissipation, st.newton,
    lambda s: st.quasistatics(s, span=(0, 1)), lambda s: st.limit_load(s, load=st.Load(1, on=y)),
])  # fmt: skip
def test_a_constraint_without_a_gradient_is_named(held, ask):
    # Where velocities are concerned it holds nothing: x would be told to run away from y.
    system = st.System(
        potential=x, friction=[st.Friction(0.3, on=(x, y))],
        constraints=[st.Constraint(held, name="held")],
    )  # fmt: skip
    with pytest.raises(st.StatementError, match="'held' allows no conclusion here"):
        ask(system)


def test_a_step_of_one_support_point_can_be_printed():
    part = st.slider(points=[(0, 0)], weights=1.0)
    px, *_ = part.coordinates
    step = st.minimum_power(part + st.System(constraints=[px - st.t]))
    assert "slider (-1, " in repr(step)


def test_a_step_has_no_accelerations():
    step = st.minimum_power(sled())
    with pytest.raises(st.StatementError, match="a step has no accelerations"):
        step[x.dot.dot]


def test_stiffness_and_step_and_method_are_checked():
    for do, message in (
        (lambda: st.newton(sled(), stiffness=-1.0), "stiffness must be positive"),
        (lambda: st.newton(sled(), stiffness=cast("Any", "a")), "stiffness must be positive"),
        (lambda: st.quasistatics(sled(), span=(0, 1), step=0.0), "step must be positive"),
        (
            lambda: st.quasistatics(sled(), span=(0, 1), method="eventz"),
            "method must be 'auto', 'events' or 'increments'",
        ),
    ):
        with pytest.raises(st.StatementError, match=message):
            do()


@pytest.mark.parametrize("force", [1e200, 1e300, 1e-200, 1e-300])
def test_forces_whose_squares_are_no_numbers_are_refused(force):
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(force, on=(x, y))], constraints=[link])
    for do in (st.minimum_power, st.newton):
        with pytest.raises(st.StatementError, match="too large or too small to reckon with"):
            do(bead, at={x: 0, y: 1})
    with pytest.raises(st.StatementError, match="at t = 0; squares of such numbers are lost"):
        st.quasistatics(bead, span=(0, 1), start={x: 0, y: 1})


def test_the_limit_of_something_that_pushes_nothing_is_refused():
    F, G = st.inputs("F G")
    block = st.System(
        loads=[st.Load(F, on=x, name="pull"), st.Load(G**2, on=x, name="square")],
        friction=[st.Friction(1.0, on=x)],
    )
    assert_says(
        st.StatementError,
        "'H' is not a load of this system.\n"
        "  Inputs, parameters and loads: F, G, pull, square.\n"
        "  Pass an input, a parameter, the name of a load, or an st.Load to be added.",
        lambda: st.limit_load(block, load="H"),
    )
    assert_says(
        st.StatementError,
        "the forces are not linear in 'G'.\n"
        "  Found that they or a friction limit change otherwise as it grows.\n"
        "  Name the load itself, or a parameter that only scales it.",
        lambda: st.limit_load(block, load=G, inputs={F: 0}),
    )
    still = st.System(loads=[st.Load(0 * F, on=x)], friction=[st.Friction(1.0 + 0 * F, on=x)],
                      work=F * y**2)  # fmt: skip
    with pytest.raises(st.StatementError, match="'F' pushes nothing here"):
        st.limit_load(still, load=F)


def test_loads_that_are_too_large_already_are_told():
    F = st.inputs("F")
    block = st.System(
        work=5 * y, loads=[st.Load(F, on=x, name="pull")], friction=[st.Friction(1.0, on=(x, y))]
    )
    with pytest.raises(st.DidNotConverge, match="the other loads alone are more than friction"):
        st.limit_load(block, load=F)


SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize("arguments, message", [
    ({}, "a slider rests on points, on an outline or on a disc.\n  Found none of them."),
    ({"points": [(0, 0)], "outline": SQUARE, "weights": 1}, "Found points and outline."),
    ({"points": [(0, 0, 0)], "weights": 1}, "are not a table of x and y."),
    ({"points": [(0, 0)]}, "have no weights."),
    ({"points": [(0, 0), (1, 0)], "weights": [1, 2, 3]}, "Found 2 points and 3 weights."),
    ({"points": [(0, 0), (1, 0)], "weights": [1, -2]}, "Found values from -2 to 1."),
    ({"points": [(0, 0)], "weights": 0.0}, "are not all zero or more."),
    ({"points": [(0, 0)], "weights": np.nan}, "are not all zero or more."),
    ({"outline": [(0, 0), (1, 0)]}, "is not a polygon."),
    ({"outline": [(0, 0), (1, 0), (2, 0)]}, "has no area."),
    ({"outline": [(0, 0), (1, 1), (1, 0), (0, 1)]}, "the outline of a slider"),
    ({"radius": 1.0, "count": 0}, "count is not a number of support points."),
    ({"outline": SQUARE, "pressure": lambda x, y: -x}, "are not all zero or more."),
    ({"radius": -1.0}, "radius"),
    ({"outline": SQUARE, "limit": -2.0}, "limit"),
    ({"outline": SQUARE, "limit": "much"}, "the friction limit of a slider is not positive."),
    ({"points": [(0, 0)], "weights": "much"}, "a weight of a slider is not an expression."),
    ({"points": [(0, 0), (1, 0)], "weights": [st.parameters(F=1.0), -1]}, "Found values from -1"),
    ({"points": [(0, 0)], "weights": [np.inf]}, "are not all zero or more."),
    ({"outline": SQUARE, "weights": 1.0}, "weights= does not belong to a slider on an area."),
    ({"points": [(0, 0)], "weights": 1.0, "limit": 2.0}, "does not belong to a slider on points."),
    ({"outline": SQUARE, "pusher": (0, 0)}, "the pusher of a slider is not one."),
    ({"outline": [(0, 0), (1, 0), (np.nan, 1)]}, "is not a polygon."),
    ({"radius": "a"}, "the radius of a slider is not positive."),
    ({"radius": 1.0, "count": "a"}, "count is not a number of support points."),
    ({"radius": 1.0, "at": 3}, "a slider is placed by three coordinates."),
    ({"radius": 1.0, "at": st.coordinates("x y")}, "a slider is placed by three coordinates."),
    ({"radius": 1.0, "pressure": 3}, "the pressure of a slider is not a function of x and y."),
    ({"radius": 1.0, "pressure": lambda x, y: [1.0, 2.0]}, "Found [1.0, 2.0] as its values."),
])  # fmt: skip
def test_bad_sliders_are_refused(arguments, message):
    with pytest.raises(st.StatementError) as caught:
        st.slider(**arguments)
    assert message in str(caught.value)
    assert str(caught.value).count("\n  ") == 2


@pytest.mark.parametrize("arguments, message", [
    ({"point": (0, 0)}, "Found neither."),
    ({"point": (0, 0), "edge": ((0, 0), (1, 0)), "corner": (0, 0)}, "Found both."),
    ({"point": (0, 0), "corner": (0, 0)}, "a fence has no direction."),
    ({"point": (0, 0), "edge": ((1, 0), (1, 0))}, "the edge of a pusher has no length."),
    ({"point": (0, 0), "corner": (0, 0), "normal": (0, 0)}, "a fence has no direction."),
    ({"point": (0, 0, 0), "edge": ((0, 0), (1, 0))}, "Found 3 expressions, expected two."),
    ({"point": 1, "edge": ((0, 0), (1, 0))}, "Found 1 expression, expected two."),
    ({"point": (0, 0), "edge": 3}, "the edge of a pusher is not given by numbers."),
    ({"point": (0, 0), "edge": ((0, 0), (1, 0), (1, 1))}, "Found ((0, 0), (1, 0), (1, 1))."),
    ({"point": (0, 0), "corner": "a", "normal": (0, 1)}, "Found 'a'."),
    ({"point": (0, 0), "corner": (0, 0), "normal": (0, 1, 0)}, "the normal of a fence is not in"),
])  # fmt: skip
def test_bad_pushers_are_refused(arguments, message):
    with pytest.raises(st.StatementError) as caught:
        st.slider(points=[(0, 0)], weights=1.0, pusher=st.Pusher(**arguments))
    assert message in str(caught.value)
    assert str(caught.value).count("\n  ") == 2


def test_an_edge_with_the_part_on_its_wrong_side_is_refused():
    assert_says(
        st.StatementError,
        "the edge of a pusher has the part on its wrong side.\n"
        "  Found the part to the right of the way from (1, 0) to (0, 0).\n"
        "  Give the two points in the other order.",
        lambda: st.slider(
            outline=SQUARE, pusher=st.Pusher(point=(0.5, st.t), edge=((1, 0), (0, 0)))
        ),
    )


@pytest.mark.parametrize("place, gap", [((0.5, -3.0), "3"), ((5.0, 0.0), "4"), ((-1.0, 0.0), "1")])
def test_a_finger_below_or_beside_its_edge_is_not_touching(place, gap):
    finger = st.Pusher(point=(place[0], place[1] + st.t), edge=((0, 0), (1, 0)))
    part = st.slider(points=[(0, 0), (1, 0)], weights=1.0, pusher=finger)
    assert_says(
        st.StatementError,
        "the pusher 'pusher' is not touching.\n"
        f"  Found a gap of {gap}, expected zero; nothing else moves it.\n"
        "  Start where it touches, or follow it over time by st.quasistatics.",
        lambda: st.minimum_power(part),
    )


def test_a_finger_at_the_very_end_of_its_edge_touches_and_one_that_slides_off_leaves():
    def part(way):
        finger = st.Pusher(point=(1.0 + way * st.t, st.t / 5), edge=((-1, 0), (1, 0)), friction=0.1)
        return st.slider(points=[(-1, 0), (1, 0), (0, 0.7)], weights=[0.4, 0.4, 0.2], pusher=finger)

    assert st.minimum_power(part(0.0)).modes["pusher"] == "sticks"
    slide = st.quasistatics(part(1.0), span=(0, 1), points=11)
    assert np.abs(slide["phi"][-1]) < 1e-5 and slide.lam["pusher"][-1] == 0


@pytest.mark.parametrize("arguments, message", [
    ({"at": [1, 2]}, "at does not say which value is whose."),
    ({"t": np.nan}, "t is not a time."),
    ({"t": "now"}, "t is not a time."),
    ({"guess": 3}, "the guess is not a step of this system."),
    ({"guess": st.minimum_power(st.System(friction=[st.Friction(1, on=x)], work=x / 2))},
     "Found a step of another system."),
])  # fmt: skip
def test_what_is_no_place_no_time_or_no_guess_is_refused(arguments, message):
    with pytest.raises(st.StatementError) as caught:
        st.minimum_power(sled(), **arguments)
    assert message in str(caught.value)
    assert str(caught.value).count("\n  ") == 2


def test_friction_of_a_contact_needs_to_know_along_what_it_slips():
    assert_says(
        st.StatementError,
        "a contact with friction does not say along what it slips.\n"
        "  Found friction=0.3 and no slip.\n"
        "  Give both, as in st.Contact(y, friction=0.3, slip=x).",
        lambda: st.Contact(y, friction=0.3),
    )


def test_friction_on_a_parameter_acts_on_nothing_that_moves():
    post = st.Friction(1.0, on=st.parameters(a=1.0), name="post")
    with pytest.raises(st.StatementError, match="'post' acts on something that does not move"):
        st.minimum_power(st.System(friction=[post], constraints=[x - st.t]))


def test_a_limit_surface_of_something_else_is_refused():
    assert_says(
        st.StatementError,
        "a limit surface belongs to a rigid part on a table.\n"
        "  Found 2 coordinates and 1 friction terms.\n"
        "  Pass what st.slider returned.",
        lambda: st.limit_surface(sled()),
    )


def test_names_twists_and_ranges_that_make_no_sense_are_refused():
    V = st.parameters(V=1.0)
    driven = st.System(
        kinetic=x.dot**2 / 2, friction=[st.Friction(1.0, on=x, name="floor")],
        constraints=[x - V * st.t],
    )  # fmt: skip
    step = st.minimum_power(driven)
    far, three = cast("Any", "far"), cast("Any", 3)
    for do, says in (
        (lambda: step.forces["flor"], "friction term 'flor' is not known"),
        (lambda: step.centre(driven), "a centre of rotation belongs to a rigid part"),
        (lambda: st.limit_surface(st.slider(radius=1)).wrench((1, 2)), "a twist is two velocities"),
        (lambda: st.quasistatic_error(driven, speed=V, travel=far), "makes no sense"),
        (lambda: st.quasistatic_error(driven, speed=V, travel=1, within=three), "makes no sense"),
    ):
        with pytest.raises(st.StatementError, match=says) as caught:
            do()
        assert len(str(caught.value).splitlines()) == 3
