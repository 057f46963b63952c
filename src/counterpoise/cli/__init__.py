"""The command line: a file a command, and no logic of its own."""
