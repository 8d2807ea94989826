"""Chunks as tasks of a Dask cluster."""

import numpy as np
import pytest

import stationary as st

distributed = pytest.importorskip("distributed")

x = st.coordinates("x")
F = st.parameters(F=0.0)
SPRING = st.System(potential=2 * x**2, work=F * x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what a cluster says while it is shut down
def test_a_cluster_gives_the_same_bits_and_survives_a_worker(tmp_path):
    over = {F: np.linspace(0, 3, 12)}
    alone = st.sweep(st.statics, SPRING, over=over, chunk=3)

    def deadly(rest):
        import os
        import signal

        if abs(rest[x] - 0.75) < 1e-9:
            os.kill(os.getpid(), signal.SIGKILL)
        return rest[x]

    dask = pytest.importorskip("dask")
    quick = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with quick, distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                                  silence_logs=50) as cluster:  # fmt: skip
        with distributed.Client(cluster) as client:
            runs = st.sweep(st.statics, SPRING, over=over, chunk=3, on=client,
                            store=str(tmp_path / "runs.zarr"))  # fmt: skip
            np.testing.assert_array_equal(runs["x"], alone["x"])
            np.testing.assert_array_equal(st.open(tmp_path / "runs.zarr")["x"], alone["x"])
            again = st.sweep(st.statics, SPRING, over=over, chunk=3, on=cluster.scheduler_address)
            np.testing.assert_array_equal(again["x"], alone["x"])
            dead = st.sweep(st.statics, SPRING, over={F: [1.0, 3.0]}, chunk=1, on=client,
                            keep={"x": deadly})  # fmt: skip
            assert dead.status.tolist() == ["done", "crashed"]


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_told():
    with pytest.raises(st.StatementError, match="there is no Dask scheduler"):
        st.sweep(st.statics, SPRING, over={F: [1.0]}, on="tcp://127.0.0.1:9")
