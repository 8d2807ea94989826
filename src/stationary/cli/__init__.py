"""The command ``stationary``: questions about model files, asked from a terminal."""

from stationary.cli.run import main

__all__ = ["main"]
