"""Sparse assignment problems of subset selection."""
