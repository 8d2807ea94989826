"""The page as a file: whole, small, safe, and refused where it would not be true."""

import json
import re

import pytest

import stationary as st
from tests.browser.systems import CASES, rope_of_a_hundred


def inside(page, name):
    """Return the data that a page holds under a name."""
    return json.loads(re.search(rf"^const {name} = (.*);$", page, re.MULTILINE)[1])  # pyright: ignore[reportOptionalSubscript]


@pytest.fixture(scope="module")
def page():
    system, given = CASES["double_pendulum"]()
    return st.live(system, **given)


def test_it_is_one_small_file_that_asks_for_nothing(page):
    assert len(page.encode()) < 300_000
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"https?://|<link|@import|<script src|<img", outside)
    assert "default-src 'none'" in page


def test_it_offers_knobs_rests_and_quantities(page):
    told = inside(page, "page")
    assert [knob["name"] for knob in told["knobs"]] == ["L", "g"]
    # A double pendulum hangs, stands, and is folded in two ways.
    assert len(told["rests"]) == 4 and sum(rest["stable"] for rest in told["rests"]) == 1
    assert told["quantities"] == ["a", "b", "a′", "b′"]
    assert page.count('data-of="p"') > 4 and page.count('data-of="v"') >= 2


@pytest.mark.slow
def test_a_rope_of_a_hundred_links_fits():
    rope, start = rope_of_a_hundred()
    page = st.live(rope, start=start, span=(0, 0.1))
    assert len(page.encode()) < 300_000


def test_markup_in_names_stays_text():
    x = st.coordinates("x")
    k = st.parameters("k")
    bad = "</script><script>alert(1)</script>&\"'"
    system = st.particle(1.0, at=(x, 0)) + st.spring(k, between=((0, 0), (x, 0)))
    made = st.live(system, start={x: 1}, params={k: 2}, name=bad, show={bad: x**2})
    assert made.count("<script") == 2 and made.count("</script>") == 2
    assert inside(made, "model")["shown"] == [bad]


def test_inputs_that_are_numbers_become_sliders_and_units_stay():
    model = st.load('''
        coordinates = ["x"]
        inputs = ["F"]
        [parameters]
        m = "200 g"
        [energies]
        kinetic = "m*x'^2/2"
        potential = "x^2"
        [[loads]]
        force = "F"
        on = "x"
        [inputs_course]
    '''.replace("[inputs_course]", ""))  # fmt: skip
    made = inside(st.live(model, inputs={"F": 1.5}, sliders={"m": (0.1, 5)}), "page")
    assert {k["name"]: (k["kind"], k["unit"]) for k in made["knobs"]} == {
        "m": ("p", "kg"), "F": ("given", ""),
    }  # fmt: skip
    assert (made["knobs"][0]["low"], made["knobs"][0]["high"]) == (0.1, 5)


REFUSED = {
    "dry friction": lambda x: dict(
        system=st.System(kinetic=x.dot**2 / 2, friction=[st.Friction(0.3, on=x)])
    ),
    "contacts": lambda x: dict(
        system=st.particle(1, at=(0, x)) + st.System(contacts=[st.Contact(x)])
    ),
    "ending": lambda x: dict(system=st.System(kinetic=x.dot**2 / 2), path="page.pdf"),
    "slider": lambda x: dict(system=st.System(kinetic=x.dot**2 / 2), sliders={"q": (0, 1)}),
    "span": lambda x: dict(system=st.System(kinetic=x.dot**2 / 2), span=(1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_page_cannot_be_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(st.StatementError) as error:
        st.live(**REFUSED[name](st.coordinates("x")))
    assert len(str(error.value).splitlines()) >= 2 or str(error.value).count(".") >= 3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("action", "moves", "until"),
    [('action = { "y.dot" = "-y.dot" }', False, 1.0),
     ('action = { "y.dot" = "-y.dot" }', False, 0.2), ("", True, 1.0)],
)  # fmt: skip
def test_events_that_change_the_state_are_not_left_out_in_silence(action, moves, until):
    # A bounce: without it the ball would fall through the floor, sooner or later.
    text = f"""
        coordinates = ["y"]
        [energies]
        kinetic = "y'^2/2"
        potential = "9.81*y"
        [start]
        y = 1
        [simulate]
        span = [0, {until}]
        [[simulate.events]]
        expr = "y"
        direction = -1
        {action}
    """
    model = st.load(text)
    for source in (model, model.ask("simulate")):
        if moves:
            assert "<!doctype html>" in st.live(source)
            continue
        with pytest.raises(st.StatementError, match="no events that change the state") as error:
            st.live(source)
        assert len(str(error.value).splitlines()) == 3


def test_the_energy_is_not_called_t_plus_u_where_it_is_something_else(page):
    # In a turning frame q̇·∂T/∂q̇ − T + U is kept, and T + U is not.
    assert "T + U" not in page and "</span>E</span>" in page


def test_coordinates_of_a_field_are_called_by_their_places_and_not_typed():
    X = st.positions("X")
    w, v = st.field("w", over=(X, 0, 2)), st.field("v", over=(X, 0, 2))
    beam = st.Continuum(
        kinetic=(w.dot**2 + v.dot**2) / 2,
        potential=(w.diff(X, 2) ** 2 + v.diff(X) ** 2) / 2,
        fixed={w.at(0): 0, w.diff(X).at(0): 0, v.at(2): 0},
    )
    start = {w: X**2, v: 2 - X}
    page = st.live(st.discretize(beam, elements=2), start=start, span=(0, 1))
    facts = json.loads(re.findall(r"const page = (\{.*\});", page)[0])
    assert facts["names"] == ["v(0)", "v(1)", "w(1)", "w_X(1)", "w(2)", "w_X(2)"]
    assert facts["starts"] == 0
    # A slope is larger than a place here, and is not what one looks at.
    assert not {3, 5} & set(facts["chosen"])
