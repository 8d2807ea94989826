"""Every test leaves no figure open."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")
