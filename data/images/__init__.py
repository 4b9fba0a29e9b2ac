"""Images of classes."""
