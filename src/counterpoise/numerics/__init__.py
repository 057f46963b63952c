"""Array functions: no classes, no state."""
