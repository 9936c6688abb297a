// The engine in a worker of its own, so that the page never stands still.

import { answerTo } from "./net/engine.js";

answerTo(self);
