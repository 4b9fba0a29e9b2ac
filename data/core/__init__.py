"""What all data modules share: batching, caches, downloads."""
