// What tests of drawings share: a room to draw in, and ways to find what was drawn.

import { estimate } from "../../src/rnnlens/page/web/base/text.js";
import { layOut } from "../../src/rnnlens/page/web/grid/layout.js";
import { plainView } from "../../src/rnnlens/page/web/net/address.js";

export const ROOM = { width: 1040, height: 700 };
export const compact = { ...plainView(), density: "compact" };
export const laidOut = (held, view = plainView(), room = ROOM) => layOut(held, view, room, estimate);

/** Every shape with a tag, and with a class where one is given. */
export function all(drawn, tag, kind) {
  const inside = drawn.children.filter((child) => typeof child !== "string").flatMap((child) => all(child, tag, kind));
  const fits = drawn.tag === tag && (!kind || drawn.attributes.class === kind);
  return fits ? [drawn, ...inside] : inside;
}

export const texts = (drawn) => all(drawn, "text").map((one) => one.children.filter((child) => typeof child === "string").join(""));
