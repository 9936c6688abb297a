// The page as its server sends it.

import { server } from "./net/source.js";
import { Page } from "./page.js";

new Page(document.body, server).begin();
