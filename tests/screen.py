"""The page in a browser, for tests to handle."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

# Scroll a state to where neither the words nor the prediction, which stay in sight, cover it.
FREE = """(mark) => {
  const grid = mark.closest(".scroller"), box = mark.getBoundingClientRect();
  const edge = (one) => one.getBoundingClientRect();
  const words = edge(grid.querySelector(".corner")).right;
  const own = [...grid.querySelectorAll(".head [data-column]")].pop();
  const end = mark.closest(".insight") ? edge(grid).right : edge(own).left - 60;
  if (box.left < words || box.right > end) grid.scrollLeft += box.left - words - 8;
}"""


class Screen:
    """The page, as a user sees and handles it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def write(self, text: str, words: int | None = None) -> None:
        """Put a text into the field and wait until all of it is drawn."""
        self.page.fill("#text", text)
        self.settled()
        self.drawn(len(text.split()) if words is None else words)

    def drawn(self, words: int) -> None:
        expect(self.find(".scroller")).to_have_attribute("aria-rowcount", str(words + 1))
        self.settled()

    def settled(self) -> None:
        """Wait until nothing more is on its way."""
        expect(self.find(".scroller")).to_have_attribute("aria-busy", "false")

    def words(self) -> list[str]:
        return self._labels(".row [role=rowheader]")

    def states(self) -> list[str]:
        """What every state in view says."""
        return self._labels(".row .state")

    def _labels(self, selector: str) -> list[str]:
        script = "all => all.map(one => one.getAttribute('aria-label'))"
        found: list[str] = self.find(selector).evaluate_all(script)
        return found

    def state(self, row: int, column: str) -> Locator:
        """A state, by its row and its column's name."""
        heads = self._labels(".head g[role=columnheader]")
        return self.find(f".row[aria-rowindex='{row + 2}'] .state").nth(heads.index(column))

    def point(self, row: int, column: str) -> None:
        """Move the pointer onto a state."""
        mark = self.state(row, column).locator(".mark")
        mark.evaluate(FREE)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        assert box
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def select(self, row: int, column: str) -> None:
        """Click a state."""
        self.point(row, column)
        self.page.mouse.down()
        self.page.mouse.up()

    def pin(self, row: int, column: str) -> None:
        """Select a state and pin it, or take its pin away."""
        self.select(row, column)
        self.page.keyboard.press("p")

    def apart(self, pin: int, which: str = "the first") -> Locator:
        """How far a pinned state is from the first, or from the selected state."""
        line = self.find(f".comparison tfoot tr:has(th:text-is('from {which}'))")
        return line.locator("td").nth(pin)

    def rings(self, kind: str) -> list[tuple[int, int]]:
        """Row and place of the states that are ringed in a way."""
        script = """(rings) => [...document.querySelectorAll(rings)].map((ring) => {
            const states = [...ring.closest(".states").querySelectorAll(".state")];
            const x = Number(ring.getAttribute("x"));
            const left = (state) => state.transform.baseVal[0].matrix.e;
            const at = states.findIndex((state) => Math.abs(left(state) - x) < 5);
            return [Number(ring.closest(".row").getAttribute("aria-rowindex")) - 2, at];
        })"""
        found = self.page.evaluate(script, f".ring.{kind}")  # at once: rows are drawn anew
        return sorted((row, at) for row, at in found)

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """Ask the server directly."""
        return self.page.request.post(self.address + path, data=body).json()
