"""What was found before and is needed again: weighings, and models without a fold."""
