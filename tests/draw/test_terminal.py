"""The grid in a terminal: it fits, it says what the grid says, and the text cannot take it over."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.draw import terminal
from rnnlens.draw.look import Look
from rnnlens.draw.printable import width_of

CODE = re.compile(r"\x1b\[[0-9;]*m")
GROUPS = {
    "NOUN": "#009e73",
    "VERB": "#cc79a7",
    "ADJ": "#0072b2",
    "ADV": "#d55e00",
    "OTHER": "#f0e442",
}
KINDS = [  # id, layer, back, name
    ("x", 0, 0, "embedding"),
    *((f"{k}{u}", u, b, n) for u in (1, 2) for k, b, n in (
        ("c", 1, "previous cell"), ("l", 0, "long-term memory"), ("s", 0, "short-term memory"),
        ("c", 0, "cell state"), ("h", 0, "output state"))),
    ("y", 3, 0, "prediction"),
]  # fmt: skip


def grid(words: list[str], labels: list[str], known: bool = True) -> dict[str, Any]:
    """A grid whose states name these labels, the most probable ever another one."""
    columns: list[dict[str, Any]] = [
        {"id": f"{kind}@-1" if back else kind, "kind": kind, "letter": kind[0], "back": back,
         "layer": layer, "reverse": False, "name": name, "symbol": kind[0], "equation": "",
         "shown": True, "perplexity": None, "sources": []}
        for kind, layer, back, name in KINDS
    ]  # fmt: skip
    names = list(GROUPS)

    def state(number: int) -> dict[str, Any]:
        turned = [labels[(number + k) % len(labels)] for k in range(len(labels))]
        return {
            "colour": f"#{number % 256:02x}c8a0", "group": names[number % 5],
            "share": (number % 8 + 1) / 8, "entropy": 1.0, "wanted": None, "unread": False,
            "top": [[label, 0.5 / 2**k] for k, label in enumerate(turned)],
        }  # fmt: skip

    return {
        "title": "news · LSTM 300 × 2", "text": " ".join(words), "semantic": "output",
        "groups": GROUPS, "columns": columns,
        "words": [{"text": w, "label": w, "unknown": not known, "group": names[k % 5]}
                  for k, w in enumerate(words)],
        "labels": {label: names[k % 5] for k, label in enumerate(labels)},
        "rows": [[state(len(columns) * t + k) for k in range(len(columns))]
                 for t in range(len(words))],
    }  # fmt: skip


PLAIN_GRID = grid(["we", "stand", "solidarity"], ["said", "added", "told"])
ALL = [column["id"] for column in PLAIN_GRID["columns"]]


def draw(
    found: dict[str, Any] = PLAIN_GRID, width: int = 80, colours: int = terminal.PLAIN, **how: Any
) -> str:
    return terminal.draw(found, Look(**{"kinds": "all", **how}), width=width, colours=colours)


texts = st.text(st.characters(codec=None), min_size=1, max_size=40)


@given(
    st.lists(texts, min_size=1, max_size=4),
    st.lists(texts, min_size=1, max_size=3, unique=True),
    st.integers(terminal.NARROWEST, 260),
    st.sampled_from([None, "bars", "compact"]),
    st.integers(1, 4),
    st.sampled_from([terminal.PLAIN, terminal.INDEXED, terminal.TRUE]),
    st.sets(st.sampled_from(ALL), min_size=1).map(sorted),
    st.booleans(),
)
def test_it_fits_and_only_our_own_codes_reach_the_terminal(
    words, labels, width, density, bars, colours, kinds, symbols
):
    found = grid(words, labels, known=False)
    made = draw(
        found, width, density=density, bars=bars, colours=colours, kinds=kinds, symbols=symbols,
    )  # fmt: skip
    bare = CODE.sub("", made) if colours else made
    for line in bare.split("\n"):
        assert width_of(line) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", bare)


@pytest.mark.slow
@pytest.mark.parametrize("density", [None, "bars", "compact"])
@pytest.mark.parametrize("length", [1, 9, 30])
def test_it_fits_every_width_and_fills_it(density, length):
    """Every width there is, since what is drawn changes from one to the next."""
    found = grid(["w" * length], ["l" * length])
    used = {}
    for width in range(terminal.NARROWEST, 280):
        lines = draw(found, width, density=density).split("\n")
        used[width] = max(map(width_of, lines))
        assert used[width] <= width
    assert max(used.values()) > (60 if density == "compact" else 120)


def test_every_state_says_its_most_probable_label_and_its_group():
    made = draw(width=260).splitlines()
    for row, word in zip(PLAIN_GRID["rows"], PLAIN_GRID["words"], strict=True):
        (line,) = (x for x in made if x.lstrip().startswith(f"{word['text']} "))
        found = re.findall(r"([NVADO])([░▒▓█]) (\w+) +([▏▎▍▌▋▊▉█]*)", line)
        assert [label for _, _, label, _ in found] == [state["top"][0][0] for state in row]
        letters = dict(zip(GROUPS, "NVADO", strict=True))
        assert [letter for letter, *_ in found] == [letters[state["group"]] for state in row]
        assert {bar for *_, bar in found} == {"██▉"}  # the root of a half, of four columns


def test_signs_and_placeholders_are_called_by_name_and_set_apart():
    found = grid(["we"], [",", "UNK", "NUM"]) | {"placeholders": {"UNK": "rare word"}}
    made = draw(found, width=260, bars=3)
    assert "‹comma›" in made
    assert "‹rare word›" in made
    assert re.search(r" NUM\b", made)
    assert "bar = √probability" in made
    faint = terminal.draw(found, Look(bars=3), width=260, colours=terminal.TRUE)
    assert re.search(r"\x1b\[2mcomma +\x1b\[0m", faint)
    assert "‹" not in faint


def test_more_labels_stand_below_one_another():
    made = draw(width=260, bars=3).splitlines()
    first = next(k for k, line in enumerate(made) if line.lstrip().startswith("we "))
    shown = [re.findall(r"said|added|told", line)[:1] for line in made[first : first + 3]]
    assert shown == [["said"], ["added"], ["told"]]


def test_a_bar_is_as_long_as_the_root_of_the_probability():
    def bar(p: float) -> str:
        one = grid(["we"], ["said"])
        one["rows"][0][0]["top"] = [["said", p]]
        line = next(x for x in draw(one, 80, kinds="x").splitlines() if "said" in x)
        return line.split("said")[1].strip()

    assert [bar(p) for p in (0, 1 / 1024, 1 / 16, 0.25, 1)] == ["", "▏", "█", "██", "████"]


@pytest.mark.parametrize(
    ("width", "density", "labels", "panels"),
    [
        (260, None, True, 1),
        (150, None, True, 1),
        (80, None, False, 1),
        (40, None, False, 2),
        (80, "bars", True, 2),
        (260, "compact", False, 1),
    ],
)
def test_it_drops_labels_and_then_wraps_by_layer(width, density, labels, panels):
    made = draw(width=width, density=density)
    assert ("said" in made) == labels
    assert made.count(" solidarity ") + made.count("\nsolidarity ") == panels
    headed = [line.split() for line in made.splitlines() if "layer 1" in line or "layer 2" in line]
    assert len(headed) == panels


@pytest.mark.parametrize("symbols", [False, True])
def test_long_paths_are_cut_in_front_and_told_once(symbols):
    paths = [f"backbone.encoder.layers.{k}" for k in range(3)]
    columns = [
        {**column, "letter": "", "name": path, "symbol": path}
        for column, path in zip(PLAIN_GRID["columns"][1:4], paths, strict=True)
    ]
    found = {**PLAIN_GRID, "columns": [PLAIN_GRID["columns"][0], *columns]}
    found["rows"] = [row[:4] for row in PLAIN_GRID["rows"]]
    made = draw(found, 120, symbols=symbols)
    assert re.findall(r"\S*layers\.\d", made) == ["…layers.0", "…layers.1", "…layers.2"]
    narrow = draw(found, 120, density="compact")
    assert re.findall(r"…\d", narrow) == ["…0", "…1", "…2"]


def test_headings_name_layers_symbols_and_kinds():
    wide = draw(width=260)
    assert "layer 1" in wide
    assert "model" in wide
    assert "c₋₁" in wide
    assert "long-term" in wide
    assert "long-term" not in draw(width=260, symbols=True)


def test_colours_are_the_grids_own():
    made = draw(width=260, colours=terminal.TRUE)
    for row in PLAIN_GRID["rows"]:
        for state in row:
            r, g, b = (int(state["colour"][k : k + 2], 16) for k in (1, 3, 5))
            assert f"\x1b[48;2;{r};{g};{b}m  \x1b[0m" in made
    for colour in GROUPS.values():
        r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        assert f"\x1b[48;2;{r};{g};{b}m  \x1b[0m" in made  # in the legend
    assert "\x1b" not in draw(width=260)


def test_256_colours_are_near():
    def code(colour: str) -> int:
        one = grid(["we"], ["said"])
        one["rows"][0][0]["colour"] = colour
        made = draw(one, 80, kinds="x", colours=terminal.INDEXED)
        codes = re.findall(r"\x1b\[48;5;(\d+)m", made)
        return int(codes[0])

    assert (code("#ffffff"), code("#000000"), code("#ff0000"), code("#5f87af")) == (
        231,
        16,
        196,
        67,
    )
    assert code("#f0e442") == 227  # a yellow, where the nearest by channels is an orange


def test_the_legend_names_groups_and_unknown_words():
    assert "N noun  V verb  A adj  D adv  O other" in draw(width=120)
    assert "unknown word" not in draw(width=120)
    odd = draw(grid(["zyzzyva"], ["said"], known=False), 120)
    assert "zyzzyva?" in odd
    assert "? unknown word" in odd


def test_groups_of_any_name_have_letters_of_their_own():
    many = grid(["we"], ["said"])
    many["groups"] = {**GROUPS, "日本": "#000000", "": "#111111", "NUM": "#222222"}
    made = draw(many, 200)
    letters = re.findall(r"(?:^|  )(\w) ", made.splitlines()[-1])
    assert len(set(letters)) == len(many["groups"])
