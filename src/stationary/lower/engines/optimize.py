"""The background process that makes optimized code: ``python -m … graph-file lock-file``."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(order: str, lock: str) -> None:
    """Compile the graph in the file, keep the result in the cache, and tidy up."""
    import casadi as ca

    from stationary.lower.engines.heyoka import Integrators

    if hasattr(os, "nice"):
        os.nice(10)
    try:
        Integrators(ca.Function.deserialize(Path(order).read_text())).compile("optimized")
    finally:
        for file in (order, lock):
            Path(file).unlink(missing_ok=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
