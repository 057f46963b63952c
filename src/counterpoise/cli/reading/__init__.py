"""From files to the two samples, with errors that name file, line and column."""
