"""The convex problems of one round: lifted, with X eliminated, and their cones."""
