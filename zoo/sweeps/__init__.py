"""Many runs: launching, records, tables, SLURM, Optuna."""
