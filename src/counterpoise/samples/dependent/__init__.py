"""Rows that belong together: groups and blocks of time, and chance among them."""
