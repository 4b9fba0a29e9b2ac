"""Texts with a label each."""
