"""Natural frequencies and shapes, by a sparse generalized eigenproblem."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import eigh, solve_triangular
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigs, eigsh

from stationary.errors import DerivationError, DidNotConverge, StatementError, say
from stationary.lower.kernel import graph_of, numeric
from stationary.model.layout import Start
from stationary.result.equilibrium import Equilibrium
from stationary.result.modes import Modes
from stationary.result.stability import spectrum
from stationary.solve.arguments import as_time, quiet, require_own
from stationary.solve.gate.balance import balance
from stationary.solve.gate.claims import passed
from stationary.solve.gate.constraints import constraints
from stationary.solve.gate.finding import Finding, worst
from stationary.solve.gate.slopes import require_slopes
from stationary.solve.gate.small_motions import (
    Held,
    changes_by_rounding,
    equal_moves,
    masses,
    shape_rounding,
)
from stationary.solve.gate.state import State
from stationary.solve.inertia import require_system
from stationary.solve.linear import Saddle, independent_rows, share_of, tangent_basis
from stationary.solve.rest.search import Search, search_of
from stationary.solve.rest.statics import refuse, refuse_contacts, statics

# Up to this many coordinates all eigenvalues are found by dense factorizations.
_DENSE_UP_TO = 200

# Unbalanced forces below this, relative to those at work, are rounding.
_AT_REST = 1e-9

# A part of a matrix below this, relative to the whole, is rounding.
_TINY = 1e-9

# Pivots that keep this much of their row leave no doubt that a stiffness is positive definite.
_CLEARLY = 1e-5

# Growth below this, relative to the fastest mode, is rounding of an iteration.
_GROWTH = 1e-7

# How far below zero, in roundings of ω², a matrix is surely not singular; Lanczos' restarts.
_BELOW, _RESTARTS = 100.0, 500

# A solve that leaves more than this of its right side has met a singular matrix.
_SOLVED = 1e-6


@quiet
def modes(
    system: Any,
    *,
    count: int = 6,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
) -> Modes:
    """Find the natural frequencies and shapes of small motions about a state of rest.

    Solves K φ = ω² M φ, where K is the second derivative of U − W − T₀ − λR at rest: tension,
    compression and rotation stiffen or soften it. Gyroscopic forces are taken into account,
    dissipation is not.

    Parameters
    ----------
    system : System
        A discretized continuum or any other.
    count : int
        How many modes, the slowest first.
    at : Equilibrium or dict, optional
        The state of rest. When left out, the one next to the origin.
    params : dict, optional
        Values of parameters; those of the equilibrium, if one is given, else the defaults.
    inputs : dict, optional
        Values of inputs; zero where left out.
    t : float
        Time, for systems that depend on it.

    Returns
    -------
    Modes

    References
    ----------
    R. B. Lehoucq, D. C. Sorensen, C. Yang, ARPACK users' guide (1998), section 3.2 (shift-invert).

    Examples
    --------
    >>> X = st.positions("X")
    >>> u = st.field("u", over=(X, 0, 1))
    >>> string = st.Continuum(
    ...     kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2, fixed={u.at(0): 0, u.at(1): 0}
    ... )
    >>> st.modes(st.discretize(string, elements=50, degree=3), count=3).frequencies.round(6)
    array([3.141593, 6.283185, 9.424778])
    """
    require_system(system)
    refuse(system, "modes")
    refuse_contacts(system, "modes")
    layout = graph_of(system).layout
    graph_of(system).require_inertia()
    t = as_time(t)
    search, q, rest = _state(system, at, params, inputs, t)
    at_rest = t, q, np.zeros_like(q), search.inputs(q), search.params
    require_slopes(search.balance.graph, at_rest)
    problem = _Problem(search, q)
    count = _count(count, problem.freedoms)
    squares, vectors = problem.gyroscopic(count) if problem.turns else problem.symmetric(count)
    shapes = Modes(
        layout=layout,
        values=search.params,
        q=q,
        t=t,
        squares=squares,
        vectors=_signed(vectors * problem.moves),
        residual=problem.residual(squares, vectors),
        floor=problem.floor(vectors),
        damped=problem.damped,
        gyroscopic=problem.turns,
        rest=rest,
        freedoms=problem.freedoms,
    )
    return passed(shapes, "modes", u=search.inputs(q), lam=problem.lam)


def _state(system: Any, at: Any, params: Any, inputs: Any, t: float):
    """Return the search, and the state of rest at which it was asked to look."""
    given = {u.name: 0.0 for u in system.inputs}
    if isinstance(at, Equilibrium):
        require_own(at, system)
        known = {p.name: float(x) for p, x in zip(at.system.parameters, at.params)}
        params = known | {str(k): v for k, v in (params or {}).items()}
        given |= dict(zip(given, at.u.tolist()))
        t = at.t
    given |= {str(k): v for k, v in (inputs or {}).items()}
    search = search_of(system, params, given, t, "any")
    q = at.q if isinstance(at, Equilibrium) else search.layout.state(at, search.params, "at")[0]
    # What statics found has been judged there, unless something has been changed since.
    judged_there = isinstance(at, Equilibrium) and np.array_equal(at.params, search.params)
    judged_there = judged_there and np.array_equal(at.u, search.inputs(q)) and t == at.t
    unbalanced = None if judged_there else _unbalanced(search, q)
    if unbalanced is not None:
        if at is not None:
            raise StatementError(
                "the state that modes are asked about is not at rest.",
                f"Found it untrue that {unbalanced}.",
                "Find one first, as in at=st.statics(system), or leave `at` out.",
            )
        rest = statics(system, params=params, inputs=given, kind="any", t=t)
        return search, rest.q, rest
    return search, q, at if isinstance(at, Equilibrium) else None


def _unbalanced(search: Search, q: np.ndarray) -> Finding | None:
    """Return the claim of rest that is furthest from true, None where forces balance."""
    lam = search.first_multipliers(q, np.arange(search.balance.rows))
    u, zero = search.inputs(q), np.zeros_like(q)
    # Dust beside zero pulls nothing: what matters is a share of what moves alike.
    graph, moves = search.balance.graph, search.moves(q)
    state = State(graph, search.t, q, zero, u, search.params, lam, travel=moves)
    return worst([*balance(state, _AT_REST), *constraints(state, _AT_REST)])


def _count(count: Any, most: int) -> int:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise StatementError(
            "count is not a number of modes.",
            f"Found {count!r}, expected a whole number, 1 or more.",
            "Give how many modes to find, as in count=5.",
        )
    return min(int(count), most)


class _Problem:
    """K φ = ω² M φ on the motions that constraints allow, in moves of coordinates that weigh alike.

    Rows of constraints, metres beside radians, are then of one size.
    """

    def __init__(self, search: Search, q: np.ndarray):
        active = np.arange(search.balance.rows)
        u, zero = search.inputs(q), np.zeros_like(q)
        graph = search.balance.graph
        A = search.limits(q, active)[1].tocsr()
        M = numeric(graph, "dynamics")(search.t, q, zero, u, search.params)[0]
        self.moves = moves = equal_moves(masses(graph, (search.t, q, search.params), M, A))
        held = Held(A, moves)
        # What rounding leaves out of balance is shared in the moves by which modes are measured.
        lam = held.multipliers(search.forces(q)[0])
        self.lam = lam = lam if np.isfinite(lam).all() else np.zeros(len(lam))
        stiffness, bent = search.tangent(q), search.curvature(q, lam)
        K = stiffness - bent
        # What rounds off: a constraint's force may cancel the stiffness to nothing.
        parts = abs(stiffness) + abs(bent)
        if not np.isfinite(parts.data).all():
            raise DerivationError(
                "the stiffness is too large for numbers.",
                "Found entries that are not finite.",
                "Look at its parameters, or write them in larger units.",
            )
        if share_of(K - K.T, parts) > _TINY:
            raise DerivationError(
                "the stiffness is not symmetric: a load follows the motion.",
                f"Found a difference of {abs(K - K.T).max():.3g} in entries up to "
                f"{abs(K).max():.3g}.",
                "Use st.linearize, which finds flutter as well.",
            )
        C = numeric(search.balance, "damping")(search.t, q, u, search.params)[0]
        self.turns = share_of(C - C.T, C) > _TINY
        self.damped = share_of(C + C.T, C) > _TINY
        own = sparse.diags(moves)
        self.K, self.M, self.C, self.parts = (
            sparse.csc_matrix(own @ X @ own)
            for X in (K / 2 + K.T / 2, M / 2 + M.T / 2, C / 2 - C.T / 2, parts)
        )
        changes = changes_by_rounding(search.balance, (search.t, q, u, search.params), lam, moves)
        self.shaken = [sparse.csc_matrix(own @ X @ own) for X in changes]
        self.A = held.rows
        self.n, self.m = len(q), len(active)

    @property
    def freedoms(self) -> int:
        """How many motions the constraints leave."""
        return self.n - (len(independent_rows(self.A)) if self.m else 0)

    @property
    def _free(self) -> np.ndarray:
        """An orthonormal basis of the motions that constraints allow, in columns."""
        return tangent_basis(self.A)

    def residual(self, squares: np.ndarray, vectors: np.ndarray) -> float:
        """Return the largest relative residual of the eigenproblem."""
        free = self._free if self.m and self.n <= _DENSE_UP_TO else None
        worst = 0.0
        for square, phi in zip(squares, vectors):
            w = np.emath.sqrt(square)
            push, inertia, parts = self.K @ phi, square * (self.M @ phi), self.parts @ np.abs(phi)
            # Squares of forces need not be numbers: norms are those of parts of the largest.
            size = max(np.abs(inertia).max(), parts.max()) or 1.0
            left = (push - inertia) / size
            if self.turns:
                left = left + 1j * w * (self.C @ phi) / size
            if free is not None:
                left = free.T @ left
            elif self.m:
                saddle, nothing = Saddle(sparse.eye(self.n, format="csc"), self.A), np.zeros(self.m)
                real, imaginary = (saddle.solve(x, nothing)[0] for x in (left.real, left.imag))
                left = real + 1j * imaginary
            scale = np.linalg.norm(push / size) + np.linalg.norm(inertia / size)
            # A rigid motion has no forces to compare with: those of its parts are its scale, and
            # those that rounding of its shape makes.
            rounded = self.parts @ shape_rounding(phi) + sum(abs(X @ phi) for X in self.shaken)
            scale = max(scale, 1e-6 * np.linalg.norm(parts / size))
            scale = max(scale, 1e6 * np.linalg.norm(rounded / size))
            worst = max(worst, float(np.linalg.norm(left) / max(scale, 1e-300)))
        return worst

    def floor(self, vectors: np.ndarray) -> np.ndarray:
        """Return by how much rounding, of the stiffness and of each shape, may change its ω²."""
        sizes, eps = np.abs(vectors), np.finfo(float).eps
        rounded = np.array([shape_rounding(phi) for phi in sizes])
        own, other = ((x * (self.parts @ x.T).T).sum(axis=1) for x in (sizes, rounded))
        turned = [np.abs((vectors.conj() * (X @ vectors.T).T).sum(axis=1)) for X in self.shaken]
        return eps * own + other + np.sum(turned, axis=0)

    # -- vibration --------------------------------------------------------------------------------

    def symmetric(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ω², ascending, and shapes in rows."""
        idle = self._idle if self.n > _DENSE_UP_TO else np.zeros(self.n, dtype=bool)
        if idle.any():
            squares, vectors = self._beside(np.flatnonzero(idle), np.flatnonzero(~idle), count)
        elif self.n <= _DENSE_UP_TO or count >= (self.n - self.m) // 2:
            free = self._free
            K, M = (free.T @ (X @ free) for X in (self.K, self.M))
            try:
                squares, z = _dense(K / 2 + K.T / 2, M / 2 + M.T / 2, count)
            except np.linalg.LinAlgError:
                raise self._no_inertia() from None
            vectors = (free @ z).T
        else:
            squares, vectors = self._sparse(count)
        return squares, vectors

    @property
    def _idle(self) -> np.ndarray:
        """Which coordinates neither stiffness nor rows touch, nor what shares their inertia."""
        _, part = connected_components(abs(self.K) + abs(self.M), directed=False)
        touched = sum(np.asarray(abs(X).sum(axis=0)).ravel() for X in (self.K, self.A)) > 0
        return ~np.isin(part, part[touched])

    def _beside(self, idle: np.ndarray, rest: np.ndarray, count: int):
        """Return ω² and shapes where nothing pushes some coordinates, which move by themselves.

        No iteration has to look for their ω = 0 among many that are equal.
        """
        if not Saddle(self.M[idle][:, idle], self.A[:0, idle]).definite:
            raise self._no_inertia()
        few = idle[:count]
        factor = np.linalg.cholesky(self.M[few][:, few].toarray())
        vectors = np.zeros((len(few), self.n))
        vectors[:, few] = solve_triangular(factor, np.eye(len(few)), lower=True)
        squares = np.zeros(len(few))
        pushed = copy(self)
        pushed.K, pushed.M = (X[rest][:, rest] for X in (self.K, self.M))
        pushed.A, pushed.n = self.A[:, rest], len(rest)
        wanted = min(count, pushed.freedoms)
        if wanted:
            own, shapes = pushed.symmetric(wanted)
            squares = np.concatenate([own, squares])
            vectors = np.vstack([np.zeros((wanted, self.n)), vectors])
            vectors[:wanted, rest] = shapes
        order = np.argsort(squares, kind="stable")[:count]
        return squares[order], vectors[order]

    def _no_inertia(self) -> DerivationError:
        return DerivationError(
            "the mass matrix is not positive definite: some motion has no inertia.",
            "Expected kinetic energy in every motion that constraints allow.",
            "Give every field and coordinate a mass.",
        )

    def _sparse(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        shift = self._first_shift()
        if shift:
            # A rigid motion, or the brink of buckling: look from below, from as far as what moves.
            squares, _ = self._near(shift, min(count + 4, self.n - self.m - 1))
            moving = squares[squares > 1e-3 * squares.max()]
            shift = min(shift, -float(moving.min())) if len(moving) else shift
        squares, vectors = self._near(shift, count)
        if self._negative(shift) > np.sum(squares < shift):
            squares, vectors = self._near(10 * min(float(squares.min()), -abs(shift)), count)
        return squares, vectors

    def _first_shift(self) -> float:
        """Return zero where K can be inverted to some digits, else a shift below what is slowest.

        Rounding of K changes ω² of smooth motions by about ε·1ᵀ|K|1/1ᵀM1: an ω² below that cannot
        be told from zero.
        """
        ones, b = np.ones(self.n), np.random.default_rng(0).standard_normal(self.n)
        floor = float(np.finfo(float).eps * (abs(self.K) @ ones).sum() / (self.M @ ones).sum())
        saddle = Saddle(self.K, self.A)
        try:
            with np.errstate(all="ignore"):
                x, y = saddle.solve(b, np.zeros(self.m))
                left = self.K @ x + self.A.T @ y - b
            slowest = abs(x @ (self.K @ x)) / (x @ (self.M @ x))
        except RuntimeError:
            return -_BELOW * floor
        small = np.linalg.norm(left) < _SOLVED * np.linalg.norm(b)
        return 0.0 if small and slowest > 10 * floor else -_BELOW * floor

    def _negative(self, shift: float) -> int:
        """Return how many eigenvalues lie below a shift."""
        return Saddle(self.K - shift * self.M, self.A).negative

    def _near(self, shift: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues nearest to a shift, by Lanczos' method on the inverse."""
        saddle, nothing = Saddle(self.K - shift * self.M, self.A), np.zeros(self.m)

        def solve(b: np.ndarray) -> np.ndarray:
            return saddle.solve(np.ravel(b), nothing)[0]

        shape = (self.n, self.n)
        start = solve(self.M @ np.random.default_rng(0).standard_normal(self.n))
        try:
            squares, vectors = eigsh(
                self.K, k=count, M=self.M, sigma=shift, which="LM", v0=start, maxiter=_RESTARTS,
                OPinv=LinearOperator(shape, matvec=solve, dtype=float),  # pyright: ignore[reportArgumentType]
            )  # fmt: skip
        except ArpackNoConvergence as failure:
            raise DidNotConverge(
                say(
                    f"only {len(failure.eigenvalues)} of {count} modes were found.",
                    "The eigenvalues lie too close together for the iteration.",
                    "Ask for fewer, or for a few more than are needed.",
                ),
                status="no convergence",
            ) from None
        except ArpackError:
            raise self._no_inertia() from None
        order = np.argsort(squares)
        return squares[order], vectors[:, order].T

    # -- with gyroscopic forces -------------------------------------------------------------------

    def gyroscopic(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ω² and complex shapes of M q̈ + C q̇ + K q = Aᵀλ with C skew and A q = 0."""
        if self.n <= _DENSE_UP_TO or count >= (self.n - self.m) // 2:
            free = self._free
            K, C, M = (free.T @ (X @ free) for X in (self.K, self.C, self.M))
            swing, z = _turning((K + K.T) / 2, (C - C.T) / 2, (M + M.T) / 2, self._no_inertia)
            shapes = free @ z
        else:
            swing, shapes = self._turning_sparse(count)
        order = np.argsort(swing, kind="stable")[:count]
        swing, shapes = swing[order], shapes[:, order]
        scale = np.sqrt(np.abs(np.sum(shapes.conj() * (self.M @ shapes), axis=0)))
        return swing**2, (shapes / scale).T

    def _turning_sparse(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the slowest frequencies and shapes, by Arnoldi's method on the inverse."""
        n, C, M = self.n, self.C, self.M
        saddle, nothing = Saddle(self.K, self.A), np.zeros(self.m)

        def solve(b: np.ndarray) -> np.ndarray:
            b1, b2 = np.ravel(b)[:n], np.ravel(b)[n:]
            return np.concatenate([-saddle.solve(b2 + C @ b1, nothing)[0], b1])

        eye = sparse.eye(n, format="csc")
        A = sparse.bmat([[None, eye], [-self.K, -C]], format="csc")
        B = sparse.bmat([[eye, None], [None, M]], format="csc")
        most = min(2 * count + 4, 2 * (n - self.m) - 2)
        # Twice through the inverse: the start, and all that follows, is what constraints allow.
        start = solve(B @ solve(B @ np.random.default_rng(0).standard_normal(2 * n)))
        rates, vectors = eigs(
            A, k=most, M=B, sigma=0.0, v0=start,
            OPinv=LinearOperator((2 * n, 2 * n), matvec=solve, dtype=float),  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
        kept = _swinging(rates, np.full(len(rates), _GROWTH * np.abs(rates).max()))
        return np.imag(rates[kept]), vectors[:n, kept]


def _turning(K: Any, C: Any, M: Any, no_inertia: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all frequencies of M ẍ + C ẋ + K x = 0 with C skew, and shapes in columns."""
    k = len(K)
    try:
        mass = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise no_inertia() from None
    try:
        stiff = np.linalg.cholesky(K)
        definite = (stiff.diagonal() > _CLEARLY * np.sqrt(K.diagonal())).all()
    except np.linalg.LinAlgError:
        definite, stiff = False, K
    if definite:
        # A Hermitian matrix whose eigenvalues are 1/ω: frequencies are real, the lowest the best.
        turned = solve_triangular(stiff, solve_triangular(stiff, C, lower=True).T, lower=True).T
        across = solve_triangular(stiff, mass, lower=True)
        inverse, z = eigh(-1j * np.block([[turned, across], [-across.T, np.zeros((k, k))]]))
        # The first half of every vector is Lᵀx with K = LLᵀ.
        return 1 / inverse[k:], solve_triangular(stiff.T, z[:k, k:])
    # In units of mass and of the motion's own time, so that stiffness and turning are alike.
    K, C = (
        solve_triangular(mass, solve_triangular(mass, X, lower=True).T, lower=True).T
        for X in (K, C)
    )
    pace = max(np.sqrt(np.linalg.norm(K, 2)), np.linalg.norm(C, 2)) or 1.0
    rounding = np.zeros((2 * k, 2 * k))
    rounding[k:, :k] = 16 * np.finfo(float).eps * np.abs(K).max() / pace**2
    whole = np.block([[np.zeros((k, k)), np.eye(k)], [-K / pace**2, -C / pace]])
    rates, vectors, moved = spectrum(whole, rounding)
    kept = _swinging(rates * pace, moved * pace)
    swing = np.where(np.abs(rates[kept]) <= moved[kept], 0.0, np.imag(rates[kept]))
    return swing * pace, solve_triangular(mass.T, vectors[:k, kept])


def _swinging(rates: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return one of every pair of rates ±iω; refuse rates that grow."""
    growth, swing = np.real(rates), np.imag(rates)
    if np.any(growth > moved):
        worst = complex(rates[np.argmax(growth)])
        raise DerivationError(
            "the motion is unstable: gyroscopic modes grow.",
            f"Found the rate {worst.real:.4g} per second at {abs(worst.imag):.4g} rad/s.",
            "Use st.linearize for all eigenvalues.",
        )
    unmoved = np.flatnonzero(np.abs(rates) <= moved)
    return np.concatenate([unmoved[::2], np.flatnonzero((swing > 0) & (np.abs(rates) > moved))])


def _dense(K: np.ndarray, M: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest ω² and their vectors, each with its own digits.

    The plain problem rounds all ω² alike, relative to the largest: the lowest lose theirs. The
    inverse one, from a shift below the lowest, keeps them.
    """
    n = len(K)
    lowest = eigh(K, M, eigvals_only=True, subset_by_index=(0, count - 1))
    moving = lowest[lowest > 1e-6 * np.abs(lowest).max()]
    shift = 0.0
    if lowest[0] < 1e-3 * np.abs(lowest).max():
        # Where nothing moves any shift is as good.
        shift = max(2 * abs(lowest[0]), moving.min() if len(moving) else 0.0) or 1.0
    try:
        inverse, z = eigh(M, K + shift * M, subset_by_index=(n - count, n - 1))
    except np.linalg.LinAlgError:
        return eigh(K, M, subset_by_index=(0, count - 1))
    squares, z = 1 / inverse[::-1] - shift, z[:, ::-1]
    return _unpushed(K, M, squares, z / np.sqrt(np.sum(z * (M @ z), axis=0)))


def _unpushed(
    K: np.ndarray, M: np.ndarray, squares: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ω² and vectors where those of motions that nothing pushes are found among themselves.

    A shift leaves them as much as it is rounded by itself. One step of the inverse from beside
    zero takes from their shapes what is stiff, and the small problem on what they span tells the
    rest: its ω² are off by the square of what shapes are off by.
    """
    moves = equal_moves(M.diagonal())
    near = 64 * len(K) * np.finfo(float).eps * np.abs(moves[:, None] * K * moves).max()
    slow = np.abs(squares) <= near
    try:
        shapes = np.linalg.solve(K + 16 * near * M, M @ z[:, slow]) if slow.any() else z[:, slow]
        own, turn = eigh(shapes.T @ K @ shapes, shapes.T @ M @ shapes)
    except np.linalg.LinAlgError:
        return squares, z
    squares[slow], z[:, slow] = own, shapes @ turn
    return squares, z


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Give every shape the sign that makes its largest entry positive; of equal ones the first."""
    signed = np.array(vectors)
    for phi in signed:
        size = np.abs(phi)
        first = int(np.argmax(size > (1 - 1e-6) * size.max()))
        phi *= 1.0 if phi[first] >= 0 else -1.0
    return signed
