"""A module of somebody's own: what may be said of it, where it comes from, and its weights."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.letters import WORDS, LanguageModel
from torch import nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.user_model import (
    UserModel,
    names_of,
    user_model,
    user_model_at,
    users_code,
)
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence

GIVEN = {
    "list": WORDS,
    "tuple": tuple(WORDS),
    "numbers of names": {word: k for k, word in reversed([*enumerate(WORDS)])},
    "names of numbers": dict(reversed([*enumerate(WORDS)])),
}


@pytest.mark.parametrize("how", GIVEN)
def test_names_come_in_the_order_of_their_numbers(how):
    assert names_of(GIVEN[how], "labels=") == tuple(WORDS)


def test_names_may_be_told_one_by_one():
    assert names_of((word for word in WORDS), "labels=") == tuple(WORDS)


@given(st.lists(st.text("ab", max_size=3), unique=True, max_size=6), st.randoms())
def test_a_mapping_is_read_either_way_round(names, random):
    pairs = list(enumerate(names))
    random.shuffle(pairs)
    assert names_of(dict(pairs), "labels=") == tuple(names)
    assert names_of({name: number for number, name in pairs}, "labels=") == tuple(names)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("abc", "labels= is str; give the names as a list"),
        ({"a", "b"}, "labels= is set"),
        (frozenset("ab"), "labels= is frozenset"),
        (6, "labels= is int"),
        ({"a": 0, "b": 2}, "labels= is dict"),
        ({"a": 0, "b": 0}, "labels= is dict"),
        (["a", "b", "a"], "two names of labels= are 'a'"),
        ([1, "1"], "two names of labels= are '1'"),
    ],
)
def test_names_without_an_order_or_twice_are_refused(wrong, said):
    with pytest.raises(RnnlensError, match=said):
        names_of(wrong, "labels=")


def test_what_ends_is_kept_and_one_kind_is_one():
    made = UserModel(LanguageModel(), kinds=(name for name in ["embedding", "readout"]))
    assert made.kinds == ("embedding", "readout")
    Adapter(made)
    assert UserModel(LanguageModel(), kinds="embedding").kinds == ("embedding",)


@pytest.mark.parametrize("name", ["words", "prepare", "feed", "logits", "batches"])
def test_what_must_be_a_function_is_refused_if_it_is_none(name):
    with pytest.raises(RnnlensError, match=f"{name}= is list; give a function"):
        UserModel(LanguageModel(), **{name: ["a"]})  # type: ignore[arg-type]


def test_options_take_the_place_of_those_that_a_user_model_has():
    module = LanguageModel()
    whole = UserModel(module, WORDS, kinds=["embedding"], words=list)
    assert UserModel.of(module, labels=WORDS, kinds=["embedding"], words=list) == whole
    assert UserModel.of(whole) == whole
    other = UserModel.of(whole, kinds=["readout"])
    assert (other.kinds, other.words, other.labels) == (("readout",), list, tuple(WORDS))
    with pytest.raises(TypeError, match="colour"):
        UserModel.of(module, colour="red")


def test_a_text_must_be_split_somehow():
    with pytest.raises(RnnlensError, match="words= is NoneType"):
        UserModel(LanguageModel(), words=None)  # type: ignore[arg-type]


def test_a_module_is_taken_in_any_of_four_ways():
    module = LanguageModel()
    whole = UserModel(module, WORDS)
    for given_, labels in ((module, None), ((module, WORDS), tuple(WORDS)),
                           (whole, tuple(WORDS)), (lambda: whole, tuple(WORDS)),
                           (lambda: module, None)):  # fmt: skip
        made = user_model(given_, "model=")
        assert made.module is module
        assert made.labels == labels
    for wrong in (3, (module, WORDS, WORDS), lambda: None):
        with pytest.raises(RnnlensError, match=r"model= gave \w+; give a module, a pair"):
            user_model(wrong, "model=")


def test_weights_are_copies_and_can_be_put_back():
    one, other = UserModel(LanguageModel()), UserModel(LanguageModel())
    kept = one.weights()
    other = other.with_weights(kept)
    for name, value in other.module.state_dict().items():
        assert torch.equal(value, one.module.state_dict()[name])
    with torch.no_grad():
        for weight in one.module.parameters():
            weight.zero_()
    assert all(value.abs().max() > 0 for value in kept.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"readout.bias": None}, "the weight readout.bias is new"),
        ({"old.bias": torch.zeros(3)}, "the weight old.bias is missing"),
        ({"readout.bias": torch.zeros(7)}, "the weight readout.bias has another shape"),
    ],
)
def test_other_weights_are_refused_and_nothing_is_changed(change, said):
    own = UserModel(LanguageModel(), where="a.b:c")
    before = own.weights()
    given_ = {k: torch.zeros_like(v) for k, v in before.items()} | change
    with pytest.raises(RnnlensError, match=f"a.b:c is not what the run .*{said}"):
        own.with_weights({k: v for k, v in given_.items() if v is not None})
    assert all(torch.equal(value, before[name]) for name, value in own.weights().items())


def test_whatever_goes_wrong_in_somebodys_code_is_one_line():
    with (
        pytest.raises(RnnlensError, match=r"^it failed: ValueError: one two \(.*model.py, line"),
        users_code("it"),
    ):
        raise ValueError("one\n  two")
    with pytest.raises(RnnlensError, match=r"KeyError: no reason given"), users_code("it"):
        raise KeyError
    with pytest.raises(RnnlensError, match=r"test_user_model.py, line"), users_code("it"):
        json.loads("{")  # whose own line, in Python's library, tells nothing
    with pytest.raises(RnnlensError, match=r"^as it is$"), users_code("it"):
        raise RnnlensError("as it is")
    with pytest.raises(ImportError), users_code("it", ImportError):
        raise ImportError


CODE = """
from torch import nn
from tests.letters import WORDS, LanguageModel
from rnnlens.adapter.user_model import UserModel

class Failing(LanguageModel):
    def forward(self, words):
        raise ValueError("no forward")

def right(): return UserModel(LanguageModel(), WORDS)
def broken(): return {}["a"]
def nothing(): return None
def failing(): return Failing(), WORDS
def later(what):
    yield 1 / 0
def lazy():
    return UserModel(
        LanguageModel(), WORDS, words=later, batches=later,
        prepare=lambda ids: 1 / 0, logits=lambda output: 1 / 0,
    )
class Inside:
    module = LanguageModel()
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"somebodys_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    (tmp_path / f"{name}_broken.py").write_text("1 / 0")
    (tmp_path / f"{name}_needy.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_a_factory_is_found_by_its_name(code):
    made = user_model_at(f"{code}:right")
    assert made.where == f"{code}:right"
    assert made.labels == tuple(WORDS)
    assert made.split("a b") == ["a", "b"]
    assert made.prepare is made.logits is made.batches is None
    assert isinstance(user_model_at(f"{code}:Inside.module").module, nn.Module)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("{}", "names no model; write package.module:factory"),
        (":right", "names no model"),
        ("{}:wrong", "has no wrong; name a function that is there"),
        ("{}:Inside.other", "has no Inside.other"),
        ("{}_none:right", r"cannot import \w+ \(No module named .*--path FOLDER"),
        ("{}_needy:right", "cannot import .*not_there_at_all"),
        ("{}_broken:right", r"_broken failed: ZeroDivisionError: .*_broken.py, line 1\)"),
        ("{}:broken", r":broken failed: KeyError: 'a' \(.*\.py, line 11\)"),
        ("{}:nothing", ":nothing gave NoneType; give a module"),
    ],
)
def test_a_factory_that_gives_no_module_is_told_in_one_line(code, where, said):
    with pytest.raises(RnnlensError, match=said) as caught:
        user_model_at(where.format(code))
    assert "\n" not in str(caught.value)


def test_errors_of_a_factorys_functions_are_told_in_one_line(code):
    made = user_model_at(f"{code}:lazy")
    assert made.prepare
    assert made.logits
    assert made.batches
    for name, call in (("words", lambda: made.split("a")), ("prepare", lambda: made.prepare([1])),
                       ("logits", lambda: made.logits(1)),
                       ("batches", lambda: made.batches([Sentence(("a",))]))):  # fmt: skip
        with pytest.raises(RnnlensError, match=f"{name}= of {code}:lazy failed: ZeroDivision"):
            call()


def test_a_forward_is_told_in_one_line_of_a_factory_or_not(code):
    words = torch.randint(6, (2, 3))
    with pytest.raises(
        RnnlensError, match=r"the forward of Failing failed: ValueError: no forward"
    ):
        Adapter(user_model_at(f"{code}:failing")).trace(words)
    plain = UserModel(user_model_at(f"{code}:failing").module)
    with pytest.raises(RnnlensError, match=r"failed: ValueError: no forward \(.*\); it was given"):
        Adapter(plain).trace(words)
