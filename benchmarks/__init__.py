"""Other packages beside ours on the same problems: ``python -m benchmarks``."""
