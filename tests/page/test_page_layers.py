"""Networks of many layers: one column a layer at first, layers that open, a kind of every layer."""

import json

import pytest
from playwright.sync_api import expect
from tests.page.publish.asking import apart

import rnnlens
from rnnlens.ask.answer import answer
from rnnlens.ask.follow import FollowQuestion
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.ask.turns import TurnsQuestion

TEXT = "#text=the+old+dog+sees"
OUTPUTS = ["x", *(f"h{layer}" for layer in range(1, 25)), "y"]
SEVENTH = ["f7", "i7", "o7", "g7", "c7@-1", "l7", "s7", "c7"]


@pytest.fixture(scope="module")
def deep(deep_run, server):
    with server(deep_run) as served:
        yield served


def ids(screen):
    script = "all => all.map(one => one.getAttribute('data-column'))"
    return screen.find(".head [data-column]").evaluate_all(script)


def asked(page):
    """The columns of every grid that is asked for."""
    found = []

    def note(request):
        if request.url.endswith("/api/grid"):
            found.append(json.loads(request.post_data)["columns"])

    page.on("request", note)
    return found


def test_a_layer_opens_into_its_kinds_and_only_what_is_shown_is_asked_for(look, deep):
    screen = look(TEXT, at=deep)
    screen.drawn(4)
    assert ids(screen) == OUTPUTS
    columns = asked(screen.page)
    screen.find("[data-layer='7']").click()
    expect(screen.find("[data-column=l7]")).to_have_count(1)
    at = OUTPUTS.index("h7")
    assert ids(screen) == [*OUTPUTS[:at], *SEVENTH, *OUTPUTS[at:]]
    expect(screen.find("[data-layer='7']")).to_contain_text("▾ layer 7")
    expect(screen.find(".head rect.opened")).to_have_count(1)
    assert screen.page.url.endswith("&kinds=default,layer7")
    assert columns
    assert all(len(some) == len(OUTPUTS) + len(SEVENTH) for some in columns)
    screen.page.keyboard.press("Escape")
    screen.find("[data-layer='7']").click()
    expect(screen.find("[data-column=l7]")).to_have_count(0)
    assert "kinds" not in screen.page.url
    assert len(columns) == 1  # what is shown less was at hand


def test_the_key_opens_the_layer_of_the_selected_state(look, deep):
    screen = look(f"{TEXT}&at=h3:2", at=deep)
    screen.drawn(4)
    screen.page.keyboard.press("o")
    expect(screen.find("[data-column=f3]")).to_have_count(1)
    screen.page.keyboard.press("o")
    expect(screen.find("[data-column=f3]")).to_have_count(0)


def test_a_kind_of_every_layer_stands_side_by_side_by_menu_and_link(look, deep):
    screen = look(
        f"{TEXT}&kinds=default,layer2,nothing", at=deep, viewport={"width": 390, "height": 844}
    )
    screen.drawn(4)
    assert len(ids(screen)) == len(OUTPUTS) + 8
    expect(screen.find(".note")).to_contain_text(["which this run does not have"])
    screen.page.locator("summary", has_text="parts").click()
    expect(screen.find("[data-opens='2']")).to_have_attribute("aria-pressed", "true")
    screen.page.locator(".across button", has_text="long-term memory").click()
    expect(screen.find("[data-column=l24]")).to_have_count(1)
    assert ids(screen) == [*(f"l{layer}" for layer in range(1, 25)), "y"]
    assert screen.page.url.endswith("&kinds=l,y")
    screen.find("[data-opens='24']").click()
    expect(screen.find("[data-column=f24]")).to_have_count(1)
    assert screen.page.url.endswith("&kinds=l,y,layer24")


def test_states_that_are_not_shown_are_not_computed(deep_run):
    lens = rnnlens.load(deep_run)
    grid = answer(
        Subjects.of(lens.subject), GridQuestion(text="the old dog", columns=("default", "nothing"))
    )
    for row in grid["rows"]:
        assert at_hand(grid["columns"], row) == OUTPUTS


def at_hand(columns, states):
    return [one["id"] for one, state in zip(columns, states, strict=True) if state is not None]


def differ(some, others):
    """Where answers differ by more than rounding: how many states are computed at once rounds."""
    return apart(*(json.loads(json.dumps(one)) for one in (some, others)))


@pytest.mark.parametrize("more", [{"edits": ("l7@1=0",)}, {"text": "the old {dog|cat} sees"}])
def test_nor_are_they_with_edits_two_texts_followed_labels_and_turns(deep_run, more):
    subject = rnnlens.load(deep_run).subject
    asked = {"text": "the old dog sees", "columns": ("default",), **more}
    every = {**asked, "columns": None}

    def both(question, **options):
        return [answer(Subjects.of(subject), question(**one, **options)) for one in (asked, every)]

    grid, whole = both(GridQuestion)
    kept = [[c["id"] for c in grid["columns"]].index(name) for name in OUTPUTS]

    def shown(rows):
        return [[row[k] for k in kept] if row else row for row in rows]

    for name in ("rows", "changes", "then"):
        assert all(at_hand(grid["columns"], row) == OUTPUTS for row in grid[name] if any(row))
        wanted = shown(whole[name])
        assert not differ(grid[name], wanted) or not differ(shown(grid[name]), wanted)
    followed, all_of_it = both(FollowQuestion, labels=("dog",))
    assert not differ(shown(followed["rows"]), shown(all_of_it["rows"]))
    assert all(at_hand(grid["columns"], row) == OUTPUTS for row in followed["rows"] if row)
    turns, all_turns = both(TurnsQuestion)
    for row, other in zip(turns["rows"], all_turns["rows"], strict=True):
        assert not differ(shown([row["above"]]), shown([other["above"]]))
        assert not differ(row["surprisal"], other["surprisal"])
        ends = [{*edge} <= {*OUTPUTS} for edge in grid["edges"]]
        wanted = [b if there else None for b, there in zip(other["edges"], ends, strict=True)]
        assert not differ(row["edges"], wanted)


@pytest.mark.release
def test_saved_and_published_pages_begin_alike(look, deep_run, tmp_path):
    lens = rnnlens.load(deep_run)
    saved = lens("the old dog").save(tmp_path / "grid.html", kinds="default,layer7")
    screen = look(at=saved.as_uri())
    assert len(ids(screen)) == len(OUTPUTS) + len(SEVENTH)
    screen.find("[data-layer='7']").click()
    expect(screen.find("[data-column=l7]")).to_have_count(0)
    live = lens.publish(tmp_path / "lens.html", text="the old dog")
    screen = look("#kinds=c,layer3,y", at=live.as_uri())
    expect(screen.find("[data-column=f3]")).to_have_count(1)
    assert len(ids(screen)) == 24 + 8 + 1


def test_python_computes_of_many_columns_those_that_are_asked_for(deep_run, tmp_path):
    grid = rnnlens.load(deep_run)("the old dog")

    def computed(part):
        states = zip(part["columns"], part["rows"][0], strict=True)
        return [column["id"] for column, state in states if state]

    assert computed(grid.part()) == OUTPUTS
    assert computed(grid.part("l,y"))[-2:] == ["l24", "y"]
    assert grid["f7"][1].top(1) == rnnlens.load(deep_run)("the old")["f7"][1].top(1)
    grid.save(tmp_path / "part.svg", kinds="layer7", bars=1)
    assert "json" not in vars(grid)
    assert computed(grid.json) == grid.kinds == rnnlens.load(deep_run).kinds
    assert grid.part() is grid.json  # which is at hand
