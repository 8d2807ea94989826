"""Pages in which a system moves: the mechanics as JavaScript, drawn and steered by the reader."""
