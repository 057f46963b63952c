"""Readers of blocks, a file a kind of table."""
