"""What matters most: a spring under a load, both uncertain, by Sobol samples and indices.

The first-order index of a name is the share of the variance that it causes by itself; the total
index counts what it causes together with others, too (I. M. Sobol, Global sensitivity indices for
nonlinear mathematical models, Math. Comput. Simul. 55 (2001) 271). For x = F/k with both between
1 and 2 they follow from E F = 3/2, E F² = 7/3, E 1/k = ln 2 and E 1/k² = 1/2.
"""

import numpy as np
from scipy.stats import sobol_indices, uniform

import stationary as st
from examples import Row, save

QUESTION = "What of a million of them?"

COUNT = 4096

x = st.coordinates("x")
F, k = st.parameters(F=1.0, k=1.0)


def system():
    return st.System(potential=k * x**2 / 2, work=F * x, name="spring under a load")


def study():
    """Return the runs of a design without gaps."""
    design = st.samples({F: (1, 2), k: (1, 2)}, count=COUNT, kind="sobol", seed=1)
    return st.sweep(st.statics, system(), over=design, keep={"x": x})


def indices():
    """Return Sobol's indices, first order and total, of F and of k."""

    def deflection(names):
        given = {(F, k): (np.ravel(names[0]), np.ravel(names[1]))}
        return st.sweep(st.statics, system(), over=given, keep={"x": x})["x"].reshape(
            np.shape(names)[1:]
        )

    random = np.random.default_rng(2)
    return sobol_indices(func=deflection, n=COUNT, dists=[uniform(1, 1)] * 2, rng=random)


def results():
    runs, found = study(), indices()
    log = np.log(2)
    variance = 7 / 6 - (1.5 * log) ** 2
    load, spring = log**2 / 12 / variance, 2.25 * (1 / 2 - log**2) / variance
    first = found.first_order
    return [
        Row("mean of x", 1.5 * log, float(runs["x"].mean()), "E F · E 1/k", 1e-4),
        Row("variance of x", variance, float(runs["x"].var()), "closed form", 1e-4),
        Row("index of F", load, float(first[0]), "closed form", 0.01),
        Row("index of k", spring, float(first[1]), "closed form", 0.01),
        Row("total index of F", 1 - spring, float(found.total_order[0]), "closed form", 0.01),
    ]


def pictures(folder):
    save(study().plot(), folder / "sensitivity.png")


if __name__ == "__main__":
    for row in results():
        print(row)
