"""What results tell: free directions, conflicts in the status, forces in tables and in pictures."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import stationary as st

x, y = st.coordinates("x y")


def test_a_jam_names_its_rows_in_the_status_too():
    system = st.System(
        friction=[st.Friction(1.0, on=(x, y))],
        constraints=[st.Constraint(x - st.t, name="left"), st.Constraint(y, name="idle")],
        contacts=[st.Contact(-x - st.t / 2, name="wall")],
    )
    step = st.minimum_power(system, throw=False)
    assert step.status == "jammed" and step.status.names == ("left", "wall")
    assert step.status.direction is None and "'left', 'wall'" in step.status.message


def test_a_block_on_a_slope_steeper_than_its_friction_slides_down_along_it():
    # Pressed with 1 it is held back by 0.5, and does not lift.
    slope = st.System(work=x - y, contacts=[st.Contact(y, friction=0.5, slip=x, name="slope")])
    with pytest.raises(
        st.NoMotion, match="loads give 1 and friction takes 0, at contacts 0.5"
    ) as e:
        st.minimum_power(slope)
    assert e.value.kind == "accelerates"
    np.testing.assert_allclose(e.value.direction, [1, 0], atol=1e-9)


def test_a_load_on_a_part_of_many_points_feeds_it_by_name():
    # Beside a thousand points of support the load is one term of one kind.
    part = st.slider(radius=1.0, limit=2.0, count=100)
    px, py, _ = part.coordinates
    wind = st.System(loads=[st.Load((3.0, 4.0), on=(px, py), name="wind")], work=-0.1 * px)
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(part + wind)
    assert caught.value.names == ("load 'wind'",)
    # A force through the middle runs away along itself.
    np.testing.assert_allclose(caught.value.direction, [2.9 / 4, 1, 0], atol=1e-6)


@pytest.mark.parametrize("count", [10, 200])
def test_every_free_direction_is_found_and_the_motion_is_the_smallest(count):
    # Beads 3 and 7 share the way of bead 0 at no cost in any proportion; bead 5 rubs nowhere.
    q = st.coordinates("q", shape=(count, 1))
    limits = np.ones(count)
    limits[[3, 5, 7]] = 0.0
    shared = st.Friction(1.0, on=q[3, 0] + q[7, 0] - q[0, 0], name="shared")
    beads = st.System(
        friction=st.each(lambda p, w: st.Friction(w, on=p[0]), q, limits, name="f") + [shared],
        constraints=[q[0, 0] - st.t],
    )
    step = st.minimum_power(beads)
    assert not step.unique and len(step.free) == 2
    span = np.zeros((2, count))
    span[0, [3, 7]], span[1, 5] = (1, -1), 1
    assert np.linalg.matrix_rank(np.vstack([span, step.free]), tol=1e-9) == 2
    expected = np.zeros(count)
    expected[[0, 3, 7]] = 1.0, 0.5, 0.5
    np.testing.assert_allclose(step.v, expected, atol=1e-12)


@pytest.mark.parametrize("find", [st.minimum_power, st.minimum_dissipation, st.newton])
def test_a_rod_pushed_at_its_middle_may_turn_and_is_told_not_to(find):
    # Any centre of rotation beyond its ends costs the same: QS-ROD-END with c = 0.
    rod = st.slider(points=[(i / 100 - 0.495, 0) for i in range(100)], weights=0.01)
    px, py, turn = rod.coordinates
    step = find(rod + st.System(constraints=[px, py - st.t]))
    assert not step.unique and step.power == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(step.free, [[0, 0, 1]], atol=1e-9)
    assert step[turn.dot] == pytest.approx(0.0, abs=1e-12)


def test_forces_that_depend_on_the_velocity_balance_and_leave_nothing_free():
    # Viscous across a magnetic field B: c v_y + B v_x = −1 at v_x = 1.
    B, c = 3.0, 2.0
    pull = (B * y.dot - c * x.dot, -B * x.dot - c * y.dot)
    charge = st.System(
        potential=y, loads=[st.Load(pull, on=(x, y), name="field")], constraints=[x - st.t]
    )
    step = st.newton(charge)
    assert step[y.dot] == pytest.approx(-(1 + B) / c, rel=1e-12)
    assert step.lam[0] == pytest.approx(c - B * step[y.dot], rel=1e-12)
    assert step.unique and max(step.gap, *step.residual.values()) < 1e-12


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_bounds_agree_however_small_the_limits_are_beside_the_load(size):
    # One load of 1 against limits of any size, by linear programming.
    F = st.inputs("F")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        q = st.coordinates("a b c")
        B, limits = rng.normal(size=(5, 3)), rng.uniform(0.5, 2, 5)
        dead, live = 0.1 * rng.normal(size=3), rng.normal(size=3)

        def line(row, q=q):
            return sum(float(c) * z for c, z in zip(row, q))

        system = st.System(
            work=size * line(dead),
            loads=[st.Load(F, on=line(live))],
            friction=[
                st.Friction(size * w, on=line(row), name=f"f{k}")
                for k, (row, w) in enumerate(zip(B, limits))
            ],
        )
        exact = -linprog(
            [0] * 5 + [-1], A_eq=np.column_stack([-B.T, live]), b_eq=-dead,
            bounds=[(-w, w) for w in limits] + [(None, None)], method="highs-ds",
        ).fun  # fmt: skip
        found = st.limit_load(system, load=F)
        assert found.factor / size == pytest.approx(exact, rel=1e-8)
        assert found.static == pytest.approx(found.kinematic, rel=1e-8)
        assert all(
            abs(found.forces[f"f{k}"]) <= size * w * (1 + 1e-8) for k, w in enumerate(limits)
        )


def dragged():
    bead = st.System(
        friction=[st.Friction(1.0, on=(x, y), name="table")],
        constraints=[st.Constraint(st.norm((x - st.t, y)) - 1, name="link")],
    )
    return st.quasistatics(bead, span=(0, 2), start={x: 0, y: 1}, points=11)


def test_tables_hold_power_and_forces_of_the_tractrix():
    slide = dragged()
    t = slide.t
    # On the tractrix the bead's speed is tanh t, along the link, which pulls with the friction.
    frame, data = slide.to_dataframe(), slide.to_xarray()
    np.testing.assert_allclose(frame["power"], np.tanh(t), atol=1e-9)
    np.testing.assert_allclose(frame["lost"], np.log(np.cosh(t)), atol=1e-9)
    np.testing.assert_allclose(frame["force of table[0]"][1:], -np.tanh(t[1:]), atol=1e-8)
    np.testing.assert_allclose(frame["lam of link"][1:], -1.0, atol=1e-8)
    np.testing.assert_allclose(data["force of table"][1:, 1], 1 / np.cosh(t[1:]), atol=1e-8)
    np.testing.assert_allclose(data["lam of link"], frame["lam of link"])
    now: Any = slide.at(1.3)
    assert now.power == pytest.approx(np.tanh(1.3), abs=1e-8)
    assert now.lost == pytest.approx(np.log(np.cosh(1.3)), abs=1e-8)
    np.testing.assert_allclose(now.forces["table"], [-np.tanh(1.3), 1 / np.cosh(1.3)], atol=1e-8)


def test_what_rubs_in_a_plane_is_drawn_by_itself(tmp_path):
    path = tmp_path / "bead.gif"
    dragged().animate(path, fps=2)
    assert path.stat().st_size > 0


def test_an_array_stated_entry_by_entry_is_asked_for_as_a_whole():
    r = st.coordinates("r", shape=(2, 2))
    pair = st.System(
        friction=[st.Friction(1.0, on=(r[i, 0], r[i, 1])) for i in range(2)],
        constraints=[r[0, 0] - st.t, r[1, 1] - 3 - 2 * st.t],
    )
    step = st.minimum_power(pair, at={r: [[0, 1], [2, 3]]})
    np.testing.assert_allclose(step[r], [[0, 1], [2, 3]])
    np.testing.assert_allclose(step[r.dot], [[1, 0], [0, 2]], atol=1e-12)
    np.testing.assert_allclose(step[r.dot[1]], [0, 2], atol=1e-12)
