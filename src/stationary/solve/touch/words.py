"""What is said of a motion that touches, where something about it is not known."""

from __future__ import annotations

from stationary.result.status import Status
from stationary.solve.touch.mode import Undecided

# So many are named.
_NAMED = 4


def undecided(end: Undecided) -> str:
    """Say that no mode, or several, satisfy the laws."""
    what = "impact" if end.impact else "motion"
    if end.walls:
        return (
            f"contacts {', '.join(end.walls)} leave no room at t = {end.t:.6g}: until then impacts "
            "there follow each other ever faster, without end"
        )
    if end.kind == "none":
        said = f"no {what} satisfies the laws of contact and friction at t = {end.t:.6g}"
        if end.blurred:
            said += (
                f", or none was found: parts {end.blurred:.0e} times as heavy as others leave too "
                "few digits to tell"
            )
        return said
    return (
        f"several {what}s satisfy the laws of contact and friction at t = {end.t:.6g}: "
        + "; or ".join(end.modes)
    )


def remarked(
    status: Status, unproven: list[float], shared: tuple[float, list[str]] | None
) -> Status:
    """Return a status that also says where other modes were not all tried, and forces shared."""
    said = [status.message]
    if unproven:
        many = f"changes whose other modes were not all tried: {len(unproven)}"
        said.append(f"{many}, the first at t = {unproven[0]:.6g}")
    if shared is not None:
        t, names = shared
        few = ", ".join(names[:_NAMED]) + (
            f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
        )
        said.append(f"how {few} share the forces from t = {t:.6g} is not unique")
    return Status(str(status), "; ".join(said), status.direction, status.names)
