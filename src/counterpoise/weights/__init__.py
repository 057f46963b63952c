"""Two samples in, a weight a source row out."""
