"""`python -m rnnlens` is the command `rnnlens`."""

import sys

# Python puts the current folder in front of all others, and what lies there, such as a run that
# somebody else made, is not to be imported unasked. The command `rnnlens` never does.
if not sys.flags.safe_path:
    del sys.path[0]

from rnnlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
