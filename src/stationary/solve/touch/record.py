"""States of a motion at its steps and between them, with the mode of each: what is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stationary.solve.motion.ode import Piece

# So many numbers are kept; of a motion with more steps only changes are looked at from there on.
_MOST = 4_000_000

# Of the steps of one piece no more than so many are looked at.
_OF_A_PIECE = 64


@dataclass
class Record:
    """Times, states and modes, in blocks of one mode each."""

    times: list[np.ndarray] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    modes: list[np.ndarray] = field(default_factory=list)
    kept: int = 0

    def note(self, piece: Piece, mode: np.ndarray) -> None:
        """Keep where steps of a piece begin and their middles; how it ends belongs to the next."""
        if self.kept >= _MOST or not piece.t[-1] > piece.t[0]:
            return
        begins = piece.t[:-1]
        some = slice(None, None, 1 + len(begins) // _OF_A_PIECE)
        times = np.concatenate([begins[some], ((begins + piece.t[1:]) / 2)[some]])
        times = np.unique(times[times < piece.t[-1]])
        self.times.append(times)
        self.states.append(piece.evaluate(times))
        self.modes.append(mode)
        self.kept += self.states[-1].size
