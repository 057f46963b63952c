"""Models of tables in blocks: decided on a sample, fitted to every row."""
