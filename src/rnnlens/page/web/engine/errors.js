// What somebody can mend, in one line: what was given, what is wrong, what to do.

import { Refusal } from "../base/refusal.js";

export class RnnlensError extends Refusal {}
