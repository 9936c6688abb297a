"""Typing into the page: what is drawn follows the text, at once and whatever the text is."""

import random
import statistics

import pytest
from playwright.sync_api import expect

WORDS = "the old teacher follows a small bird , and she sees that dogs help the farmer .".split()


def fresh(look, screen):
    """What a page that was opened at this text says."""
    other = look()
    other.write(screen.page.input_value("#text"))
    return other.states()


def test_every_edit_ends_in_what_a_new_page_shows(look):
    screen, other = look(), look()
    screen.write("the old dog sees a bird .")
    screen.page.focus("#text")
    for keys, wanted in [
        (["Control+Home", *["ArrowRight"] * 8, *"big "], "the old big dog sees a bird ."),
        ([*["Delete"] * 4], "the old big sees a bird ."),
        (["Control+End", "Backspace", *"the she"], "the old big sees a bird the she"),
        (["Control+Home", *["Delete"] * 4], "old big sees a bird the she"),
    ]:
        for key in keys:
            screen.page.keyboard.press("Space" if key == " " else key)
        assert " ".join(screen.page.input_value("#text").split()) == wanted
        screen.drawn(len(wanted.split()))
        assert screen.words() == [
            word if word != "big" else word + ", unknown word" for word in wanted.split()
        ]
        other.write("")
        other.write(wanted)
        assert screen.states() == other.states()
        expect(screen.find("#text")).to_be_focused()


def test_keys_faster_than_answers_end_in_the_last_text(look):
    screen = look()
    screen.write("")
    screen.page.route(
        "**/api/grid", lambda route: (screen.page.wait_for_timeout(40), route.continue_())
    )
    screen.page.focus("#text")
    screen.page.keyboard.type("the old teacher follows the birds , she said .")
    screen.drawn(10)
    screen.page.unroute_all(behavior="wait")
    assert screen.states() == fresh(look, screen)


def test_where_drawing_takes_long_others_have_their_turn_between_rows(look):
    """Rows in view come in slices, and the grid is busy until the last; nothing else is drawn."""
    screen = look()
    screen.write(" ".join(WORDS[:12]))
    screen.page.evaluate(
        """() => { // as on a slow machine: a slice is over after each row
          const real = performance.now.bind(performance);
          let late = 0;
          performance.now = () => real() + (late += 100);
          window.slices = [];
          const body = document.querySelector(".body"), grid = document.querySelector(".scroller");
          new MutationObserver((all) => { // told of once a task
            const row = (one) => one.target.parentElement?.closest(".row");
            const drawn = all.filter((one) => one.target.closest?.(".states") && row(one));
            const rows = new Set(drawn.map(row));
            if (rows.size) slices.push([rows.size, body.matches("[data-left]"), grid.ariaBusy]);
          }).observe(body, { subtree: true, childList: true, attributes: true });
        }"""
    )
    screen.write(" ".join(reversed(WORDS[:12])))
    slices = screen.page.evaluate("slices")
    assert len(slices) >= 10
    assert {rows for rows, *_ in slices} == {1}
    assert [left for _, left, _ in slices] == [True] * (len(slices) - 1) + [False]
    assert {busy for _, left, busy in slices if left} == {"true"}
    assert screen.states() == fresh(look, screen)


def test_only_rows_that_changed_are_drawn_again(look):
    screen = look()
    screen.write("the old dog sees a bird .")
    screen.find(".row .states").evaluate_all("all => all.forEach((one) => one.dataset.old = '1')")
    screen.page.focus("#text")
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type(" she")
    screen.drawn(8)
    kept = screen.find(".row .states").evaluate_all("all => all.map((one) => one.dataset.old)")
    assert kept[:6] == ["1"] * 6  # the seventh has learnt what came next
    assert kept[7] is None


@pytest.mark.timing
def test_key_press_to_painted_rows(look, demo_address, capsys):
    screen = look(at=demo_address)  # the bundled model
    screen.write("the old teacher follows the birds , and")
    screen.page.evaluate("""() => {
      window.waits = [];
      let pressed = 0;
      addEventListener("keydown", () => { pressed = performance.now(); }, true);
      const rows = ({ target }) => target.closest?.(".row");
      new MutationObserver((changes) => {
        if (!pressed || !changes.some(rows)) return;
        const since = pressed;
        pressed = 0;
        requestAnimationFrame(() => { // a message after the frame comes after its paint
          const channel = new MessageChannel();
          channel.port1.onmessage = () => window.waits.push(performance.now() - since);
          channel.port2.postMessage(0);
        });
      }).observe(document.querySelector(".body"),
                 { attributes: true, childList: true, subtree: true });
    }""")
    screen.page.focus("#text")
    screen.page.keyboard.press("Control+End")
    for key in " she said the farmer helps a dog":
        screen.page.keyboard.press("Space" if key == " " else key)
        screen.page.wait_for_timeout(70)
    waits = screen.page.evaluate("window.waits")
    with capsys.disabled():
        worst = sorted(waits)[int(len(waits) * 0.95)]
        print(f"\nkey press to painted rows: median {statistics.median(waits):.0f} ms, "
              f"95% within {worst:.0f} ms ({len(waits)} presses)")  # fmt: skip
    assert len(waits) >= 20
    assert statistics.median(waits) <= 60


@pytest.mark.timing
def test_a_thousand_words_load_in_blocks_and_stay_smooth(look):
    screen = look("#text=the+dog")
    text = " ".join(random.Random(1).choices(WORDS, k=1000))
    screen.page.fill("#text", text)
    expect(screen.find(".note.loading")).to_be_visible()
    expect(screen.find(".row .state").first).to_be_visible()  # usable meanwhile
    expect(screen.find(".note.loading")).to_be_hidden(timeout=30_000)
    screen.drawn(1000)
    assert screen.find(".row").count() < 40
    frames = screen.find(".scroller").evaluate("""async (one) => {
      const waits = [];
      for (let last = performance.now(), k = 0; k < 60; k++) {
        one.scrollTop += 120;
        await new Promise(requestAnimationFrame);
        waits.push(performance.now() - last);
        last = performance.now();
      }
      return waits;
    }""")
    assert statistics.median(frames) < 50
    screen.find(".scroller").evaluate("one => { one.scrollTop = one.scrollHeight; }")
    expect(screen.find(".row[aria-rowindex='1001'] .state").first).to_be_visible()
    assert screen.words()[-1] == text.split()[-1]
    screen.page.focus("#text")
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type(" she")
    screen.drawn(1001)
    expect(screen.find(".row[aria-rowindex='1002'] .state").first).to_be_in_viewport()
    screen.page.keyboard.press("Control+Home")
    screen.page.keyboard.type("she ")  # every row changes, those in view last
    expect(screen.find(".row.stale").first).to_be_attached()
    expect(screen.find(".note.loading")).to_be_hidden(timeout=30_000)
    screen.drawn(1002)


def test_an_empty_text_draws_nothing_and_says_what_to_do(look):
    screen = look()
    for text in ("", "   "):
        screen.write(text)
        expect(screen.find(".row")).to_have_count(0)
        expect(screen.find(".note.empty")).to_contain_text("type a sentence")
        expect(screen.find(".note.problem")).to_be_hidden()
        screen.write("the")
        assert screen.words() == ["the"]
        expect(screen.find(".note.empty")).to_be_hidden()


@pytest.mark.release
def test_unknown_words_are_marked(look):
    screen = look()
    screen.write("the zyzzyva sees")
    assert screen.words() == ["the", "zyzzyva, unknown word", "sees"]
    screen.write("the blorpfish sees")  # the very same states, yet another word
    assert screen.words() == ["the", "blorpfish, unknown word", "sees"]
    expect(screen.find(".row .unknown")).to_have_text(["blorpfish"])


def test_markup_in_words_is_never_interpreted(look):
    screen = look()
    screen.page.fill("#text", "<img/src=x/onerror=alert(1)> <b>bold</b> &lt; </text><a/>")
    expect(screen.find(".row [role=rowheader][aria-label*='<']").first).to_be_visible()
    for row in range(4):
        screen.pin(row, "cell state, layer 1")
    assert screen.find(".stage img, .stage b b, .stage a, .panel img").count() == 0


@pytest.mark.release
def test_odd_words_are_words(look):
    screen = look()
    for text, word in [
        ("the شكرا dog", "شكرا"),
        ("the \u202eevil dog", "◌evil"),
        ("the 😀 dog", "😀"),
        ("the __proto__ dog", "__proto__"),
        ("the \x07 dog", "␇"),
    ]:
        screen.page.fill("#text", text)
        screen.settled()
        row = next(k for k, said in enumerate(screen.words()) if word in said)
        screen.select(row, "output state, layer 2")
        expect(screen.find(".panel h2")).to_contain_text(word)
        drawn = screen.find(".row .word text[font-weight]").nth(row)
        assert drawn.get_attribute("unicode-bidi") == "isolate"


@pytest.mark.release
def test_of_too_much_text_as_much_is_drawn_as_can_be_and_that_is_said(look):
    screen = look()  # and nothing is told to the console
    cut = screen.find(".note.cut")
    screen.page.fill("#text", "a " * 2_100)
    expect(screen.find(".scroller")).to_have_attribute("aria-rowcount", "2001")
    most = "the most that can be"
    expect(cut).to_have_text(f"the first 2,000 of 2,100 words are drawn: {most}")
    screen.page.fill("#text", "dog " * 10_000)
    part = "the first 20,000 of 40,000 characters are read"
    expect(cut).to_have_text(f"{part}, and 2,000 words of them are drawn: {most}")
    expect(screen.find(".note.problem, .shown")).to_have_count(2)
    for one in (".note.problem", ".shown"):
        expect(screen.find(one)).to_be_hidden()
    screen.write("the old dog")
    expect(cut).to_be_hidden()


def refuse(screen, text):
    """Let the server refuse a text, as it would refuse one that a model cannot read."""

    def answer(route):
        wrong = route.request.post_data_json["text"].strip() == text
        told = {"status": 400, "json": {"error": "this text cannot be read"}}
        route.fulfill(**told) if wrong else route.continue_()

    screen.page.route("**/api/grid", answer)


@pytest.mark.release
def test_a_refusal_stays_until_the_text_is_another_and_nothing_is_saved_meanwhile(look):
    screen = look("#text=the+dog", quiet=False)  # browsers log every refusal
    asked, saved, problem = [], [], screen.find(".note.problem")
    screen.page.on("download", lambda download: saved.append(download.suggested_filename))
    refuse(screen, "a bad text")
    screen.page.fill("#text", "dog " * 1000)
    expect(screen.find(".scroller")).to_have_attribute("aria-rowcount", "1001")
    screen.page.fill("#text", "a bad text")
    expect(problem).to_have_text("this text cannot be read")
    screen.page.on("request", lambda request: asked.append(request.url))
    screen.page.wait_for_timeout(1500)
    assert asked == []  # no more of the text before
    expect(problem).to_have_text("this text cannot be read")
    for what in ("SVG", "PNG", "HTML"):
        screen.page.click(".menu.save summary")
        screen.page.click(f".menu.save .action:has-text('{what}')")
        expect(problem).to_have_text("nothing was saved: this text cannot be read")
    assert saved == []
    screen.write("the old dog")
    expect(problem).to_be_hidden()


def opacity(screen):
    return float(screen.find(".gridplace").evaluate("one => getComputedStyle(one).opacity"))


@pytest.mark.release
def test_a_grid_of_another_text_than_the_fields_is_faded_and_says_so(look):
    screen = look("#text=the+old+dog", quiet=False)  # browsers log every refusal
    screen.drawn(3)
    shown, place = screen.find(".shown"), screen.find(".gridplace").bounding_box()
    refuse(screen, "a bad text")
    screen.page.fill("#text", "a bad text")
    expect(shown).to_have_text("Still shown: “the old dog”")
    expect(screen.find(".note.problem")).to_be_visible()
    assert screen.find(".gridplace").bounding_box() == place  # nothing moves while one types
    screen.page.wait_for_timeout(300)
    assert opacity(screen) < 0.6
    screen.write("the old")
    expect(shown).to_be_hidden()
    screen.page.wait_for_timeout(300)
    assert opacity(screen) == 1
    screen.page.route("**/api/grid", lambda route: None)  # never answered
    screen.page.fill("#text", "the")
    expect(shown).to_have_text("Still shown: “the old”")
    screen.page.wait_for_timeout(300)
    assert "text=the&" in f"{screen.page.url}&"


@pytest.mark.release
def test_a_server_that_is_gone_is_asked_again_and_comes_back_by_itself(look, server, probed_run):
    with server(probed_run) as first:
        screen = look(at=first, quiet=False)  # browsers log every failure
        screen.write("the old dog")
        before = screen.states()
    screen.page.fill("#text", "the old dog sees")
    expect(screen.find(".note.server")).to_have_text("the server does not answer; asking again")
    assert screen.states() == before
    expect(screen.find(".shown")).to_have_text("Still shown: “the old dog”")
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type(" birds")
    with server(probed_run, port=int(first.rsplit(":", 1)[1].strip("/"))):
        expect(screen.find(".note.server")).to_be_hidden(timeout=15_000)
        screen.drawn(5)
        expect(screen.find(".shown")).to_be_hidden()
    assert len(screen.states()) == 5 * 10
