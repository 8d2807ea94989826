"""The statement: symbols, energies, terms, parts and the systems made of them."""
