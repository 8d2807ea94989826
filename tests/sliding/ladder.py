"""A ladder on a floor and at a wall, both rough."""

import stationary as st

x, y, phi = st.coordinates("x y phi")


def ladder(mu, wall):
    """A ladder of length 1 whose foot rests on the floor and whose head leans on a wall.

    Its centre at (x, y), at the angle φ: the foot at (x − c/2, y − s/2), the head at the other end.
    A load P pulls the foot out along x.
    """
    c, s = st.cos(phi), st.sin(phi)
    P = st.inputs("P")
    return P, st.System(
        potential=1.0 * y,
        loads=[st.Load(P, on=-(x - c / 2), name="pull")],
        contacts=[
            st.Contact(y - s / 2, friction=mu, slip=x - c / 2, name="floor"),
            st.Contact(-(x + c / 2), friction=wall, slip=y + s / 2, name="wall"),
        ],
        coordinates=[x, y, phi],
    )
