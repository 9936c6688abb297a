"""What rnnlens raises: one error for anything a user can mend, and a stop that loses nothing."""


class RnnlensError(Exception):
    """What was given, what is wrong with it, and what to do next, in one line."""


class NotFiniteError(RnnlensError):
    """States became NaN or infinite: of an edit it may be left out, and the rest goes on."""


class RnnlensWarning(UserWarning):
    """Something was left out, and the rest goes on."""


class Stopped(KeyboardInterrupt):
    """A signal has stopped a job after it was saved; `code` is what a shell expects of that."""

    def __init__(self, code: int) -> None:
        super().__init__("stopped; what was done is saved")
        self.code = code
