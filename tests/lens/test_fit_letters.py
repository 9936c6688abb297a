"""A run whose words are letters keeps that: it opens and is published without a function."""

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
