"""Learning guarantees: what deviations prove, and their sum."""
