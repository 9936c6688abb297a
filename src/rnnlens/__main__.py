"""`python -m rnnlens` is the command `rnnlens`."""

import sys

from rnnlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
