"""The former name of the room of linear algebra."""

from stationary.solve.linear import *  # noqa: F403
from stationary.solve.linear import Saddle, independent_rows, tangent_basis  # noqa: F401
