"""The mathematics: losses, problems of test rows, and the models that pose them."""
