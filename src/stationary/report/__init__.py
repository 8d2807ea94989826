"""Pages over the public functions: the report of a model, the gallery, the documentation."""
