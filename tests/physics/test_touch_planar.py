"""Random systems whose contacts slip in a plane: the laws at every change, from numbers alone.

Rows of contacts are as many as coordinates, so that Newton's law tells every force and impulse from
accelerations and jumps of velocities. Contact and Coulomb's cone are checked of these.
"""

from functools import lru_cache

import numpy as np
import pytest

import stationary as st

END = 2.0
SMALL = 1e-6


@lru_cache
def statement(count):
    n = 3 * count
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
    names = [f"M{i}_{j}" for i in range(n) for j in range(i, n)] + [f"g{i}" for i in range(n)]
    names += [f"C{r}_{i}" for r in range(n) for i in range(n)] + [f"d{r}" for r in range(n)]
    names += ["k", "mu", "r", *(f"e{c}" for c in range(count))]
    p = dict(zip(names, st.parameters(" ".join(names))))
    square = sum(x**2 for x in q)
    rows = [sum(p[f"C{r}_{i}"] * q[i] for i in range(n)) for r in range(n)]
    contacts = [
        st.Contact(
            rows[3 * c] + p[f"d{3 * c}"] + p["r"] * square / 2,
            slip=tuple(rows[s] + p[f"d{s}"] * st.t for s in (3 * c + 1, 3 * c + 2)),
            friction=p["mu"], restitution=p[f"e{c}"], name=f"{c}",
        )
        for c in range(count)
    ]  # fmt: skip
    inertia = sum(
        p[f"M{min(i, j)}_{max(i, j)}"] * q[i].dot * q[j].dot / 2 for i in range(n) for j in range(n)
    )
    weight = sum(p[f"g{i}"] * q[i] for i in range(n))
    return st.System(kinetic=inertia, potential=p["k"] * square / 2 + weight, contacts=contacts), q


class Planar:
    """The numbers of one system, and its mechanics from them."""

    def __init__(self, seed, count):
        r, n = np.random.default_rng(seed), 3 * count
        B = 0.2 * r.normal(size=(n, n))
        self.count, self.M = count, np.diag(r.uniform(0.5, 2, n)) + B @ B.T
        self.C = np.linalg.qr(r.normal(size=(n, n)))[0] + 0.1 * r.normal(size=(n, n))
        self.k, self.mu, self.r = r.uniform(0, 2), r.choice([0.1, 0.3, 0.5]), r.choice([0.0, 0.2])
        self.g = 0.5 * r.normal(size=n) + r.uniform(1, 4) * self.C[::3].sum(axis=0)
        self.d = r.choice([0, 0.3], n) * r.normal(size=n)
        self.d[::3] = r.uniform(0.1, 0.5, count)
        self.e, self.start = r.choice([0, 0, 0.5], count), 0.7 * r.normal(size=n)

    @property
    def params(self):
        n = len(self.g)
        numbers = {f"M{i}_{j}": self.M[i, j] for i in range(n) for j in range(i, n)}
        numbers |= {f"C{r}_{i}": self.C[r, i] for r in range(n) for i in range(n)}
        numbers |= {f"{w}{i}": x for w in "gde" for i, x in enumerate(getattr(self, w))}
        return numbers | {"k": self.k, "mu": self.mu, "r": self.r}

    def gaps(self, q):
        return (self.C @ q + self.d + self.r * (q @ q) / 2)[::3]

    def slopes(self, q):
        slopes = self.C.copy()
        slopes[::3] += self.r * q
        return slopes

    def rates(self, q, v):
        rates = self.slopes(q) @ v + self.d
        rates[::3] -= self.d[::3]
        return rates

    def check(self, z, w, near, slip):
        """Check forces against rates that they bring about; `slip` are those that there are."""
        for c in range(self.count):
            push, rub, away = z[3 * c], z[3 * c + 1 : 3 * c + 3], w[3 * c]
            along = slip[3 * c + 1 : 3 * c + 3]
            if not near[c]:
                assert np.abs(z[3 * c : 3 * c + 3]).max() < SMALL
                continue
            assert push > -SMALL and away > -SMALL and min(abs(push), abs(away)) < SMALL
            if np.linalg.norm(along) < 1e-3 * SMALL:
                along = w[3 * c + 1 : 3 * c + 3]
            speed, limit = np.linalg.norm(along), self.mu * max(push, 0)
            assert np.linalg.norm(rub) < limit + SMALL
            if speed > SMALL:
                assert np.abs(rub + limit * along / speed).max() < 10 * SMALL
                yield "slides"
            else:
                yield "sticks"


def check_changes(seed, count):
    walls, (system, q) = Planar(seed, count), statement(count)
    n, seen = len(q), []
    motion = st.simulate(
        system, span=(0, END), start=dict(zip((x.dot for x in q), walls.start)),
        params=walls.params, points=11, throw=False,
    )  # fmt: skip
    assert isinstance(motion, st.Touched)
    apart = np.diff(motion.began, prepend=-9, append=motion.t[-1])
    for k, t in enumerate(motion.began):
        if min(apart[k], apart[k + 1]) < 1e-5:
            continue
        # Slips that begin smoothly are rounding for a while.
        for later in (0.0, 1e-3)[: 1 + (apart[k + 1] > 2e-3)]:
            here = motion.at(np.array([t + later]))
            q, v, a = (np.ravel(x) for x in (here.q, here.v, here.a))
            C, rates, close = walls.slopes(q), walls.rates(q, v), walls.gaps(q) < 1e-11
            bend = np.where(np.arange(n) % 3 == 0, walls.r * (v @ v), 0.0)
            force = np.linalg.solve(C.T, walls.M @ a + walls.k * q + walls.g)
            seen += walls.check(force, C @ a + bend, close & (rates[::3] < 1e-9), rates)
        if k:
            soon = 1e-8
            before, here = (motion.at(np.array([x])) for x in (t - soon, t))
            u, q, v = (np.ravel(x) for x in (before.v + soon * before.a, here.q, here.v))
            C, rates, close = walls.slopes(q), walls.rates(q, v), walls.gaps(q) < 1e-11
            impulse = np.linalg.solve(C.T, walls.M @ (v - u))
            back = walls.rates(q, u)
            after = rates.copy()
            after[::3] += walls.e * np.minimum(back[::3], 0)
            if np.abs(impulse).max() > 10 * SMALL:
                list(walls.check(impulse, after, close, after))
                seen.append("strikes")
    return [*seen, str(motion.status)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count, seeds", [
    (1, range(6)), (2, range(6)),
    pytest.param(1, range(100, 160), marks=pytest.mark.slow),
    pytest.param(2, range(100, 120), marks=pytest.mark.slow),
])  # fmt: skip
def test_every_change_of_what_slips_in_a_plane_obeys_the_laws(count, seeds):
    seen = [what for seed in seeds for what in check_changes(seed, count)]
    assert {"slides", "sticks", "strikes"} <= set(seen)
    assert seen.count("done") == len(seeds)


def test_a_saved_motion_is_followed_from_where_a_slip_begins(tmp_path):
    x, y = st.coordinates("x y")
    pull = [st.Load(st.t, on=x), st.Load(st.t**2 / 2, on=y)]
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, loads=pull, friction=[st.Friction(1.0, on=(x, y))]
    )
    motion = st.simulate(system, span=(0, 2), points=5)
    st.save(motion, tmp_path / "onset.nc")
    again = st.load(tmp_path / "onset.nc")
    # It slips where the pull is as large as the limit: t² + t⁴/4 = 1.
    began = float(np.sqrt(2 * (np.sqrt(2) - 1)))
    assert motion.changes[0].t == pytest.approx(began, rel=1e-12)
    times = motion.changes[0].t + np.array([0, 1e-9, 1e-6, 1e-4, 1e-2, 0.08])
    for q in (x, y, x.dot, y.dot):
        np.testing.assert_allclose(again.at(times)[q], motion.at(times)[q], rtol=0, atol=1e-10)


def test_a_bead_on_a_wire_turns_round_against_friction_as_it_does_along_its_arc():
    # The wire leaves a slip in the plane one line: the same as friction along it, in its own x.
    x, y = st.coordinates("x y")
    wire = st.Constraint(y - x**2, name="wire")
    flat = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, constraints=[wire],
        friction=[st.Friction(0.7, on=(x, y), name="rubs")],
    )  # fmt: skip
    arc = 1 + 4 * x**2
    along = st.System(
        kinetic=arc * x.dot**2 / 2, potential=9.81 * x**2,
        friction=[st.Friction(0.7 * st.sqrt(arc), on=x, name="rubs")],
    )  # fmt: skip
    one = st.simulate(flat, span=(0, 4), start={x: 1.0, y: 1.0}, points=21)
    other = st.simulate(along, span=(0, 4), start={x: 1.0}, points=21)
    assert one[x] == pytest.approx(other[x], abs=1e-12)
    assert list(one.changes.kind) == list(other.changes.kind) == ["reverse"] * 3
    assert one.changes.t == pytest.approx(other.changes.t, rel=1e-10)
