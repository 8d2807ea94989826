"""What is asked over all pressures, and how it is answered."""
