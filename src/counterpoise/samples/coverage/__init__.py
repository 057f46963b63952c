"""What of the target the source covers: by chance, and by columns."""
