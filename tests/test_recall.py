"""The generated language of keys and values, and the check of a network that has learnt it."""

import json

from scripts import recall

from rnnlens.run.folder import run_at


def test_what_is_asked_for_is_what_was_given_last():
    every = list(recall.texts(200, 10, 0))
    for words in every:
        given: dict[str, str] = {}
        asked = dict(recall.questions(words))
        for row, word in enumerate(words):
            if word not in recall.KEYS:
                continue
            if row in asked:
                assert words[row - 1] == recall.ASKED
                assert words[row + 1] == given[word]
            else:
                given[word] = words[row + 1]
        assert max(asked) == len(words) - 2  # the last move asks
    assert every == list(recall.texts(200, 10, 0))
    assert dict(recall.questions("b 3 ? b 3 b 5 d 1 ? b 5 ? d 1".split())) == {
        3: False,
        10: True,
        13: False,
    }


def test_the_bundled_network_answers_and_a_wrong_text_is_counted_wrong():
    run = run_at("recall")
    right = "b 3 d 7 b 5 ? d 7 ? b 5".split()
    assert recall.check(run, [right]) == {False: (1, 1), True: (1, 1)}
    wrong = [*right[:-1], "3"]  # the value before
    assert recall.check(run, [wrong]) == {False: (1, 1), True: (0, 1)}


def test_texts_and_colours_are_written_and_a_run_is_checked(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["recall", "make", str(tmp_path), "--texts", "20"])
    recall.main()
    assert len((tmp_path / "train.txt").read_text().splitlines()) == 20
    listed = json.loads((tmp_path / "colours.json").read_text())
    assert {*listed["groups"].values()} == {*listed["colours"]}
    some = tmp_path / "some.txt"
    some.write_text("b 3 ? b 3\n")
    monkeypatch.setattr("sys.argv", ["recall", "check", str(run_at("recall").path), str(some)])
    recall.main()
    assert capsys.readouterr().out.splitlines() == [
        "given once: 1 of 1 right",
        "given anew: 0 of 0 right",
    ]
