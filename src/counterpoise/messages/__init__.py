"""Findings, their texts, and numbers as text."""

from counterpoise.messages.finding import (
    HINT,
    INFO,
    PROBLEM,
    WARNING,
    Finding,
    FindingText,
    message,
)

__all__ = ["HINT", "INFO", "PROBLEM", "WARNING", "Finding", "FindingText", "message"]
