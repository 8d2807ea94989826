"""Why a motion cannot be trusted, or ends early, in words."""

from __future__ import annotations

from stationary.errors import say
from stationary.result.trajectory import AbstractMotion

# What to do about a motion that ends early, by its word.
_REMEDIES = {
    "stiff": 'Take method=st.BDF(), or "auto", which changes to it where that pays; throw=False '
    "returns what there is.",
    "endless": "Ask for a shorter span, or slow down what turns or swings so fast; throw=False "
    "returns what there is.",
    "singular": "No velocity chooses how it goes on, or it is not known well enough: start with "
    "more, or a little aside; throw=False returns what there is.",
    "jump": "Let it change over a short time, or give two motions, one from the end of the other.",
    "chatter": "End the motion before, state what bounces as st.Contact(gap, restitution=e), or "
    "smooth what switches, as st.tanh(x/small) for st.sign(x); throw=False returns what there is.",
}
_ELSE = (
    "Check the signs of the energies, or ask for a shorter span; throw=False returns what there is."
)


def failure(motion: AbstractMotion, last: float) -> str:
    """Say in three parts why a motion cannot be trusted, or ends early."""
    reason = motion.status.message[0].upper() + motion.status.message[1:]
    if motion.status in ("inaccurate", "violated", "refuted"):
        return say(
            "the motion cannot be trusted.",
            f"{reason}; the motion is error.solution.",
            "Take a shorter step or another method; throw=False returns it as it is."
            if motion.fixed_step and motion.status != "violated"
            else "Tighten rtol and atol, or take another method; throw=False returns it as it is."
            if motion.status == "inaccurate"
            else "Start elsewhere, or remove a constraint; throw=False returns it as it is.",
        )
    return say(
        f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
        f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
        motion.status.remedy or _REMEDIES.get(motion.status, _ELSE),
    )
