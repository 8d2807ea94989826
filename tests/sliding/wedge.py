"""A wedge under a block, rough all round."""

import numpy as np

import stationary as st


def wedge(angle, mu, way):
    """A wedge under a block of weight 10 that leans on a wall; it is driven in or pulled out."""
    X, Y, u, w = st.coordinates("X Y u w")
    c, s = float(np.cos(angle)), float(np.sin(angle))
    return st.System(
        potential=10 * Y,
        contacts=[
            st.Contact(w, friction=mu, slip=u, name="floor"),
            st.Contact((Y - w) * c - (X - u) * s, mu, (X - u) * c + (Y - w) * s, "face"),
            st.Contact(X, friction=mu, slip=Y, name="wall"),
        ],
        constraints=[st.Constraint(u + way * st.t, name="drive")],
    )
