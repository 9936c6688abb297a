"""What is chosen on the page, and a grid saved as a file: a figure, every number, or the page."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rnnlens.ask import json_types
from rnnlens.ask.json_types import Count, DivergenceBits, about, whole
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes
from rnnlens.draw import figure
from rnnlens.draw.columns import chosen_columns, kind_names
from rnnlens.draw.look import Grid, Look
from rnnlens.draw.saving import check
from rnnlens.page.bundle import standalone


def check_whole(grid: Grid, ending: str, look: Look, followed: Grid | None) -> None:
    """Refuse rows, labels to follow and kinds that there are not, of a file of the whole grid."""
    chosen_columns(grid["columns"], look.kinds)
    if look.rows or followed or look.memories or look.asked:
        raise RnnlensError(
            f"a {ending} file holds the whole grid as probes tell it: it takes neither rows nor "
            "labels to follow, nor anything else for the cells of memories; give a name ending in "
            f"{', '.join(figure.ENDINGS)}"
        )


def exported(grid: Grid, ending: str, look: Look, followed: Grid | None = None) -> bytes:
    """What the file is to hold; `followed`: labels that are followed through the grid."""
    if ending == ".json":
        check_whole(grid, ending, look, followed)
        return readable_json(grid).encode()
    return figure.draw(grid, look, ending, followed).data


def readable_json(grid: Grid) -> str:
    """A grid as JSON for people too: a column, a word, a row to each line."""
    parts = []
    for key, value in grid.items():
        lines = [value] if not isinstance(value, list) or not value else value
        dumped = [json.dumps(line, ensure_ascii=False, allow_nan=False) for line in lines]
        listed = "[\n  " + ",\n  ".join(dumped) + "\n ]" if lines is value else dumped[0]
        parts.append(f" {json.dumps(key)}: {listed}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def save(grid: Grid, path: Path, look: Look, followed: Grid | None = None) -> None:
    """Write a grid, whole or not at all; `followed`: labels that are followed through it."""
    check(path, look)
    write_bytes(path.resolve(), contents(grid, path.suffix.lower(), look, followed))


def contents(grid: Grid, ending: str, look: Look, followed: Grid | None = None) -> bytes:
    """What the file is to hold."""
    if ending != ".html":
        return exported(grid, ending, look, followed)
    check_whole(grid, ending, look, followed)
    return standalone({"grid": grid, "view": _view(grid, look), "bits": []}).encode()


def _view(grid: Grid, look: Look) -> dict[str, Any]:
    """How the page is to begin, in the words of net/address.js."""
    runs = [side["run"] for side in grid.get("sides", ())]
    return {
        "run": grid["run"],
        "text": grid["text"],
        "beside": runs[1] if len({*runs}) > 1 else None,
        "semantic": grid["semantic"],
        "palette": grid["palette"],
        "density": look.density or "bars",
        "kinds": look.kinds if look.kinds in (None, "all", "outputs") else kind_names(look.kinds),
        "naming": "symbols" if look.symbols else "both",
        "bars": look.bars or figure.BARS,
        "head": look.head,
        "pins": [],
        "focus": None,
        "follow": None,
        "turns": False,
        "memories": None,
        "asked": None,
        "edits": list(grid.get("edits", ())),
        "page": "grid",
        "find": None,
        "map": None,
        "seed": None,
        "tab": "says",
        "reading": "without",
        "stand_in": None,
        "contrast": None,
        "alike": "cosine",
        "folded": False,
        "view": "full",
    }


@whole
class Place(TypedDict):
    """A state of a grid."""

    column: str
    row: Count


@whole
class Pin(Place):
    """A state that is kept in view; null: of the view's own run, text or semantic."""

    run: str | None
    text: str | None
    semantic: str | None


@whole
class Follow(TypedDict):
    """Labels to follow, and those they stand against."""

    labels: list[str]
    against: list[str]


@whole
class View(TypedDict):
    """Everything that is chosen on the page; null: what is usual."""

    run: str | None
    text: str | None
    beside: Annotated[str | None, about("another run that reads the text, too")]
    semantic: str | None
    palette: str | None
    density: Literal["bars", "compact"]
    kinds: Annotated[
        Literal["all", "outputs"] | list[str] | None, about("columns, as rnnlens show takes them")
    ]
    naming: Literal["both", "names", "symbols"]
    bars: Annotated[int, Field(ge=1, le=5)]
    head: Annotated[Count, about("of the attention's heads; 0: their mean")]
    pins: list[Pin]
    focus: Annotated[Place | None, about("the state that is selected")]
    follow: Follow | None
    turns: Annotated[bool, about("whether it is shown where predictions turn")]
    memories: Annotated[
        Literal["norm", "rank", "half_life"] | None,
        about("what cells of memories that are matrices show; null: what the probe says"),
    ]
    asked: Annotated[
        str | None, about("the word that these memories are asked by; null: what memories says")
    ]
    edits: Annotated[list[str], about("what is changed while the text is read, such as l2@4=0")]
    page: Literal["grid", "accuracy", "corpus"]
    find: Annotated[str | None, about("what the corpus is asked; null: the first example")]
    map: Annotated[str | None, about("whose states are on the corpus page's map; null: the usual")]
    seed: Annotated[
        Annotated[int, Field(ge=0, lt=2**32)] | None,
        about("of the samples of how the model goes on; null: that is not shown"),
    ]
    tab: Annotated[
        Literal["says", "changed", "written", "alike"], about("what the panel tells of the state")
    ]
    reading: Annotated[
        Literal["stored", "path", "without", "gates"], about("how it is told which words wrote it")
    ]
    stand_in: Annotated[
        Literal["tag", "model", "unknown", "left_out"] | None,
        about("what is read in a word's place for that; null: the usual"),
    ]
    contrast: Annotated[Follow | None, about("labels that this is told of; null: the likeliest")]
    alike: Annotated[Literal["cosine", "divergence"], about("what makes states similar")]
    folded: Annotated[bool, about("whether the panel is folded away")]
    view: Annotated[Literal["full", "bare"], about("bare: the text and its grid alone")]


@whole
class SavedPage(TypedDict):
    """What a saved page holds: a whole grid, how it is seen, and divergences that are known."""

    grid: json_types.Grid
    view: View
    bits: Annotated[
        list[tuple[str, Count, str, Count, DivergenceBits]],
        about("between two states, each a column and a row"),
    ]


@whole
class NotebookView(TypedDict):
    """What a view in a notebook begins with."""

    grid: json_types.Grid
    typing: Annotated[bool, about("whether it has a field for texts")]
    examples: list[str]
