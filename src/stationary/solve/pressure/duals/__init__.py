"""What proves an end: dual functions, bounded over the whole support."""
