"""Configurations: composed, checked, and built."""
