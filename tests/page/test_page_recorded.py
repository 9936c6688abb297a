"""The page of recorded states: texts are chosen, and nothing is offered that needs a network."""

from tests import recorded
from tests.screen import Screen

import rnnlens


def check(screen: Screen) -> None:
    """What a page of recorded states offers, served or published."""
    screen.drawn(6)
    assert not screen.find("#text").is_visible()
    assert screen.find(".goeson:visible").count() == 0
    screen.find(".texts summary").click()
    screen.find(".texts input").fill("dogs")
    screen.find(".texts .soft[role=status]:has-text('of ')").wait_for()
    assert {"dogs" in one for one in screen.find(".kept .action").all_inner_texts()} == {True}
    screen.find(".kept .action").first.click()
    screen.find(".sentence:has-text('dogs')").wait_for()
    screen.find(".row .state").first.click()
    screen.find(".panel .acts").wait_for()
    assert screen.find(".act:visible").all_inner_texts()[-2:] == ["Follow", "Pin"]
    assert not {"Change", "Explain"} & {*screen.find(".act:visible").all_inner_texts()}
    assert "written by" not in screen.find("[role=tab]:visible").all_inner_texts()
    screen.page.keyboard.press("e")
    screen.page.keyboard.press("w")
    assert screen.find(".whatif:visible").count() == 0
    screen.find(".texts summary").click()
    screen.find(".kept li:nth-child(2) .plain").click()
    screen.find(".sides:has-text('Two texts')").wait_for()
    screen.settled()
    assert screen.find(".note.problem:visible").count() == 0
    screen.page.close()


def test_recorded_texts_are_chosen_on_a_served_page_and_in_a_file(look, server, tmp_path):
    folder = recorded.recorded(tmp_path / "states")
    lens = rnnlens.from_states(folder, epochs=10)
    lens.save(tmp_path / "run")
    lens.publish(tmp_path / "lens.html", texts=20)
    with server(tmp_path / "run") as address:
        check(look("", at=address))
    check(look("", at=(tmp_path / "lens.html").as_uri()))
