"""Running text: corpora of documents, and how they are cut into tokens and windows."""
