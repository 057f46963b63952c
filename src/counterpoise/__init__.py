"""Learning where training data and deployment data differ, with proof."""

__version__ = "0.1.0"
