"""Processes, devices, memory, signals and compilation."""
