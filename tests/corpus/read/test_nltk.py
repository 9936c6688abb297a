from collections.abc import Iterable, Iterator
from typing import Any

import nltk
import pytest
from nltk.corpus.reader import PlaintextCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.formats import read

LOADED = nltk.corpus.reader  # until something is asked of it, nltk.corpus is another object
Tagged = list[list[tuple[str, str | None]]]


def unmapped(error: Exception) -> Iterator[Any]:
    yield from ()
    raise error


class Plain:
    def sents(self) -> list[list[str]]:
        return [["el", "perro", "ladra"], ["sí"]]


class Reader(Plain):
    """A corpus with tags of its own and, where NLTK can map them, its universal ones."""

    def __init__(self, own: Tagged, mapped: Tagged | Exception | None = None) -> None:
        self.own, self.mapped = own, mapped

    def tagged_sents(self, tagset: str | None = None) -> Iterable[Any]:
        if tagset is None:
            return self.own
        assert tagset == "universal"
        assert self.mapped is not None, "a known tagset needs no mapping"
        if isinstance(self.mapped, TypeError):
            raise self.mapped
        return unmapped(self.mapped) if isinstance(self.mapped, Exception) else self.mapped


class Absent:
    def tagged_sents(self) -> Tagged:
        raise LookupError("Resource 'tiny' not found.\nUse the downloader.")


def sentences(patch: pytest.MonkeyPatch, reader: Any) -> list[Sentence]:
    patch.setattr("nltk.corpus.tiny", reader, raising=False)
    return list(read("nltk:tiny"))


def test_penn_tags_become_universal_and_traces_are_dropped(monkeypatch):
    own: Tagged = [
        [("Ann", "NNP"), ("wants", "VBZ"), ("*-1", "-NONE-"), ("to", "TO"), ("go", "VB")],
        [("0", "-NONE-")],
    ]
    assert sentences(monkeypatch, Reader(own)) == [
        Sentence(("Ann", "wants", "to", "go"), ("PROPN", "VERB", "PART", "VERB")),
        Sentence((), ()),
    ]


def test_brown_tags_become_universal(monkeypatch):
    own: Tagged = [
        [("The", "AT"), ("Jury", "NN-TL"), ("isn't", "BEZ*"), ("here", "RB"), (".", ".-HL")]
    ]
    assert sentences(monkeypatch, Reader(own)) == [
        Sentence(("The", "Jury", "isn't", "here", "."), ("DET", "NOUN", "VERB", "ADV", "PUNCT"))
    ]


def test_a_missing_or_rare_unknown_tag_is_x(monkeypatch):
    own: Tagged = [[("the", "AT"), ("dog", "NN"), ("hm", None), ("qu", "QQQ")]]
    assert sentences(monkeypatch, Reader(own))[0].tags == ("DET", "NOUN", "X", "X")


def test_an_unknown_tagset_is_read_through_the_mapping_of_nltk(monkeypatch):
    own: Tagged = [[("el", "da0ms0"), ("perro", "ncms000"), ("ladra", "vmip3s0"), (".", "Fp")]]
    mapped: Tagged = [[("el", "DET"), ("perro", "NOUN"), ("ladra", "VERB"), (".", ".")]]
    assert sentences(monkeypatch, Reader(own, mapped)) == [
        Sentence(("el", "perro", "ladra", "."), ("DET", "NOUN", "VERB", "PUNCT"))
    ]


@pytest.mark.parametrize(
    "error",
    [LookupError("unknown.map"), AttributeError("None has no lstrip"), TypeError("tagset?")],
    ids=lambda error: type(error).__name__,
)
def test_an_unknown_tagset_that_nltk_cannot_map_gives_plain_sentences(monkeypatch, error):
    own: Tagged = [[("el", "da0ms0"), ("perro", "ncms000"), ("ladra", "vmip3s0")]]
    assert sentences(monkeypatch, Reader(own, error)) == [
        Sentence(("el", "perro", "ladra")),
        Sentence(("sí",)),
    ]


def test_a_corpus_without_tags_gives_plain_sentences(monkeypatch):
    assert sentences(monkeypatch, Plain()) == [
        Sentence(("el", "perro", "ladra")),
        Sentence(("sí",)),
    ]


@pytest.mark.parametrize(
    "reader",
    [Absent(), LazyCorpusLoader("absent_from_every_machine", PlaintextCorpusReader, ".*")],
    ids=["on reading", "on loading"],
)
def test_data_that_is_not_installed_names_the_command_that_installs_it(monkeypatch, reader):
    with pytest.raises(RnnlensError, match=r"python -m nltk\.downloader tiny") as caught:
        sentences(monkeypatch, reader)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["no_such_corpus", "reader", "", "__name__"])
def test_what_is_no_corpus_of_sentences_is_refused(name):
    with pytest.raises(RnnlensError, match=f"no corpus of sentences called '{name}'"):
        list(read(f"nltk:{name}"))
