"""The sections of a record, each from what a fitted object knows."""

from counterpoise.report.sections.assembly import sections_of

__all__ = ["sections_of"]
