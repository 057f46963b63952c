"""Rows of very many columns, most of them zero."""
