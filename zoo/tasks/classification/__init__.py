"""The task classification."""
