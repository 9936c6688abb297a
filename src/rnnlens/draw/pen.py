"""Rectangles and text on a page, by matplotlib: lengths in points, from the top left."""

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.pace import checkpoint
from rnnlens.draw.printable import printable, tail

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

SMALL = 6.8  # the size of most text
INK, RULE, RING = "#1c1c22", "#9a9aa3", "#0072b2"
_BOXES, _TEXTS = 100, 10  # drawn before others may go first
_HATCH = 3.2  # from one slanted line to the next
_FONT = "DejaVu Sans"  # comes with matplotlib, so figures are the same everywhere
_MOST_CHARACTERS = (
    200  # characters of a text that are looked at; far more than any page has room for
)


def check_matplotlib() -> None:
    """Refuse before any work where figures cannot be drawn."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise RnnlensError(
            "figures need matplotlib; install it: pip install 'rnnlens[figure]'"
        ) from error


@dataclass
class Pen:
    """What is to be drawn, in points, and how wide text is."""

    fonts: list[str]
    boxes: list[tuple[float, float, float, float, str, str]] = field(default_factory=list)
    texts: list[tuple[float, float, str, dict[str, Any]]] = field(default_factory=list)
    strokes: list[list[tuple[float, float]]] = field(default_factory=list)
    rings: list[tuple[float, float, float, float]] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, edge: str = ""
    ) -> None:
        """A rectangle, edged in its own colour unless said otherwise."""
        self.boxes.append((x, y, width, height, colour, edge or colour))

    def ring(self, x: float, y: float, width: float, height: float) -> None:
        """An outline that stands out, over everything else."""
        self.rings.append((x, y, width, height))

    def hatch(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """An empty rectangle with slanted lines in it."""
        self.box(x, y, width, height, "#ffffff", colour)
        for k in range(1, int((width + height) / _HATCH) + 1):
            reach = k * _HATCH  # along the left edge and then the bottom, up to the right
            low, right = min(reach, height), min(reach, width)
            self.strokes.append([(x + reach - low, y + low), (x + right, y + reach - right)])

    def text(self, x: float, y: float, text: str, size: float = SMALL, **how: Any) -> None:
        """A line of text, taken as it is; `parse_math` if it is mathematics."""
        face = self.face(text, how.pop("weight", "normal"), how.pop("style", "normal"))
        usual = {"size": size, "va": "baseline", "color": INK, "parse_math": False}
        self.texts.append((x, y, text, {**usual, **face, **how}))

    @cached_property
    def known(self) -> frozenset[int]:
        """Characters that some font has."""
        return frozenset().union(*map(_known, self.fonts))

    def shown(self, text: str) -> str:
        """The text in characters that can be drawn."""
        return "".join(c if ord(c) in self.known else "\ufffd" for c in printable(text))

    def face(self, text: str, weight: str = "normal", style: str = "normal") -> dict[str, Any]:
        """The weight and style asked for where that face has the text, else the ordinary ones."""
        if _known(_FONT, weight, style).issuperset(map(ord, text)):
            return {"weight": weight, "style": style}
        return {"weight": "normal", "style": "normal"}

    def width(self, text: str, size: float = SMALL, **face: str) -> float:
        """How wide a text is that can be drawn."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(family=self.fonts, size=size, **self.face(text, **face))
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])

    def clipped(self, text: str, width: float, size: float = SMALL, **face: str) -> str:
        """As much of a text as is at most so wide, with an ellipsis where some is left out."""
        shown = self.shown(text[:_MOST_CHARACTERS])
        if len(text) <= _MOST_CHARACTERS and self.width(shown, size, **face) <= width:
            return shown
        while shown and self.width(f"{shown}…", size, **face) > width:
            shown = shown[:-1]
        return f"{shown}…"

    def tail(self, name: str, width: float) -> str:
        """As much of the end of a dotted name as is at most so wide."""
        return tail(self.shown(name), lambda end: self.width(end) <= width)

    def figure(self, width: float, height: float, scale: float) -> "Figure":
        """Everything, on a page of this size times `scale`."""
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width * scale / 72, height * scale / 72))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for start in range(0, len(self.boxes), _BOXES):
            boxes = self.boxes[start : start + _BOXES]
            corners = [_corners(*box[:4]) for box in boxes]
            fills, edges = [box[4] for box in boxes], [box[5] for box in boxes]
            axes.add_collection(
                PolyCollection(corners, facecolors=fills, edgecolors=edges, linewidths=0.3 * scale),
                autolim=False,
            )
            axes.add_artist(_pause(1))
        axes.add_collection(
            LineCollection(self.strokes, colors=RULE, linewidths=0.5 * scale), autolim=False
        )
        rings = [_corners(*ring) for ring in self.rings]
        axes.add_collection(
            PolyCollection(rings, facecolors="none", edgecolors=RING, linewidths=scale),
            autolim=False,
        )
        for number, (x, y, text, how) in enumerate(self.texts):
            axes.text(x, y, text, family=self.fonts, **{**how, "size": how["size"] * scale})
            if number % _TEXTS == 0:
                axes.add_artist(_pause(3))
                checkpoint()
        return figure


def _pause(order: float) -> "Artist":
    """What draws nothing, between others that are as far to the front: drawing thousands of texts
    takes seconds, in which others want to go first.
    """
    from matplotlib.artist import Artist

    class Pause(Artist):
        zorder = order

        def draw(self, renderer: Any) -> None:  # noqa: ARG002 - matplotlib gives one
            checkpoint()

    return Pause()


def _corners(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def fonts(characters: set[str]) -> list[str]:
    """The figure's font and, where it lacks characters, installed ones that have them."""
    from matplotlib.font_manager import fontManager, get_font

    missing = {ord(c) for c in characters} - _known(_FONT)
    names = [_FONT]
    for entry in sorted(fontManager.ttflist, key=lambda e: (e.name, e.fname)) if missing else ():
        ordinary = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if not ordinary or "Last Resort" in entry.name or "Color" in entry.name:
            continue
        if has := missing & set(get_font(entry.fname).get_charmap()):
            names.append(entry.name)
            missing -= has
    return names


@cache
def _known(family: str, weight: str = "normal", style: Any = "normal") -> frozenset[int]:
    """The characters of a font's face; bold and italic ones have fewer."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = FontProperties(family=family, weight=weight, style=style)
    return frozenset(get_font(findfont(font)).get_charmap())


def mixed(colour: str, share: float, other: str = "#ffffff") -> str:
    """Two colours #rrggbb, mixed in each channel."""
    pairs = ((int(colour[k : k + 2], 16), int(other[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)
