"""Every coordinate in a unit of its own: an angle beside nanometres and beside light-years."""

import numpy as np
import pytest
import sympy as sp

import stationary as st

x, y, z = PLACES = st.coordinates("x y z")
mu = st.parameters(mu=0.0)


def statement(seed: int, units) -> st.System:
    """Return a random statement with inertia, and what turns, damps, feeds or holds it."""
    chance = np.random.default_rng(seed)
    place, speed = sp.Matrix(PLACES), sp.Matrix([c.dot for c in PLACES])
    A, B = chance.uniform(-1, 1, (2, 3, 3))
    M, K = sp.Matrix(A @ A.T + np.eye(3) / 2), sp.Matrix(B + B.T)
    kinetic = (speed.T * M * speed)[0] / 2 + (seed % 2) * 1.3 * (x * y.dot - y * x.dot)
    potential = (place.T * K * place)[0] / 2 + sum(c**4 for c in PLACES) + 0.2 * x - 0.1 * z
    potential = potential - mu * (x - 0.7 * y + 0.3 * z) + int(seed % 7 == 3) * st.cos(2 * x)
    pull = 0.4 * (seed % 4 == 2)
    held = [x + 0.4 * y * z - 0.3 * z + 0.2 * x**2][: seed % 3]
    swap = {c: c / unit for c, unit in zip(PLACES, units)}
    swap |= {c.dot: c.dot / unit for c, unit in zip(PLACES, units)}

    def put(e):
        return sp.S(e).xreplace(swap)

    return st.System(
        kinetic=put(kinetic), potential=put(potential), coordinates=PLACES,
        dissipation=put(0.2 * int(seed % 3 == 1) * sum(c.dot**2 for c in PLACES)),
        loads=[st.Load((put(pull * y), put(-pull * x)), on=(put(x), put(y)))] * (pull > 0),
        constraints=[put(R) for R in held + held[:1] * (seed % 5 == 2)],
    )  # fmt: skip


def answers(seed: int, units):
    """Return what verbs say in words, and in numbers without units."""
    system, start = statement(seed, units), dict(zip(PLACES, 0.3 * np.array(units)))
    rest = st.statics(system, start=start, kind="any")
    lin = st.linearize(system, at=rest)
    signs = [int(np.sum(np.sign(rest.eigenvalues) == sign)) for sign in (1, -1)]
    words = [str(rest.stability), str(lin.stability), rest.inertia, signs]
    rates = np.asarray(lin.eigenvalues, dtype=complex)
    numbers = [rest.q / units, rates[np.lexsort(np.round([np.real(rates), np.imag(rates)], 6))]]
    try:
        tones = st.modes(system, at=rest)
        words += [tones.gyroscopic, tones.damped, tones.freedoms]
        numbers += [tones.squares]
    except st.DerivationError as refused:
        words += [str(refused).split("\n")[0]]
    if seed == 5:
        branch = st.continuation(system, parameter=mu, span=(-0.1, 0.1), start=rest).branches[0]
        words += [branch.unstable.tolist()]
        numbers += [branch.parameter, *(branch.q / units)]
    return words, np.concatenate(numbers)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_units_of_single_coordinates_change_no_word_and_no_number(seed):
    words, numbers = answers(seed, np.ones(3))
    for units in ([1e-9, 1.0, 1e9], [1e9, 1e-9, 1.0]):
        said, same = answers(seed, np.array(units))
        assert said == words
        np.testing.assert_allclose(same, numbers, rtol=1e-6, atol=1e-7)
