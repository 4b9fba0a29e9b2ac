"""The command `zoo`."""
