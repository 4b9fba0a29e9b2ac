"""Comparisons of runs and the published tables."""
