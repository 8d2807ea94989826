"""A place to write energies and see them move: a local server, and its page in the browser."""
