"""The one exception rnnlens raises for anything a user can mend."""


class RnnlensError(Exception):
    """What was given, what is wrong with it, and what to do next, in one line."""


class RnnlensWarning(UserWarning):
    """Something was left out, and the rest goes on."""
