// What somebody can mend, in one line: what was given, what is wrong, what to do.

export class RnnlensError extends Error {}
