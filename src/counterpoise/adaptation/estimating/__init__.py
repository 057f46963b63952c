"""Parts of an estimate: slices, the size of sets."""
