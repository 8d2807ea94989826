"""A measured push: where a finger touched a part, and how the part moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import StatementError, say, spelled
from stationary.model.numbers import finite
from stationary.model.push_file import read
from stationary.model.track import Pushes, cut

_SIZES = {1: "a number", 2: "a pair of numbers", 3: "three numbers"}


@spelled
@dataclass(frozen=True, kw_only=True)
class Push:
    """One measured push of a part: everything in the frame of the part.

    Parameters
    ----------
    point : tuple of two numbers
        Where the finger touches.
    normal : tuple of two numbers
        Direction in which it pushes, into the part.
    motion : tuple of three numbers, optional
        (vx, vy, ω) of the part's origin: velocities, or a short displacement.
    before, after : tuples of three numbers, optional
        Instead of `motion`: the poses (x, y, φ) on the table at both ends of a short push. The
        motion is taken in the middle between them, so that the way it curves does not count;
        angles may jump by whole turns.
    finger : tuple of two numbers, optional
        Motion of the finger, like `motion`: with it the friction of the finger is known to stick or
        to slide.
    force : number or tuple of two numbers, optional
        What the finger pushes with: its normal force, or both components.
    noise : tuple of two or three numbers, optional
        Standard errors of the displacement and of the angle (or of velocities and rates), and of
        the force, where they differ from push to push.
    gap : number, optional
        How far from the outline the finger was seen while it touched, outside positive. What is
        off like that may be off along the outline, too, in all pushes alike: intervals of a fit
        allow for it.

    Examples
    --------
    >>> push = st.Push(point=(0.2, -0.5), normal=(0, 1), before=(0, 0, 0), after=(0, 0.01, 0.02))
    >>> [round(float(x), 4) for x in push.twist]
    [0.0001, 0.01, 0.02]
    """

    point: Any = None
    normal: Any = None
    motion: Any = None
    before: Any = None
    after: Any = None
    finger: Any = None
    force: Any = None
    noise: Any = None
    gap: Any = None

    def __post_init__(self):
        for word, size in (("point", 2), ("normal", 2), ("motion", 3), ("before", 3), ("after", 3),
                           ("finger", 2)):  # fmt: skip
            value = getattr(self, word)
            if value is not None or word in ("point", "normal"):
                object.__setattr__(self, word, _numbers(word, value, size))
        if (self.motion is None) == (self.before is None or self.after is None):
            raise StatementError(
                "a push has no motion, or two.",
                f"Found motion={self.motion}, before={self.before}, after={self.after}.",
                "Give motion=(vx, vy, omega), or the poses before= and after=.",
            )
        if not np.hypot(*self.normal) > 0:
            raise StatementError(
                say("a push has no direction.", "Found a normal of zero.",
                    "Give the direction into the part, as in normal=(0, 1).")
            )  # fmt: skip
        if self.force is not None:
            size = 1 if np.size(self.force) == 1 else 2
            value = _numbers("force", np.atleast_1d(self.force), size)
            object.__setattr__(self, "force", value)
        if self.noise is not None:
            object.__setattr__(self, "noise", tuple(np.ravel(self.noise).tolist()))
        if self.gap is not None:
            object.__setattr__(self, "gap", _numbers("gap", np.atleast_1d(self.gap), 1)[0])

    @staticmethod
    def from_track(
        poses: Any, tip: Any, *, outline: Any, radius: float = 0.0, force: Any = None,
        far: float | None = None,
    ) -> Pushes:  # fmt: skip
        """Cut the recorded track of a pushed part into short pushes.

        Rests, lost contact, readings that are wild or not finite and jumps of the pose are left
        out; `told` of the list says how many. Errors of each push come from the scatter of its
        readings and from how much the motion changes along it. A track under which the part moves
        without its finger is refused, and named is what it may have meant: degrees, another unit,
        frame or radius.

        Parameters
        ----------
        poses : array, shape (readings, 3)
            Position and angle (in radians) of the part on the table. With times as a first column
            of poses, tip and force the readings need not go together: they are taken at those of
            the poses.
        tip : array, shape (readings, 2)
            Where the middle of the finger was, on the table.
        outline : array, shape (corners, 2)
            What the finger touches, in the part's own frame.
        radius : float
            Of the finger.
        force : array, shape (readings, 2), optional
            On the part, in the frame of the table.
        far : float, optional
            How far a push goes; about a twelfth of the part's size if left out.

        Returns
        -------
        list of Push

        Examples
        --------
        >>> poses = [(0, 0.0002 * k, 0) for k in range(101)]
        >>> tip = [(0, 0.0002 * k - 0.03) for k in range(101)]
        >>> box = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
        >>> pushes = st.Push.from_track(poses, tip, outline=box)
        >>> pushes.told
        '4 pushes of about 0.00466 from 101 readings; 5 at rest or too short'
        """
        return cut(Push, poses, tip, outline, radius, force, far)

    @staticmethod
    def from_csv(
        path: Any, *, outline: Any = None, radius: float = 0.0, far: float | None = None
    ) -> Pushes:
        """Read measured pushes from a file of comma-separated values, with names in its first row.

        One push a row: point_x, point_y, normal_x, normal_y and motion_x, motion_y, motion_phi (or
        before_… and after_…), all in the part's frame; where measured finger_x, finger_y, force_x,
        force_y (or force_normal), noise_length, noise_angle, noise_force. Or recorded tracks, one
        reading a row, on the table: x, y, phi of the part and tip_x, tip_y, perhaps t, force_x,
        force_y, and `track`, a number or a name, where there are several; quaternions qx, qy, qz,
        qw may stand for phi.

        Units that follow a name or stand in a row of their own (``x [mm]``, ``phi_deg``, ``t/ms``)
        are converted to metres, radians, seconds and newtons, and the outline is in metres then;
        where none is stated, numbers are taken as they are. Semicolons, tabulators or spaces may be
        between the columns; empty entries, "NA" and the like were not measured; lines that begin
        with "#" or "%" are comments. Times may be dates (``2026-01-02T03:04:05.678``), or
        times of the day.

        Parameters
        ----------
        path : str or Path
        outline, radius, far
            As for `from_track`.

        Returns
        -------
        list of Push

        Examples
        --------
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "pushes.csv"
        >>> names = "point_x,point_y,normal_x,normal_y,motion_x,motion_y,motion_phi"
        >>> rows = names, "0,-1,0,1,0,0.01,0.02"
        >>> _ = file.write_text(chr(10).join(rows))
        >>> st.Push.from_csv(file)[0].motion
        (0.0, 0.01, 0.02)
        """
        return read(Push, path, outline, radius, far)

    @property
    def twist(self) -> np.ndarray:
        """The motion in the frame of the part, halfway."""
        if self.motion is not None:
            return np.array(self.motion)
        way = np.array(self.after) - np.array(self.before)
        turn, longer = self._turns
        middle = self.before[2] + turn / 2
        c, s = np.cos(middle), np.sin(middle)
        return np.array([longer * (c * way[0] + s * way[1]), longer * (c * way[1] - s * way[0]),
                         turn])  # fmt: skip

    @property
    def finger_way(self) -> np.ndarray:
        """The motion of the finger as `twist` has that of the part; nan where it is not known."""
        if self.finger is None:
            return np.full(2, np.nan)
        return np.array(self.finger) * (1.0 if self.motion is not None else self._turns[1])

    @property
    def _turns(self) -> tuple[float, float]:
        """The angle between two poses, and by what an arc is longer than its chord."""
        # A short push turns by less than half a turn: angles may be read modulo a whole one.
        turn = (self.after[2] - self.before[2] + np.pi) % (2 * np.pi) - np.pi
        return turn, turn / 2 / np.sin(turn / 2) if turn else 1.0


def _numbers(word: str, value: Any, size: int) -> tuple[float, ...]:
    wrong = f"the {word} of a push is not {_SIZES[size]}."
    return tuple(finite(value, (size,), wrong, f"Give {_SIZES[size]}, finite.").tolist())
