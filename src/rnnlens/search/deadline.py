"""When an answer is given up, so that nobody waits without end."""

import time

from rnnlens.base.errors import RnnlensError


class Deadline:
    """Some seconds from now on, for all that one answer takes; None: as long as it takes."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """The seconds that are left; an error where there are none."""
        if self.end is None:
            return None
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.missed()
        return left

    def missed(self) -> RnnlensError:
        """What is said when it is too late."""
        return RnnlensError(f"the question took more than {self.seconds:g} seconds; ask for less")
