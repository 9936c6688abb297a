"""A run whose words are letters, or what a regular expression finds, keeps that: it opens and is
published without a function.
"""

import json
import re

import pytest
import torch
from tests.letters import WORDS, LanguageModel, batches

import rnnlens
from rnnlens.page.publish.pack import text_json


@pytest.mark.slow
def test_letters_need_no_function_given_again(tmp_path):
    torch.manual_seed(0)
    module = LanguageModel()
    lens = rnnlens.fit(module, batches(), WORDS, words=list, epochs=0)
    expected = lens("cdea")["h1"][3].vector()
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=module)
    assert list(again("cdea").words) == ["c", "d", "e", "a"]
    assert abs(again("cdea")["h1"][3].vector() - expected).max() < 1e-6
    assert text_json(again.subject.session.text)["splitting"] == "letters"
    assert again.publish(tmp_path / "page.html").stat().st_size > 1000


@pytest.fixture(scope="module")
def matching(tmp_path_factory):
    torch.manual_seed(0)
    module = LanguageModel()
    words = re.compile("[a-e]", re.IGNORECASE)
    lens = rnnlens.fit(module, batches(), WORDS, words=words, epochs=0)
    run = tmp_path_factory.mktemp("matching") / "run"
    lens.save(run)
    return module, lens, run


@pytest.mark.slow
def test_a_pattern_needs_no_function_given_again(matching, tmp_path):
    module, lens, run = matching
    assert list(lens("c-d, ea").words) == ["c", "d", "e", "a"]
    again = rnnlens.load(run, model=module)
    assert list(again("c-d, ea").words) == ["c", "d", "e", "a"]
    assert again.compare("c{d|e}a").pairs == ((0, 0), (1, 1), (2, 2))
    side = text_json(again.subject.session.text)
    assert (side["splitting"], side["pattern"]) == ("pattern", "[ABCDEabcde]")
    assert again.publish(tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["(a)\\1", "(", "(a{999}){999}", "\\p{L}", "a" * 6000, 3])
def test_a_strangers_pattern_is_refused_in_one_line(matching, tmp_path, pattern):
    module, _, run = matching
    described = json.loads((run / "model.json").read_text())
    described["settings"]["pattern"] = pattern
    spoilt = tmp_path / "run"
    spoilt.mkdir()
    for file in run.iterdir():
        (spoilt / file.name).write_bytes(file.read_bytes())
    (spoilt / "model.json").write_text(json.dumps(described))
    with pytest.raises(rnnlens.RnnlensError, match=r"model\.json"):
        rnnlens.load(spoilt, model=module)


@pytest.mark.slow
def test_what_no_run_can_keep_of_a_pattern_has_to_be_given_again(tmp_path):
    torch.manual_seed(0)
    module = LanguageModel()
    twice = re.compile(r"(a)\1|[a-e]")
    lens = rnnlens.fit(module, batches(), WORDS, words=twice, epochs=0)
    assert list(lens("cda").words) == ["c", "d", "a"]
    lens.save(tmp_path / "run")
    with pytest.raises(rnnlens.RnnlensError, match=r"words=.*which a run cannot hold"):
        rnnlens.load(tmp_path / "run", model=module)("cde")
