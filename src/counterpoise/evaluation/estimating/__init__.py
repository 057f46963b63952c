"""What estimates are made of: evidence, errors, metrics as means, the loss beyond."""
