"""How it slides over time: between changes in a mode, or increment by increment."""
