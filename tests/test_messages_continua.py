"""What is said of a continuum that contradicts itself, word for word."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from tests.checks import assert_says

X, Y = st.positions("X Y")
L, k = st.parameters(L=1.0, k=2.0)
ell = st.parameters("ell")
u = st.field("u", over=(X, 0, L))
w = st.field("w", over=(X, 0, L))
F = st.inputs("F")
x = st.coordinates("x")
BAR = dict(kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2)
BEAM = dict(kinetic=w.dot**2 / 2, potential=w.diff(X, 2) ** 2 / 2)

CASES = {
    "density without derivatives": (
        lambda: st.Continuum(kinetic=u.dot**2, potential=k * u**2),
        "no density contains a derivative of 'u' by 'X'.\n"
        "  Found 'u' and at most its rate: its points would not know of each other.\n"
        "  State an energy of u.diff(X) or u.diff(X, 2), or make it a coordinate.",
    ),
    "third derivatives": (
        lambda: st.Continuum(potential=u.diff(X, 3) ** 2),
        "a density contains 'u'''', a derivative of order 3 by position.\n"
        "  Expected at most order 2: no energy of a bar, a string or a beam needs more.\n"
        "  Integrate by parts, or introduce a second field.",
    ),
    "an acceleration": (
        lambda: st.Continuum(kinetic=u.ddot * u, potential=u.diff(X) ** 2),
        "a density contains the acceleration 'u.ddot'.\n"
        "  Expected at most first derivatives by time.\n"
        "  Energies and loads depend on positions and velocities alone.",
    ),
    "a condition outside the interval": (
        lambda: st.Continuum(**BAR, fixed={u.at(1.5): 0}),
        "'u' is not defined at X = 1.5.\n"
        "  Found a place outside its interval, from 0 to L.\n"
        "  Choose a point of the interval, ends included.",
    ),
    "an over-determined end": (
        lambda: st.Continuum(**BAR, fixed={u.at(0): 0, u.diff(X).at(0): 0}),
        "'u'(0)' cannot be held, loaded or joined: the end would be over-determined.\n"
        "  The energies of 'u' contain derivatives up to order 1; conditions and parts may name "
        "those up to order 0.\n"
        "  What 'u'(0)' is follows from the forces there: state a load on 'u(0)' instead.",
    ),
    "a condition beyond a length that is not known yet": (
        lambda: st.field("v", over=(X, 0, ell)).at(2 * ell),
        "'v' is not defined at X = 2*ell.\n"
        "  Found a place outside its interval, from 0 to ell.\n"
        "  Choose a point of the interval, ends included.",
    ),
    "an end both held and loaded": (
        lambda: st.Continuum(**BAR, fixed={u.at(0): 0}, loads=[st.Load(3, on=u.at(0))]),
        "'u(0)' is both fixed and loaded: the end is over-determined.\n"
        "  Found u(0) = 0 and load '1', δW = 3 δ(u(0)), which does no work there.\n"
        "  Prescribe either what it does or the force on it.",
    ),
    "an end held twice under two names": (
        lambda: st.Continuum(**BAR, fixed={u.at(L): 0, u.at(1.0): 1}),
        "'u(1.0)' lies at the end L of 'u' only while parameters have their defaults.\n"
        "  Found the place 1.0, which equals L by value and not by name.\n"
        "  Write u.at(L).",
    ),
    "a value tied to itself": (
        lambda: st.Continuum(
            potential=u.diff(X) ** 2 + w.diff(X) ** 2,
            fixed={u.at(0): w.at(0), w.at(0): u.at(0)},
        ),
        "'u(0)' is fixed to itself: the condition is over-determined.\n"
        "  Found u(0) = w(0).\n"
        "  Tie one of two values to the other, not both to each other.",
    ),
    "no field": (
        lambda: st.Continuum(kinetic=x.dot**2),
        "the continuum has no field.\n"
        "  Found none in its densities.\n"
        "  Declare u = st.field('u', over=(X, 0, L)) and state densities of u.dot and u.diff(X); "
        "what has no field is an st.System.",
    ),
    "a point value in a density": (
        lambda: st.Continuum(kinetic=u.dot**2 + k * u.at(L).dot ** 2, potential=u.diff(X) ** 2),
        "the density of kinetic contains 'u(L).dot', a value at a point.\n"
        "  Found k*u(L).dot**2 + u.dot**2; a density is integrated along its interval.\n"
        "  State it as a part: parts=[st.System(kinetic=…)].",
    ),
    "a rate in the potential": (
        lambda: st.Continuum(potential=u.diff(X) ** 2 + u.dot * u),
        "the density of potential contains the rate 'u.dot'.\n"
        "  Found u*u.dot + u'**2; expected fields, positions and st.t.\n"
        "  Put what depends on rates into kinetic, dissipation or loads.",
    ),
    "an input in the potential": (
        lambda: st.Continuum(potential=u.diff(X) ** 2 * F),
        "the density of potential contains the input 'F'.\n"
        "  Found F*u'**2; an energy cannot depend on what is decided later.\n"
        "  Put the input into work or loads.",
    ),
    "friction along the interval": (
        lambda: st.Continuum(**BAR, loads=[st.Friction(1.0, on=u)]),
        "loads has an entry that is not one.\n"
        "  Found Friction: 'friction up to 1.0 against d/dt u'; expected st.Load(…).\n"
        "  Dry friction, contacts and constraints at points belong to parts=[System(…)]; along an "
        "interval they cannot be honoured.",
    ),
    "a load on nothing": (
        lambda: st.Continuum(**BAR, loads=[st.Load(1.0, on=u.dot)]),
        "load '1' works on 'u.dot', which is not a displacement.\n"
        "  Found a rate in it.\n"
        "  Say what moves when the load does work, as in st.Load(f, on=u.at(L)).",
    ),
    "a point load that varies along the bar": (
        lambda: st.Continuum(**BAR, loads=[st.Load(X, on=u.at(L))]),
        "load '1' acts at a point and depends on the position 'X'.\n"
        "  Found δW = X δ(u(L)).\n"
        "  Put the place itself in, or let it work on the field.",
    ),
    "an undeclared symbol": (
        lambda: st.Continuum(kinetic=u.dot**2, potential=sp.Symbol("kk") * u.diff(X) ** 2),
        "the density of potential uses 'kk', which is not declared.\n"
        "  Declared: u', u.dot.\n"
        "  Declare it: st.parameters('kk') or st.positions('kk').",
    ),
    "a point of a field that is not there": (
        lambda: st.Continuum(**BAR, fixed={w.at(0): 0}),
        "'w(0)' is the value of a field that no density contains.\n"
        "  Fields: u.\n"
        "  State densities of that field, or use the field of this continuum.",
    ),
    "fixed to an input": (
        lambda: st.Continuum(**BAR, fixed={u.at(0): F}),
        "'u(0)' is fixed to an expression with the input 'F'.\n"
        "  Found F; expected numbers, parameters, st.t, coordinates and values at points.\n"
        "  Write an imposed motion as an expression of st.t.",
    ),
    "something else than a point fixed": (
        lambda: st.Continuum(**BAR, fixed={x: 0}),
        "fixed holds 'x', which is not the value of a field at a point.\n"
        "  Found Coordinate; expected u.at(0) or u.diff(X).at(0).\n"
        "  Say where the field is held, as in fixed={u.at(0): 0}.",
    ),
    "a part that is none": (
        lambda: st.Continuum(**BAR, parts=[x]),
        "parts has an entry that is not a system.\n"
        "  Found Coordinate: 'x'.\n"
        "  Pass ordinary systems, as in parts=[st.System(kinetic=m*u.at(L).dot**2/2)].",
    ),
    "an interval without a position": (
        lambda: st.field("v", over=(x, 0, 1)),
        "the interval of the field 'v' is not one.\n"
        "  Found over=(x, 0, 1); expected a position and two ends.\n"
        "  Declare X = st.positions('X') and pass over=(X, 0, L).",
    ),
    "an empty interval": (
        lambda: st.field("v", over=(X, 1, 1)),
        "the interval of the field 'v' is empty.\n"
        "  Found 1 to 1; expected a first end before a last one.\n"
        "  Give them in order, as in over=(X, 0, L).",
    ),
    "elements below one": (
        lambda: st.discretize(st.Continuum(**BAR), elements=0),
        "elements is not a number of elements.\n"
        "  Found 0, expected a whole number, 1 or more.\n"
        "  Give how many there shall be along each interval, as in elements=100.",
    ),
    "elements fewer than pieces": (
        lambda: st.discretize(st.Continuum(**BAR, fixed={u.at(L / 2): 0}), elements=1),
        "there are fewer elements than pieces of the interval.\n"
        "  Found elements=1; the points 0, L/2, L make 2 pieces.\n"
        "  Give elements=2 or more.",
    ),
    "a degree that no element has": (
        lambda: st.discretize(st.Continuum(**BAR), elements=2, degree=4),
        "degree is not that of an element.\n"
        "  Found 4, expected 1, 2 or 3.\n"
        "  Leave it out to have it chosen from the energies.",
    ),
    "a degree that is impossible": (
        lambda: st.discretize(st.Continuum(**BEAM), elements=2, degree=2),
        "elements of degree 2 are impossible for 'w'.\n"
        "  Its energy contains w'', which needs continuous slopes: Hermite cubics.\n"
        "  Leave degree out, give degree=3, or give degrees by field, as in degree={u: 2}.",
    ),
    "a system to be discretized": (
        lambda: st.discretize(st.System(kinetic=x.dot**2), elements=3),  # pyright: ignore
        "discretize is asked about what is not a continuum.\n"
        "  Found System: System of 1 coordinate: x.\n"
        "  Pass an st.Continuum; a System needs no discretization.",
    ),
    "shapes of what": (
        lambda: st.ritz(st.Continuum(**BAR), shapes=[]),
        "there are no shapes for the field 'u'.\n"
        "  Found []; expected a list of expressions of X.\n"
        "  Give one or more, as in shapes=[st.sin(st.pi*X/L)].",
    ),
    "shapes that vanish by chance": (
        lambda: st.ritz(
            st.Continuum(**BAR, fixed={u.at(0): 0, u.at(L): 0}), shapes=[st.sin(st.pi * X)]
        ),
        "the shapes of 'u' vanish at X = L only while parameters have their defaults.\n"
        "  Found sin(pi*X), which is not zero at L for other values.\n"
        "  Write them in terms of L, as in st.sin(st.pi*X/L).",
    ),
    "points out of order": (
        lambda: st.statics(
            st.discretize(st.Continuum(**BAR, fixed={u.at(0): 0}), elements=2), params={L: -1.0}
        ),
        "the points of the field 'u' are out of order.\n"
        "  Found 0 = 0, L = -1; expected them to increase.\n"
        "  Choose values of the parameters that keep the order of the statement.",
    ),
    "modes, how many": (
        lambda: st.modes(
            st.discretize(st.Continuum(**BAR, fixed={u.at(0): 0}), elements=2), count=0
        ),
        "count is not a number of modes.\n"
        "  Found 0, expected a whole number, 1 or more.\n"
        "  Give how many modes to find, as in count=5.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_continuum_that_contradicts_itself_is_told_so(case):
    do, message = CASES[case]
    assert_says(st.StatementError, message, do)


@pytest.mark.parametrize(
    "verb", [st.hamilton, st.check, st.compile, st.statics, st.linearize, st.modes, st.equilibria]
)
def test_verbs_of_systems_say_how_a_continuum_becomes_one(verb):
    bar = st.Continuum(**BAR)
    with pytest.raises(st.StatementError, match=r"st.discretize\(continuum, elements=100\)"):
        made = verb(bar, within={}) if verb is st.equilibria else verb(bar)
        made.acceleration([0.0])


def test_results_refuse_what_their_elements_do_not_know():
    rest = st.statics(st.discretize(st.Continuum(**BAR, fixed={u.at(0): 0}), elements=2))
    with pytest.raises(st.StatementError, match="elements of degree 1 have no 'u'''"):
        rest.field(u.diff(X, 2))
    with pytest.raises(st.StatementError, match="the system has no field 'w'"):
        rest.field(w)
    with pytest.raises(st.StatementError, match="is not known at that position"):
        rest.field(u)(1.2)
    with pytest.raises(st.StatementError, match="of a state of rest has no times"):
        rest.field(u)(0.5, 1.0)
    with pytest.raises(st.StatementError, match="is not a field or an expression of fields"):
        rest.field(x)
    # Between nodes a field is known, too.
    assert rest[u.at(0.3)] == rest.field(u)(0.3)


def test_friction_at_a_point_is_refused_by_name_when_it_cannot_be_honoured():
    rubbing = st.System(friction=[st.Friction(1.0, on=u.at(L), name="pad")])
    bar = st.Continuum(**BAR, fixed={u.at(0): 0}, parts=[rubbing])
    with pytest.raises(st.DerivationError, match="friction 'pad' has no place"):
        st.equations(bar)
    # A pull below its limit moves the rest of the bar and not the end that it holds.
    pull = [st.Load(0.5, on=u.at(L))]
    pulled = st.Continuum(**BAR, loads=pull, fixed={u.at(0): 0}, parts=[rubbing])
    motion = st.simulate(st.discretize(pulled, elements=2), span=(0, 1))
    np.testing.assert_allclose(motion.field(u)([1.0], motion.t), 0, atol=1e-12)


def test_what_needs_no_discretization_is_named_in_one_line():
    with pytest.raises(st.StatementError) as caught:
        st.discretize(st.System(kinetic=x.dot**2, name="bead"), elements=3)  # pyright: ignore[reportArgumentType]
    assert "Found System: bead of 1 coordinate: x." in str(caught.value)


def test_a_continuum_is_not_written_into_a_model_file():
    bar = st.Continuum(**BAR)
    for thing, what in ((bar, "a continuum"), (st.discretize(bar, elements=2), "a discretized")):
        with pytest.raises(st.StatementError, match=f"^{what}.* cannot be written"):
            st.save(thing)  # pyright: ignore[reportArgumentType]  # what is tested


def test_a_field_without_inertia_has_no_modes():
    stiff = st.Continuum(potential=u.diff(X) ** 2, fixed={u.at(0): 0})
    with pytest.raises(st.DerivationError, match="the mass matrix is singular"):
        st.modes(st.discretize(stiff, elements=3))
