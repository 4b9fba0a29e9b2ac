"""Parts of somebody's own: a score, and a task with its data and network."""
