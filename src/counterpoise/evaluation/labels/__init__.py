"""What labels tell: whether they mean the same, and how sure a classifier was."""
