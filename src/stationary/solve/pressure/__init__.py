"""Parts whose pressure on the table is not known: what they can do, and what pushes tell."""
