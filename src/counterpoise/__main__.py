"""`python -m counterpoise`: the command line."""

import sys

from counterpoise.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
