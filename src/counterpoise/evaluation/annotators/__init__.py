"""One label from many annotators: `agreed_labels`, from `ratings`."""
