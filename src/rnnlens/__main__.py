"""The command `rnnlens`, which is `python -m rnnlens`: ready for signals before all else."""

import os
import signal
import sys

TYPE_CHECKING = False  # as typing has it, which takes long to import
if TYPE_CHECKING:
    from typing import NoReturn

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has not all of them


def run() -> int:
    """Run the command that was typed."""
    # Set before torch is imported, which takes a second and may not survive a KeyboardInterrupt.
    # What is ignored, as nohup has it, or somebody else's stays as it is.
    for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    from rnnlens.cli import main

    return main()


def _stop(number: int, _frame: object) -> "NoReturn":
    """End at once, whatever is being done: files are written whole or not at all, and the last
    command to write puts its locks away.
    """
    try:
        if endings := sys.modules.get("rnnlens.base.endings"):
            endings.clear()
        said = b"rnnlens: stopped\n"
        os.write(2, b"\n" + said if os.isatty(2) else said)  # after the ^C that terminals show
    finally:  # also where it is half imported, or the terminal is gone
        os._exit(128 + number)


# Python puts the current folder in front of all others, and what lies there, such as a run that
# somebody else made, is not to be imported unasked. The command `rnnlens` never does.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

if __name__ == "__main__":
    sys.exit(run())
