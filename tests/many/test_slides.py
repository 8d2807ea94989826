"""Pushes found together are those that `minimum_power` finds one by one."""

import numpy as np
import pytest

import stationary as st
from stationary.many.design import as_design
from stationary.many.engines import plain, slides
from stationary.many.keep import as_keeps
from stationary.many.question import as_question

h, limit = st.parameters(h=0.3, limit=2.0)


def part(seed, count):
    """Return a random part on a table, and its coordinates."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, 2))
    made = st.slider(points=points, weights=random.uniform(0.5, 1.5, count))
    x, y, phi = made.coordinates
    return made, x, y, phi


def ask(system, over, keep=None, **given):
    keeps = as_keeps(keep, "minimum_power", system)
    return as_question(st.minimum_power, system, as_design(over), keeps, given)


@pytest.mark.parametrize(("seed", "held"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_a_part_moves_as_minimum_power_says(seed, held):
    made, x, y, phi = part(seed, 12)
    push = [x - st.t - h * st.sin(phi), y - 0.3 * h * st.t, phi - 0.1 * st.t]
    system = made + st.System(constraints=push[:held], work=0.4 * y)
    over = st.samples({h: (-1, 1), y: (-0.0, 1.0)}, count=64, seed=seed)
    over = over if held == 1 else {h: np.linspace(-1, 1, 64)}
    keep = {"v": (x.dot, y.dot, phi.dot), "power": "power", "taken": "dissipated",
            "far": x.dot - h * phi.dot, "unique": "unique"}  # fmt: skip
    asked = ask(system, over, keep)
    assert slides.refuses(asked) is None
    together, alone = slides.compute(asked, 0, 12), plain.compute(asked, 0, 12)
    assert together.status == alone.status == ["done"] * 12
    for name, rows in alone.kept.items():
        np.testing.assert_allclose(together.kept[name], rows, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(("length", "force"), [(1.0, 1.0), (1e-9, 1e6), (1e6, 1e-12)])
def test_one_foot_is_dragged_as_a_trailer_in_every_unit(length, force):
    # A foot that a rod of length L drags: the end of the rod goes one L each second at an angle α
    # to it; the foot moves along the rod by cos α, and takes its limit times that.
    x, y, phi = st.coordinates("x y phi")
    foot = st.Friction(limit, on=(x - length * st.cos(phi), y - length * st.sin(phi)))
    ends = [x - length * st.cos(h) * st.t, y - length * st.sin(h) * st.t]
    trailer = st.System(friction=[foot], constraints=ends)
    angles = np.linspace(-1.5, 1.5, 64)
    over = {(h, limit): (angles, force * np.linspace(1, 3, 64))}
    runs = st.sweep(st.minimum_power, trailer, over=over)
    assert runs.engine == "slides" and (runs.status == "done").all()
    power = force * length * np.linspace(1, 3, 64) * np.cos(angles)
    np.testing.assert_allclose(runs["power"], power, rtol=1e-12)
    np.testing.assert_allclose(runs["phi.dot"], np.sin(angles), rtol=1e-11)


def test_what_rests_accelerates_or_touches_is_asked_by_itself():
    made, x, y, phi = part(1, 5)
    free = made + st.System(work=h * x)
    runs = st.sweep(st.minimum_power, free, over={h: np.linspace(0, 20, 64)})
    assert runs.engine == "slides"
    assert set(runs.status) <= {"done", "accelerates"} and runs.status[-1] == "accelerates"
    assert runs["x.dot"][0] == 0.0 and np.isnan(runs["x.dot"][-1])
    rail = st.System(friction=[st.Friction(limit, on=x)], constraints=[x - st.t])
    assert "along lines" in str(slides.refuses(ask(rail, {limit: np.linspace(1, 2, 64)})))
    touching = made + st.System(contacts=[st.Contact(y + 1)], constraints=[x - st.t])
    assert "contacts" in str(slides.refuses(ask(touching, {x: np.zeros(64)})))


def test_a_place_off_the_constraints_is_refused_by_name():
    made, x, y, phi = part(2, 5)
    pushed = made + st.System(constraints=[x - st.t])
    places = np.zeros(64)
    places[3] = 0.5
    runs = st.sweep(st.minimum_power, pushed, over={x: places})
    assert runs.engine == "slides" and runs.status[3] == "refused"
    assert (runs.status[np.arange(64) != 3] == "done").all() and np.isnan(runs["power"][3])
