"""Why a motion cannot be trusted, or ends early, in words."""

from __future__ import annotations

from stationary.errors import say
from stationary.result.trajectory import AbstractMotion


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
    if motion.status == "stiff":
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            'Take method=st.BDF(), or "auto", which changes to it where that pays; throw=False '
            "returns what there is.",
        )
    if motion.status == "singular":
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "No velocity chooses how it goes on, or it is not known well enough: start with more, "
            "or a little aside; throw=False returns what there is.",
        )
    if motion.status in ("jump", "chatter"):
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "Let it change over a short time, or give two motions, one from the end of the other."
            if motion.status == "jump"
            else "End the motion before, or smooth what switches, as st.tanh(x/small) for "
            "st.sign(x); throw=False returns what there is.",
        )
    if "reaches zero" in reason:
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "Keep it away from there by a start, a stop or a constraint, or round the edge off, as "
            "st.sqrt(x**2 + small**2) for x; throw=False returns what there is.",
        )
    if "steps become too small" in reason:
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            'Widen what is narrow there, or take method="auto"; throw=False returns what there is.',
        )
    return say(
        f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
        f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
        "Check the signs of the energies, or ask for a shorter span; throw=False returns what "
        "there is.",
    )
