"""Every test run draws on no screen, compiles in the foreground, and keeps its own cache."""

import gc
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# Random tests draw the same numbers in every run; `make test-random` draws new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("free", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Before stationary is imported: it reads them when it is first used.
os.environ["MPLBACKEND"] = "Agg"
os.environ["STATIONARY_OPTIMIZE"] = "off"

# Checks fail with the values that they compared, as tests do.
pytest.register_assert_rewrite("tests.checks", "tests.restated")

_cache = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="in a random order, of this seed")
    parser.addoption("--without", action="append", default=[], metavar="PACKAGE",
                     help="as if this package were not installed")  # fmt: skip
    parser.addoption("--units", metavar="NAME", help="and ask every question in these units, too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Of every few cases that stand side by side one is tried in quick runs, by lot and always the
    # same one; the others are slow.
    cases: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            test, few = item.nodeid.partition("[")[0], mark.args[0]
            turn, place = divmod(cases[test], few)
            cases[test] += 1
            if place != random.Random(f"{test} {turn}").randrange(few):
                item.add_marker("slow")
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)


def pytest_collection_finish() -> None:
    # What was imported stays to the end: looking for garbage in it again and again takes longer
    # than some rooms take to be tested.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until everything is collected
    if config.option.units:
        config.pluginmanager.import_plugin("tests.restated")
    for package in config.option.without:
        # Python's own mark of what cannot be imported.
        sys.modules[package] = None  # pyright: ignore[reportArgumentType]
    # Workers of xdist inherit the folder of the process that started them.
    if not hasattr(config, "workerinput"):
        config.stash[_cache] = tempfile.TemporaryDirectory(prefix="stationary-tests-")
        os.environ["STATIONARY_CACHE"] = folder = config.stash[_cache].name
        if config.option.without:
            # Every Python that a test starts runs this first.
            absent = f"import sys\nsys.modules.update(dict.fromkeys({config.option.without!r}))\n"
            Path(folder, "sitecustomize.py").write_text(absent)
            path = (folder, os.environ.get("PYTHONPATH", ""))
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _cache in config.stash:
        config.stash[_cache].cleanup()
