"""The command `rnnlens`, which is `python -m rnnlens`: ready for Ctrl-C before all else."""

import os
import signal
import sys
from typing import NoReturn


def run() -> int:
    """Run the command that was typed."""
    # Set before torch is imported, which takes a second and may not survive a KeyboardInterrupt.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    from rnnlens.cli import main

    return main()


def _stop(number: int, _frame: object) -> NoReturn:
    """End at once, whatever is being done: files are written whole or not at all."""
    said = b"rnnlens: stopped\n"
    os.write(2, b"\n" + said if os.isatty(2) else said)  # after the ^C that the terminal shows
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(run())
