"""What one step over a spectral norm computes: arrays in, arrays out."""
