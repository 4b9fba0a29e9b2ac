"""What everything may use: specifications of data, batches, texts and images, files, messages."""
