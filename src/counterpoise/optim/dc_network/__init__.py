"""Networks trained by convex rounds."""
