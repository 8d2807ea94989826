"""The packages that are compared under constraints; a new one is a new file with a list PEERS.

`derive` takes a `Chain`; `compile` returns a function that runs the motion and returns its states,
shape (times, 4·masses): places, then velocities.
"""

from functools import partial

from benchmarks import peers

every = partial(peers.every, __name__)
named = partial(peers.named, folder=__name__)
