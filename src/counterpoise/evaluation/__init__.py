"""Pure functions of losses, weights and predictions."""
