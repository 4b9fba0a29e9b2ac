"""Trained models, loaded and used."""
