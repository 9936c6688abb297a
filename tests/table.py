"""The static table of a notebook, as a reader without JavaScript has it."""

from html.parser import HTMLParser


class Table(HTMLParser):
    """What a reader of the static table sees, and every tag and attribute it is made of."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.inside = False  # a cell
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside:
            self.rows[-1][-1] += data

    @property
    def words(self) -> list[str]:
        return [row[0] for row in self.rows[2:]]
