"""Labels to groups to colours: what a run's colours.json holds."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Len, MaxLen
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Name, Sha, Strict, read_json
from rnnlens.base.rules import text
from rnnlens.labels.parts_of_speech import (
    FUNCTION,
    PUNCTUATION,
    UNIVERSAL,
    coarse,
    parts_of_speech,
    word_class,
)
from rnnlens.labels.sets import MOST_LABELS, is_special

Rule = Literal["excess", "paper"]  # what rectangles fade by
MOST_GROUPS, _MOST_PALETTES = 1000, 16
OTHER = text("other_group")  # the group of every label that is not listed
TAGS = text("tag_palette")  # the grouping that has the part of speech of each word

# Content words in Okabe and Ito's colours, which colour-blind readers can tell apart.
_CONTENT = {"NOUN": "#009e73", "VERB": "#cc79a7", "ADJ": "#0072b2", "ADV": "#d55e00"}
# Most of what a language model expects are function words and punctuation: these stand back.
CLASS_COLOURS = {**_CONTENT, FUNCTION: "#e0c35a", PUNCTUATION: "#62656f", OTHER: "#8ed0f5"}
COARSE_COLOURS = {**_CONTENT, OTHER: "#e8c93c"}  # the paper's five
# Chosen by a search for the largest least distance in OKLab, also as simulated for colour-blind
# readers, with pronouns and names near nouns, auxiliaries near verbs.
UNIVERSAL_COLOURS = {
    "NOUN": "#009e73", "PROPN": "#9ad4a8", "PRON": "#214f0e", "VERB": "#cc79a7", "AUX": "#7f2851",
    "ADJ": "#0072b2", "ADV": "#d55e00", "ADP": "#e0c35a", "DET": "#d48d39", "PART": "#c3e77c",
    "CCONJ": "#7b561e", "SCONJ": "#5544a1", "NUM": "#8ed0f5", "PUNCT": "#62656f", "SYM": "#282c42",
    "INTJ": "#e19dab", OTHER: "#cfcccd",
}  # fmt: skip

# Groups in an order in which the colours of the first few differ most.
_APART = "NOUN VERB ADJ ADV NUM SYM ADP SCONJ AUX PART PRON PUNCT CCONJ INTJ PROPN DET"
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_FREQUENCIES = {"FREQUENT": "#0072b2", "COMMON": "#009e73", "RARE": "#e69f00"}
# From little to much, as even in lightness for colour-blind readers as for others.
_SEQUENCE = ("#471164", "#472f7d", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30",
             "#f4e41f")  # fmt: skip
_SHARES = (0.5, 0.9)  # of all that was counted: up to here labels are frequent, up to there common


@dataclass(frozen=True)
class Grouping(Strict):
    """Labels in groups, and groups in colours."""

    colours: Annotated[dict[Name, Name], Len(1, MOST_GROUPS)]
    groups: Annotated[dict[Name, Name], MaxLen(MOST_LABELS)]

    def __post_init__(self) -> None:
        for group, colour in self.colours.items():
            if not _HEX.fullmatch(colour):
                raise ValueError(f"the colour of {group[:40]!r} is not written as #rrggbb")
        if strange := set(self.groups.values()) - self.colours.keys():
            raise ValueError(f"the group {min(strange)[:40]!r} has no colour")


@dataclass(frozen=True)
class Colours(Strict):
    """colours.json: ways to group labels."""

    source: Name  # where they come from
    groupings: Annotated[dict[Name, Grouping], Len(1, _MOST_PALETTES)]
    vocabulary: Sha | None = None  # the file that they are of; where it is not kept, any will do

    def to_json(self) -> dict[str, Any]:
        """What `Run.write_colours` takes."""
        groupings = {
            name: {"colours": one.colours, "groups": one.groups}
            for name, one in self.groupings.items()
        }
        return {"source": self.source, "groupings": groupings}


def default_colours(
    labels: Sequence[str], parts: Sequence[str] | None, source: str, counts: Sequence[int]
) -> dict[str, Any]:
    """The groupings of a run: by word class, by the paper's five groups and by universal part of
    speech, where these are known; else few labels have a colour each, and many go by how frequent
    they are.
    """
    groupings: dict[str, Any] = {}
    if parts is None and len(labels) < len(UNIVERSAL_COLOURS):
        return _each(dict(zip(labels, _apart(), strict=False)))
    if parts is None:
        colours = {**_FREQUENCIES, OTHER: UNIVERSAL_COLOURS[OTHER]}
        groupings["frequency"] = {"colours": colours, "groups": _frequencies(labels, counts)}
        source = f"by how frequent a label is: {source}"
    else:
        pairs = list(zip(labels, parts, strict=True))
        ways: tuple[tuple[str, dict[str, str], Callable[[str], str]], ...] = (
            ("classes", CLASS_COLOURS, word_class),
            ("coarse", COARSE_COLOURS, coarse),
            (TAGS, UNIVERSAL_COLOURS, str),
        )
        for name, colours, group_of in ways:
            found = {label: group_of(part) for label, part in pairs}
            known = {label: g for label, g in found.items() if g in colours and g != OTHER}
            groupings[name] = {"colours": colours, "groups": known}
    return {"source": source, "groupings": groupings}


def colours_of(
    labels: Sequence[str],
    counts: Sequence[int],
    tag_counts: NDArray[np.int64] | None = None,
    *,
    in_order: bool = False,
) -> dict[str, Any]:
    """What colours.json holds for labels of any sort: few have a colour each, words go by their
    part of speech, and anything else by how frequent it is.

    Labels that stand in an order, as bins of numbers do, have colours in a sequence.
    """
    if in_order:
        each = _each(dict(zip(labels, sequence(len(labels)), strict=True)))
        return {**each, "source": "a sequence of colours, from little to much"}
    plain = {label for label in labels if not is_special(label)}
    if plain and plain <= set(UNIVERSAL):  # a tagger's: readers know their colours
        known = {label: UNIVERSAL_COLOURS.get(label, "") for label in labels if label != OTHER}
        return _each({label: colour for label, colour in known.items() if colour})
    if len(labels) < len(UNIVERSAL_COLOURS):
        return _each(dict(zip(labels, _apart(), strict=False)))
    return default_colours(labels, *parts_of_speech(labels, counts, tag_counts), counts)


def sequence(count: int) -> list[str]:
    """So many colours from the lowest to the highest."""
    channels = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in _SEQUENCE])
    places = np.linspace(0, len(_SEQUENCE) - 1, count)
    rows = [np.interp(places, range(len(_SEQUENCE)), channel) for channel in channels.T]
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.rint(rows).astype(int).T.tolist()]


def _apart() -> list[str]:
    return [UNIVERSAL_COLOURS[group] for group in _APART.split()]


def _frequencies(labels: Sequence[str], counts: Sequence[int]) -> dict[str, str]:
    """The group of every label: the most frequent make up half of all that was counted."""
    order = sorted(range(len(labels)), key=lambda label: -counts[label])
    total, so_far, groups = sum(counts) or 1, 0, {}
    for label in order:
        place = sum(so_far / total >= share for share in _SHARES)
        groups[labels[label]] = tuple(_FREQUENCIES)[place]
        so_far += counts[label]
    return groups


def _each(each: dict[str, str]) -> dict[str, Any]:
    """A grouping in which every label has a colour of its own."""
    grouping = {
        "colours": {**each, OTHER: UNIVERSAL_COLOURS[OTHER]},
        "groups": {label: label for label in each},
    }
    return {"source": "a colour for each label", "groupings": {"labels": grouping}}


def read_colours(path: Path) -> dict[str, Any]:
    """A user's own grouping: {"colours": {group: "#rrggbb"}, "groups": {label: group}}."""
    if not path.is_file():
        raise RnnlensError(f"no colour mapping at {path}; give a JSON file")
    return {
        "source": f"{path.name}, given by the user",
        "groupings": {"own": checked(read_json(path, object, "mend it"), path)},
    }


def palettes(colours: dict[str, Any], path: Path, own: Path | None) -> dict[str, Any]:
    """The groupings of a run's colours.json, after the user's own where one is given."""
    mine = read_colours(own)["groupings"] if own else {}
    return mine | {
        name: checked(value, path)
        for name, value in colours["groupings"].items()
        if name not in mine
    }


def checked(value: Any, path: Path) -> dict[str, dict[str, str]]:
    """A grouping that was read from `path`, with every group in a colour that can be drawn."""
    try:
        colours = {str(group): str(colour) for group, colour in value["colours"].items()}
        groups = {str(label): str(group) for label, group in value["groups"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise RnnlensError(
            f'{path} is no colour mapping; give {{"colours": {{"GROUP": "#rrggbb"}}, '
            '"groups": {"word": "GROUP"}}'
        ) from error
    if len(colours) > MOST_GROUPS:
        raise RnnlensError(
            f"{path} has {len(colours):,} groups, which nobody can tell apart; give at most "
            f"{MOST_GROUPS:,}"
        )
    for group, colour in colours.items():
        if not _HEX.fullmatch(colour):
            raise RnnlensError(f"{path}: the colour of {group} is {colour!r}; write it as #rrggbb")
    for label, group in groups.items():
        if group not in colours:
            raise RnnlensError(f"{path}: {label!r} is in group {group!r}, which has no colour")
    colours.setdefault(OTHER, UNIVERSAL_COLOURS[OTHER])
    return {"colours": colours, "groups": groups}
