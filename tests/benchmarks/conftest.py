"""The benchmarks use `fcntl` and `resource`, which Windows does not have."""

import sys

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []
