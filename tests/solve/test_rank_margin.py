"""Losses of rank are looked for along every motion, at a price that grows as the system does."""

import numpy as np
import pytest
from scipy.integrate import quad

import stationary as st


def rope(links, ends):
    """Return a rope of inextensible links in a plane, held at one end or at both, and its start."""
    n, length = links - (ends == 2), 1 / links
    r = st.coordinates("r", shape=(n, 2))
    rows = [st.each(lambda a, b: st.norm(b - a) - length, r[:-1], r[1:]), st.norm(r[0]) - length]
    if ends == 2:
        rows.append(st.norm((r[n - 1, 0] - 0.8, r[n - 1, 1])) - length)
    system = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / (2 * n), r.dot),
        potential=st.each(lambda p: 9.81 / n * p[1], r),
        constraints=rows,
    )
    if ends == 1:
        return system, {r: np.column_stack([np.arange(1, n + 1) * length, np.zeros(n)])}
    x = np.linspace(0, 0.8, n + 2)[1:-1]
    return system, st.consistent(system, {r: np.column_stack([x, x * (x - 0.8)])})


@pytest.mark.parametrize(("ends", "most"), [(1, 0.0), (2, 2.0)])
def test_few_matrices_are_decomposed_on_the_way(monkeypatch, ends, most):
    """None of a chain, whose links each move a place of their own; of a loop one or two a step."""
    system, start = rope(16, ends)
    decomposed, plain = [], np.linalg.eigvalsh

    def counted(matrices, *more):
        decomposed.append(len(matrices) if np.ndim(matrices) == 3 else 0)
        return plain(matrices, *more)

    monkeypatch.setattr(np.linalg, "eigvalsh", counted)
    motion = st.simulate(system, span=(0, 0.5), start=start, points=11)
    assert motion.success and motion.residual["energy"] < 1e-11
    assert sum(decomposed) <= most * motion.steps


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_what_a_row_has_for_itself_may_vanish_where_others_hold_it(unit):
    """u alone moves the first row, with no slope at u = 0; there y holds it, which a loop moves."""
    u, y, p, s = st.coordinates("u y p s")
    system = st.System(
        kinetic=(u.dot**2 + y.dot**2 + p.dot**2 + s.dot**2) / 2,
        constraints=[u**2 / (2 * unit) - y, y + p + s, y + 2 * p - s],
    )
    start = {u: -unit, y: unit / 2, p: -unit / 3, s: -unit / 6,
             u.dot: unit, y.dot: -unit, p.dot: 2 * unit / 3, s.dot: unit / 3}  # fmt: skip
    # T = u̇²(1 + 14/9 u²)/2 stays as it is.
    time = quad(lambda w: np.sqrt((1 + 14 / 9 * w**2) / (1 + 14 / 9)), -1, 1, epsabs=1e-13)[0]
    motion = st.simulate(system, span=(0, time), start=start, points=11)
    assert motion[u][-1] / unit == pytest.approx(1, abs=1e-10)
    assert motion[p][-1] / unit == pytest.approx(-1 / 3, abs=1e-10)


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("kind", ["doubled", "turned", "squared"])
def test_rows_of_which_one_says_nothing_new_at_the_start_are_followed(kind, loop):
    """A row that alone moves a coordinate, along which it has no slope where the motion starts."""
    a, p, q, r, s, w = st.coordinates("a p q r s w")
    rows = {
        "doubled": [p - q + a**2 / 2, p - q],
        "turned": [p - q + st.cos(a) - 1, p - q],
        "squared": [a**2 + 0 * p, p - q],
    }[kind]
    more = [r + s + w, r + 2 * s - w] if loop else []
    moving = [a, p, q, r, s, w] if loop else [a, p, q]
    system = st.System(kinetic=sum(x.dot**2 for x in moving) / 2, constraints=[*rows, *more])
    start = {p.dot: 1, q.dot: 1} | ({r.dot: 3, s.dot: -2, w.dot: -1} if loop else {})
    motion = st.simulate(system, span=(0, 1), start=start, points=5)
    assert motion[p][-1] == pytest.approx(1, rel=1e-12) == motion[q][-1]
    if loop:
        assert motion[r][-1] == pytest.approx(3, rel=1e-12)
