"""Folders and patterns of Parquet files: the same commands, block by block."""
