"""Run the examples: ``python -m examples`` is ``stationary gallery``, with the same arguments."""

import runpy
import sys

if __name__ == "__main__":
    sys.argv[1:1] = ["gallery"]
    runpy.run_module("stationary", run_name="__main__")
