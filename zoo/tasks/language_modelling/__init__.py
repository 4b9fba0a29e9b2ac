"""The task language modelling."""
