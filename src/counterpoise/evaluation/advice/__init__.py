"""What to do with an estimate: beside guessing, and with how many labels."""
