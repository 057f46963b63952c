"""Parts of the first screen: what was found beside the verdict, what to do next."""
