"""What is told: steps with their names and evidence, many times at once, and how it ends."""
