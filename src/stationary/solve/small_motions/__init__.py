"""Small motions about a state: linear equations, and natural modes."""
