"""Networks, one file per paper: pure torch."""
