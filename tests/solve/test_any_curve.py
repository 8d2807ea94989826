"""Continuation is generic: curves of other things than equilibria are followed as well."""

import numpy as np
import pytest

from stationary.solve.continuation.arclength import Follower
from stationary.solve.continuation.equilibrium_curve import AbstractCurve


class Resonance(AbstractCurve):
    """The amplitude of a Duffing oscillator by one harmonic, over the frequency of its drive."""

    parameter, span, n = "w", (0.5, 2.5), 2
    damping, cubic, drive = 0.05, 0.5, 0.3
    scale = np.array([1.0, 1.0, 1.0])

    def __init__(self):
        a, b = np.linalg.solve([[0.75, 0.025], [-0.025, 0.75]], [0.3, 0.0])
        self.start = np.array([a, b, 0.5])
        for _ in range(20):
            F, J = self.raw(self.start)
            self.start[:2] -= np.linalg.solve(J[:, :2], F)

    def raw(self, z):
        """Balance of the cosine and of the sine of the drive."""
        a, b, w = z
        d, r = self.damping, a**2 + b**2
        stiff = 1 - w**2 + 0.75 * self.cubic * r
        F = np.array([stiff * a + d * w * b - self.drive, stiff * b - d * w * a])
        grow = 1.5 * self.cubic
        J = np.array(
            [
                [stiff + grow * a * a, d * w + grow * a * b, -2 * w * a + d * b],
                [-d * w + grow * a * b, stiff + grow * b * b, -2 * w * b - d * a],
            ]
        )
        return F, J


def test_any_curve_can_be_followed_through_its_folds():
    # A. H. Nayfeh, D. T. Mook, Nonlinear Oscillations (1979): the response bends over; its folds
    # are where the frequency is stationary along the amplitude.
    curve = Resonance()
    follower = Follower(curve, 2000, np.inf)
    follower.run()
    (trail,) = follower.trails
    assert trail.status == "span" and trail.points[-1, -1] == 2.5
    folds = sorted(mark.z[-1] for mark in follower.marks if mark.kind == "fold")
    # With s the square of the amplitude (1 − w² + ¾ c s)² + d² w² = f²/s is quadratic in w².
    s = np.linspace(0.05, 15, 1_000_001)
    k = 1 + 0.75 * curve.cubic * s
    p = k - curve.damping**2 / 2
    root = p**2 - k**2 + curve.drive**2 / s
    s, p, root = (x[root > 0] for x in (s, p, root))
    above = np.sqrt(p + np.sqrt(root))
    lowest = np.argmin(above)
    assert 0 < lowest < len(s) - 1
    highest = np.sqrt(np.max([p + np.sqrt(root), p - np.sqrt(root)], axis=0))[lowest:].max()
    assert folds == pytest.approx([above[lowest], highest], rel=1e-6)
