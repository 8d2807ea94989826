"""From graph to engine: what a system becomes before it runs."""
