"""What a notebook shows: mathematics for statements, pictures for results."""

import html
import re

import matplotlib.pyplot as plt
import pytest

import stationary as st

x = st.coordinates("x")
m, k = st.parameters(m=2.0, k=8.0)
OSCILLATOR = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2 - k * x**4 / 4)


def test_statements_and_equations_are_mathematics():
    model = st.load(st.save(OSCILLATOR))
    for thing in (OSCILLATOR, model, st.equations(OSCILLATOR)):
        assert thing._repr_latex_().startswith("$$")
    assert r"\ddot{x}" in st.equations(OSCILLATOR)._repr_latex_()


@pytest.mark.parametrize(
    ("make", "drawn"),
    [
        (lambda: st.simulate(OSCILLATOR, span=(0, 1), start={x: 0.1}), True),
        (lambda: st.continuation(OSCILLATOR, parameter=k, span=(1, 9)), True),
        (lambda: st.statics(OSCILLATOR), False),
        (lambda: st.linearize(OSCILLATOR), True),
    ],
    ids=["motion", "diagram", "equilibrium", "state space"],
)
def test_results_show_their_text_and_their_picture(make, drawn):
    result = make()
    before = plt.get_fignums()
    shown = result._repr_html_()
    assert shown.startswith("<pre>") and repr(result).splitlines()[0] in shown
    assert ("data:image/png;base64," in shown) == drawn
    assert plt.get_fignums() == before


def test_a_motion_that_can_be_seen_is_live():
    theta = st.coordinates("theta")
    bob = st.particle(1.0, at=(st.sin(theta), -st.cos(theta)), gravity=9.81)
    shown = st.simulate(bob, span=(0, 1), start={theta: 0.5})._repr_html_()
    assert shown.count("<iframe") == 1 and "&lt;!doctype html&gt;" in shown


def test_statements_and_states_of_rest_that_can_be_seen_are_live():
    theta, m = st.coordinates("theta"), st.parameters("m")
    bob = st.particle(m, at=(st.sin(theta), -st.cos(theta)), gravity=9.81)
    assert bob._repr_html_() is None, "without its mass nothing moves: there is mathematics alone"
    bob = st.particle(2.0, at=(st.sin(theta), -st.cos(theta)), gravity=9.81)
    for thing in (bob, st.load(st.save(bob))):
        shown = thing._repr_html_()
        assert shown is not None
        assert "<math" in shown[:50] and shown.count("<iframe") == 1
    rest = st.statics(bob, start={theta: 3.0})
    shown = rest._repr_html_()
    assert shown.startswith("<pre>") and shown.count("<iframe") == 1
    # The page begins where it rests.
    assert f"&quot;start&quot;: [{rest[theta]!r}, 0.0, 0.0]" in shown
    assert OSCILLATOR._repr_html_() is None, "what has no position has no picture"


def test_modes_that_can_be_seen_are_let_go_in_the_lowest_shape():
    """Two masses between three springs: the lowest mode moves them alike."""
    a, b = st.coordinates("a b")
    pair = st.particle(1.0, at=(1 + a, 0)) + st.particle(1.0, at=(2 + b, 0))
    pair += st.System(potential=(a**2 + (a - b) ** 2 + b**2) / 2)
    shown = st.modes(pair)._repr_html_()
    assert shown.count("<iframe") == 1
    q = re.search(r"&quot;start&quot;: \[([^,]*), ([^,]*), ", shown)
    assert q is not None and float(q[1]) == pytest.approx(float(q[2]), rel=1e-9) and float(q[1])


def test_a_diagram_is_live_with_its_parameter_as_a_slider():
    theta, W = st.coordinates("theta"), st.parameters(W=2.0)
    place = (st.sin(theta), -st.cos(theta))
    bead = st.System(
        kinetic=theta.dot**2 / 2 + W**2 * st.sin(theta) ** 2 / 2,
        potential=-9.81 * st.cos(theta),
        parts=(st.Part("particle", (place,)),),
    )
    shown = st.continuation(bead, parameter=W, span=(0, 6), start={theta: 0.0})._repr_html_()
    page = html.unescape(shown[shown.index("<iframe") :])
    knob = re.search(r'"name": "W".*?"low": ([\d.]+), "high": ([\d.]+)', page)
    assert knob and [float(x) for x in knob.groups()] == pytest.approx([0, 6], abs=1e-9)


def test_a_live_page_is_shown_and_a_state_is_told_in_one_line():
    x, y = st.coordinates("x y")
    bob = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, name="bob")
    page = st.live(bob, start={x: 1.0})
    assert page.startswith("<!doctype html>") and "<iframe" in page._repr_html_()
    assert len(repr(page)) < 80
    motion = st.simulate(bob, span=(0, 2), start={x: 1.0, y.dot: 2.0})
    assert str(motion.at(1.5)) == "bob at t = 1.5: x = 1, y = 3, x.dot = 0, y.dot = 2"
