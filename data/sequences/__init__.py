"""Sequences of bit vectors, made on the spot."""
