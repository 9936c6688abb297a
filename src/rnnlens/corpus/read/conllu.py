"""CoNLL-U, the format of Universal Dependencies."""

from collections.abc import Iterator
from pathlib import Path

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.labels import TAG, WORDS, Asked, column
from rnnlens.corpus.read.source import lines
from rnnlens.corpus.sentence import Sentence
from rnnlens.labels.tags import universal

_NAMES = "id form lemma upos xpos feats head deprel deps misc".split()
FIELDS = len(_NAMES)


def read_conllu(path: Path, encoding: str, asked: Asked = WORDS) -> Iterator[Sentence]:
    """Words with their UPOS, or where that is missing the universal part of their XPOS.

    A multiword token is represented by its syntactic words; empty nodes are left out. A sentence
    without a single known tag is untagged. Labels are UPOS too, unless another field is asked for.
    """
    words: list[str] = []
    tags: list[str | None] = []
    labels: list[str] | None = [] if asked.task == TAG else None
    form_at, label_at = (
        column(name, _NAMES, FIELDS, flag, str(path))
        for name, flag in (
            (asked.text or "form", "--text-column"), (asked.label or "upos", "--label-column")
        )
    )  # fmt: skip
    for number, line in enumerate(lines(path, encoding), 1):
        if not line.strip():
            if words:
                yield _sentence(words, tags, labels)
                words, tags, labels = [], [], None if labels is None else []
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != FIELDS:
            raise RnnlensError(
                f"{path}, line {number}: CoNLL-U needs {FIELDS} fields separated by tabs, "
                f"this line has {len(fields)}; mend the line or give --format"
            )
        index, form, upos, xpos = fields[0], fields[form_at], fields[3], fields[4]
        if index.isdecimal():
            words.append(form)
            tags.append(universal(upos) or universal(xpos))
            if labels is not None:
                labels.append(_label(fields[label_at], f"{path}, line {number}: {form!r}"))
        elif not _is_range_or_empty(index):
            raise RnnlensError(
                f"{path}, line {number}: {index!r} is no word number (1, 1-2 or 1.1); mend the line"
            )
    if words:
        yield _sentence(words, tags, labels)


def _sentence(words: list[str], tags: list[str | None], labels: list[str] | None) -> Sentence:
    parts = tuple(tag or "X" for tag in tags) if any(tags) else None
    return Sentence(tuple(words), parts, None if labels is None else tuple(labels))


def _label(field: str, where: str) -> str:
    """The label in a field; an underscore stands for nothing."""
    if field in ("", "_"):
        raise RnnlensError(f"{where} has no label; mend the line or give another --label-column")
    return field


def _is_range_or_empty(index: str) -> bool:
    first, _, last = index.replace(".", "-", 1).partition("-")
    return first.isdecimal() and last.isdecimal()
