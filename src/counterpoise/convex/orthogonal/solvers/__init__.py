"""Ways to search over frames."""
