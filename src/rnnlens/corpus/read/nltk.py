"""Any corpus NLTK knows by name, read through NLTK: nltk:brown, nltk:treebank, ..."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.task import NEXT, TAG, Task
from rnnlens.labels.parts_of_speech import universal

_PREVIEW = 200


def read_nltk(name: str, task: Task) -> Iterator[Sentence]:
    """Tagged sentences; where NLTK has no tags for a corpus, its plain sentences."""
    import nltk.corpus

    if task.name not in (NEXT, TAG):
        raise RnnlensError(
            f"nltk:{name} is read as sentences, which have no labels to {task.name}; give a table "
            "or folders of texts"
        )

    reader: Any = getattr(nltk.corpus, name, None)
    try:  # NLTK looks for the data at the first use of a corpus, even by hasattr
        if not (hasattr(reader, "tagged_sents") or hasattr(reader, "sents")):
            raise RnnlensError(f"NLTK has no corpus of sentences called {name!r}; try nltk:brown")
        tagged = _tagged(reader) if hasattr(reader, "tagged_sents") else None
        if tagged is None and task.name == TAG:
            raise RnnlensError(f"nltk:{name} has no tags that could be learnt; try nltk:brown")
        if tagged is None:
            for sent in reader.sents():
                yield Sentence(tuple(sent))
            return
        for sent in tagged:
            pairs = [(word, tag) for word, tag in sent if tag != "-NONE-"]
            words = tuple(word for word, _ in pairs)
            parts = tuple(universal(tag or "") or "X" for _, tag in pairs)
            each = zip((tag or "X" for _, tag in pairs), parts, strict=True)
            labels = tuple(task.of_tag(*one) for one in each) if task.name == TAG else None
            yield Sentence(words, parts, labels)
    except LookupError as error:
        raise RnnlensError(
            f"the data of nltk:{name} is not on this machine; install it with: "
            f"python -m nltk.downloader {name} universal_tagset"
        ) from error


def _tagged(reader: Any) -> Any:
    """The tagged sentences of a corpus, with its tags if they are of a known tagset.

    Otherwise with NLTK's mapping of them to its universal tagset; None where it has no mapping.
    """
    preview = [tag for sent in islice(reader.tagged_sents(), _PREVIEW) for _, tag in sent]
    known = sum(tag == "-NONE-" or universal(tag or "") is not None for tag in preview)
    if known >= len(preview) / 2:
        return reader.tagged_sents()
    try:
        mapped = reader.tagged_sents(tagset="universal")
        next(iter(mapped), None)  # NLTK looks for the mapping only when it is used
    except (LookupError, AttributeError, TypeError):  # no such mapping, or the corpus takes none
        return None
    return mapped
