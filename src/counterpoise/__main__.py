"""`python -m counterpoise`: the command line."""

import sys

from counterpoise.cli.main import main

sys.exit(main())
