"""Drawings from plain dictionaries, on matplotlib Axes and as SVG."""
