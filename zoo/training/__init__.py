"""What a run does besides learning: callbacks, schedules, checkpoints."""
