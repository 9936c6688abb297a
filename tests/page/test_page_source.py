"""Source and target on the page: two grids, the attention between them, and what wrote a state."""

import warnings

import pytest
import torch
from tests.letters import trained
from tests.pairs import SOURCE, TARGET, Bahdanau, Heads, pairs

import rnnlens
from rnnlens.base.errors import RnnlensWarning


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with three pairs, whose module's code nobody has."""
    torch.manual_seed(0)
    module = trained(Bahdanau(), pairs(), 8)
    lens = rnnlens.fit(module, pairs(), TARGET, source=SOURCE, epochs=3, name="tiny")
    path = tmp_path_factory.mktemp("runs") / "tiny"
    lens.save(path)
    return path, lens.examples()[0], lens(lens.examples()[0])


def test_a_target_stands_below_its_source(look, server, run):
    path, text, grid = run
    with server(path) as address:
        count = len(grid.source)
        screen = look(
            f"#text={text.replace(' ', '+').replace('=>', '%3D%3E')}&at=y:{count + 2}", at=address
        )
        screen.drawn(len(grid.words))
        heads = screen.find(".scroller .head:visible")
        assert heads.count() == 2
        assert heads.first.locator(".corner").inner_text() == "source"
        assert heads.last.locator(".corner").inner_text() == "target"
        weights = grid.attention[1]
        links = screen.find(".links .link")
        assert links.count() == sum(weights >= 0.02)
        said = screen.find(".panel dt:text-is('attention') + dd").inner_text()
        largest = grid.source[int(weights.argmax())]
        assert said.startswith(f"{largest} {weights.max():.0%}")
        assert f"over {count} words of the source" in said
        screen.page.keyboard.press("ArrowUp")
        screen.page.keyboard.press("ArrowUp")  # over the border, to the column that stands above
        at = screen.find(".row .state.lit").count()
        assert at >= 1
        assert "attended to" in screen.find(".panel").inner_text()


@pytest.mark.release
def test_one_of_several_heads_is_chosen(look, server, tmp_path):
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore", category=RnnlensWarning):  # untrained
        lens = rnnlens.fit(Heads(), pairs(), TARGET, source=SOURCE, epochs=0, name="heads")
    lens.save(tmp_path / "heads")
    grid = lens(lens.examples()[0])
    heads, mean = grid.attention_heads, grid.attention
    assert heads is not None
    assert mean is not None
    with server(tmp_path / "heads") as address:
        screen = look(f"#at=y:{len(grid.source) + 1}&head=2", at=address)
        screen.drawn(len(grid.words))
        said = screen.find(".panel dt:text-is('attention') + dd").inner_text()
        assert "the mean of 2 heads" in said
        firsts = [grid.source[int(one[0].argmax())] for one in heads]
        by_head = screen.find(".panel dt:text-is('by head') + dd").inner_text()
        assert by_head.startswith(f"1: {firsts[0]} ")
        assert f"2: {firsts[1]} " in by_head
        for head, weights in ((2, heads[1]), (0, mean)):
            if not head:
                screen.page.click("text=display")
                screen.page.select_option("select[aria-label=attention]", "0")
            assert screen.find(".links .link").count() == sum(weights[0] >= 0.02)
        assert "head=" not in screen.page.url
