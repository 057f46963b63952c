"""The fuzzer uses `resource`, which Windows does not have."""

import sys

collect_ignore = ["fuzz.py"] if sys.platform == "win32" else []
