"""Where a run logs: metrics.csv, W&B, TensorBoard."""
