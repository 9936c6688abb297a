import assert from "node:assert/strict";
import { test } from "node:test";
import { moved } from "../../src/rnnlens/view/web/keys.js";
import { carried, keep, lives, pinOf, toggled } from "../../src/rnnlens/view/web/pins.js";
import { embeddable, fileName, standalonePage } from "../../src/rnnlens/view/web/save.js";
import { hold, release } from "../../src/rnnlens/view/web/types.js";
import { plainView } from "../../src/rnnlens/view/web/address.js";
import { grid } from "./sample.js";

const before = hold(grid("we said so"), null);
const pins = [0, 1, 2].map((row) => pinOf(before, { column: "c1", row }));

test("a state is pinned once, and a second time takes the pin away", () => {
  const once = toggled([], pins[0]);
  assert.deepEqual(once, [pins[0]]);
  assert.deepEqual(toggled(once, { ...pins[0] }), []);
  assert.equal(toggled(once, { ...pins[0], semantic: "input" }).length, 2);
});

test("pins move over to a text that begins the same, and otherwise remember their own", () => {
  const now = hold(grid("we said no more"), null);
  assert.deepEqual(carried(pins, before, now).map((pin) => pin.text), ["we said no more", "we said no more", "we said so"]);
  const shorter = hold(grid("we"), null);
  assert.deepEqual(carried(pins, before, shorter).map((pin) => pin.text), ["we", "we said so", "we said so"]);
});

test("pins of another semantic or text stay as they are", () => {
  const other = [{ column: "c1", row: 0, text: "else", semantic: "output" }, { column: "c1", row: 0, text: "we said so", semantic: "input" }];
  assert.deepEqual(carried(other, before, hold(grid("we said so now"), null)), other);
});

test("another semantic does not take pins along", () => {
  const now = hold({ ...grid("we said so"), semantic: "input" }, null);
  assert.deepEqual(carried(pins, before, now), pins);
  assert.ok(!lives(pins[0], now));
});

test("pins of a link become pins of the grid it opened", () => {
  const linked = [{ column: "c1", row: 1, text: null, semantic: null }];
  assert.deepEqual(carried(linked, null, before), [pins[1]]);
});

test("a pin keeps what it shows", () => {
  assert.equal(keep(pins[1], before).after, "said");
  assert.equal(keep({ ...pins[1], row: 9 }, before), null);
});

test("rows before the first that changed are kept, the rest replaced", () => {
  const changed = { ...grid("we said no more"), from: 2 };
  const fresh = changed.rows.slice(2);
  const now = hold({ ...changed, rows: fresh, labels: { no: "OTHER" } }, before);
  assert.equal(now.rows.length, 4);
  assert.equal(now.rows[1], before.rows[1], "the very same object, so that it is not drawn again");
  assert.equal(now.rows[2], fresh[0]);
  assert.equal(now.labels.get("said"), "VERB");
  assert.equal(now.labels.get("no"), "OTHER");
});

test("a label may be called anything", () => {
  const given = JSON.parse(JSON.stringify(grid()).replaceAll('"said"', '"__proto__"'));
  const held = hold(hold(given, null) && given, hold(given, null));
  assert.equal(held.labels.get("__proto__"), "VERB");
  assert.equal(({}).VERB, undefined);
  assert.ok(JSON.stringify(release(held)).includes('"__proto__":"VERB"'));
});

test("the page of its own holds the grid, whatever its words are", () => {
  const held = hold(grid("we </script><script>alert(1)// $& $1"), null);
  const foreign = { column: "c1", row: 0, text: "else", semantic: "output" };
  const page = standalonePage('<body><script type="application/json" id="embedded">null</script></body>', held, { ...plainView(), pins: [foreign] }, [["c1", 0, "h1", 1, 0.5]]);
  assert.equal(page.match(/<\/script>/g).length, 1);
  const inside = JSON.parse(page.slice(page.indexOf('">') + 2, page.indexOf("</script>")));
  assert.equal(inside.grid.text, held.text);
  assert.equal(inside.grid.from, 0);
  assert.deepEqual(inside.bits, [["c1", 0, "h1", 1, 0.5]]);
  assert.deepEqual(inside.view.pins, []);
  assert.throws(() => standalonePage("<body></body>", held, plainView(), []), /no place/);
});

test("embedded JSON cannot be taken for markup", () => {
  assert.equal(embeddable({ a: "<b>\u2028" }), '{"a":"\\u003cb>\\u2028"}');
});

test("files are named after their text", () => {
  assert.equal(fileName("`` We stand, in solidarity!", "svg"), "rnnlens-we-stand-in-solidarity.svg");
  assert.equal(fileName("?!", "png"), "rnnlens-grid.png");
  assert.equal(fileName("../../etc", "html"), "rnnlens-etc.html");
});

test("keys move, stop at the edges, and begin where nothing is in view", () => {
  const at = { slot: 1, row: 1 }, go = (key, far = false, from = at) => moved(key, far, from, 4, 50, 10);
  assert.deepEqual(go("ArrowLeft"), { slot: 0, row: 1 });
  assert.deepEqual(go("ArrowRight", false, { slot: 3, row: 1 }), { slot: 3, row: 1 });
  assert.deepEqual(go("PageDown"), { slot: 1, row: 11 });
  assert.deepEqual(go("PageUp"), { slot: 1, row: 0 });
  assert.deepEqual(go("End"), { slot: 3, row: 1 });
  assert.deepEqual(go("Home", true), { slot: 0, row: 0 });
  assert.deepEqual(go("End", true), { slot: 3, row: 49 });
  assert.deepEqual(go("ArrowDown", false, null), { slot: 0, row: 0 });
  assert.equal(go("a"), null);
});
