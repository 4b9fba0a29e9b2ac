"""A run's folder: write it, read it."""
