"""Data modules, corpora, batching. Code only: the bytes live below `paths.data_dir` and `paths.cache_dir`."""
