"""Suites: items of sentences that are told apart by how much their words surprise, and files of
them.

An item has a sentence for each of its conditions, cut into regions, and a prediction about these. A
minimal pair is an item with two conditions, *good* and *bad*, of one region each. Three forms of
files are read: JSON lines of minimal pairs, as BLiMP has them; SyntaxGym's JSON; and templates, of
which `rnnlens.lab.template` tells.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.text_files import check_swelling, json_lines, json_object, lines
from rnnlens.lab.formula import WHOLE, Formula, parsed_formula
from rnnlens.lab.template import Template, read_templates

GOOD, BAD = "good", "bad"
UNKNOWN = LEAVE, KEEP = "leave", "keep"  # what is done with items that have unknown words
METRICS = ("sum", "mean", "max", "min")
MOST_ITEMS = 1_000_000
_MOST_REGIONS, _MOST_CONDITIONS, _MOST_PREDICTIONS = 200, 100, 100
_LONGEST_NAME, _LONGEST_TEXT = 200, 10_000  # letters
_SWELLING = 200  # times that a gzipped suite may swell
_BUILT_IN = Path(__file__).parent / "built_in"
PAIR = parsed_formula(f"(*;%{GOOD}%) < (*;%{BAD}%)")
_TEMPLATES = 2_000  # items that are made of a template at most


@dataclass(frozen=True)
class Item:
    """Sentences that are told apart."""

    paradigm: str
    number: int  # within its paradigm
    sentences: Mapping[str, tuple[str, ...]]  # by condition, the texts of regions
    prediction: Formula = PAIR
    condition: str = ""  # what sort of item of the paradigm it is
    metric: str = METRICS[0]  # how the surprisals of a region's words are put together
    #: What of a region has to be known to tell whether two items belong together: those that do
    #: have the same name; empty: none does.
    couple: str = ""


@dataclass(frozen=True)
class Suite:
    """Some items, and where they are from."""

    name: str
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def built_in() -> tuple[str, ...]:
    """The names of the suites that come with the package."""
    return tuple(sorted(path.stem for path in _BUILT_IN.glob("*.suite")))


def check_seed(seed: int) -> None:
    """Refuse what nothing can be drawn by."""
    if not 0 <= seed < 2**63:
        raise RnnlensError(f"seed={seed}: give a whole number from 0 to 2^63 - 1")


def read_suite(source: str | Path, seed: int = 0, most: int = _TEMPLATES) -> Suite:
    """The suite of a file, or one that comes with the package, by its name.

    Of each template at most so many items are made, drawn at random where there are more.
    """
    check_seed(seed)
    if most < 1:
        raise RnnlensError(f"most={most}: give a number of items from 1 up")
    path = Path(source)
    if str(source) in built_in():
        path = _BUILT_IN / f"{source}.suite"
    elif not path.is_file():
        known = ", ".join(built_in())
        raise RnnlensError(f"there is no suite {str(source)!r}; give a file, or one of {known}")
    check_swelling(path, _SWELLING)
    if first := _first(path):
        if not first.startswith("{"):
            return _of_templates(path, seed, most)
        return _of_json(path)
    raise RnnlensError(f"{path} is empty; give a suite: JSON lines of pairs, or templates")


def _first(path: Path) -> str:
    """The first line that is not blank."""
    return next((line.strip() for line in lines(path, "utf-8") if line.strip()), "")


def _of_templates(path: Path, seed: int, most: int) -> Suite:
    templates = read_templates(path)
    items, counts = list[Item](), Counter[str]()
    for template in templates:
        made = list(_made(template, seed, most, counts[template.paradigm]))
        counts[template.paradigm] += len(made)
        items += made
    return Suite(path.stem, tuple(items))


def _made(template: Template, seed: int, most: int, number: int) -> Iterator[Item]:
    """The items of a template, numbered on from those of its paradigm that are there: of a choice
    that has to agree with another, two for each draw.
    """
    measured = parsed_formula(f"(2;%{GOOD}%) < (2;%{BAD}%)")
    for draw in template.draws(seed, most):
        for side in range(2 if template.agrees else 1):
            good, bad = template.sentence(draw, side), template.other(draw, side)
            yield Item(
                template.paradigm, number, {GOOD: good, BAD: bad},
                measured if template.measured else PAIR, template.condition(draw, side),
                couple=f"{template.paradigm} {number - side}" if template.agrees else "",
            )  # fmt: skip
            number += 1


def _of_json(path: Path) -> Suite:
    """JSON lines, each a minimal pair or a suite of SyntaxGym; or one such over many lines."""
    records: Iterable[tuple[str, dict[str, Any]]] = json_lines(path, "utf-8")
    if json_object(_first(path)) is None:
        whole = json_object("\n".join(lines(path, "utf-8")))
        if whole is None:
            raise RnnlensError(f"{path} begins like JSON and is none; mend it")
        records = [(str(path), whole)]
    items, counts = list[Item](), dict[str, int]()
    for where, record in records:
        new = _suite_items(record, where) if "items" in record else [_pair(record, where, path)]
        for item in new:
            number = counts[item.paradigm] = counts.get(item.paradigm, -1) + 1
            items.append(item if "items" in record else _numbered(item, number))
        if len(items) > MOST_ITEMS:
            raise RnnlensError(f"{path} has more than {MOST_ITEMS:,} items; give fewer")
    if not items:
        raise RnnlensError(f"{path} has no item; give JSON lines of pairs")
    return Suite(path.name.partition(".")[0], tuple(items))


def _numbered(item: Item, number: int) -> Item:
    return Item(item.paradigm, number, item.sentences, item.prediction, item.condition)


def _pair(record: Mapping[str, Any], where: str, path: Path) -> Item:
    """A minimal pair: sentence_good, sentence_bad, and if it has them UID and linguistics_term."""
    texts = []
    for name in ("sentence_good", "sentence_bad"):
        if not isinstance(record.get(name), str) or not record[name].strip():
            has = ", ".join(list(map(str, record))[:6])
            raise RnnlensError(
                f"{where}: a minimal pair has sentence_good and sentence_bad, and this line has "
                f"{has[:200] or 'nothing'}; rename its columns"
            )
        texts.append(_text(record[name], where))
    name = record.get("UID", path.name.partition(".")[0])
    about = record.get("linguistics_term", "")
    return Item(
        _name(name, where), 0, {GOOD: (texts[0],), BAD: (texts[1],)},
        condition=about if isinstance(about, str) else "",
    )  # fmt: skip


def _suite_items(record: Mapping[str, Any], where: str) -> list[Item]:
    """The items of a suite of SyntaxGym, one for each of its predictions."""
    about = record.get("meta") if isinstance(record.get("meta"), dict) else {}
    name = _name((about or {}).get("name"), where)
    where = f"{where}, suite {name}"
    metric = (about or {}).get("metric", METRICS[0])
    if metric not in METRICS:
        raise RnnlensError(
            f"{where}: its metric {metric!r} is none of {', '.join(METRICS)}; mend it"
        )
    formulas = [_formula(one, where) for one in _list(record, "predictions", where)]
    if not 0 < len(formulas) <= _MOST_PREDICTIONS:
        raise RnnlensError(f"{where}: it has {len(formulas)} predictions; give 1 to 100")
    items = list[Item]()
    for place, one in enumerate(_list(record, "items", where)):
        number = one.get("item_number", place + 1) if isinstance(one, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            raise RnnlensError(f"{where}: item {place + 1} has no item_number; give it one")
        sentences = dict(_conditions(one, f"{where}, item {number}"))
        for k, formula in enumerate(formulas):
            _check_regions(formula, sentences, f"{where}, item {number}")
            condition = f"prediction {k + 1}" if len(formulas) > 1 else ""
            items.append(Item(name, number, sentences, formula, condition, metric))
    return items


def _check_regions(formula: Formula, sentences: Mapping[str, tuple[str, ...]], where: str) -> None:
    for region, condition in formula.regions:
        if condition not in sentences:
            raise RnnlensError(
                f"{where}: its prediction names the condition {condition!r}, and there is "
                f"{', '.join(sentences)[:200]}; mend one of them"
            )
        if region > len(sentences[condition]):
            raise RnnlensError(
                f"{where}: its prediction names region {region} of {condition}, which has "
                f"{len(sentences[condition])}; mend one of them"
            )
        if region == WHOLE:
            continue


def _formula(one: object, where: str) -> Formula:
    text = one.get("formula") if isinstance(one, dict) else None
    if not isinstance(text, str):
        raise RnnlensError(f"{where}: a prediction has no formula; give it one")
    try:
        return parsed_formula(text)
    except RnnlensError as error:
        raise RnnlensError(f"{where}: {error}") from error


def _conditions(item: Mapping[str, Any], where: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The conditions of an item by name, each as the texts of its regions, in their order."""
    conditions = _list(item, "conditions", where)
    if not 0 < len(conditions) <= _MOST_CONDITIONS:
        raise RnnlensError(f"{where}: it has {len(conditions)} conditions; give 1 to 100")
    for one in conditions:
        if not isinstance(one, dict):
            raise RnnlensError(f"{where}: a condition is no object; mend it")
        name = _name(one.get("condition_name"), where)
        regions = _list(one, "regions", f"{where}, {name}")
        if not 0 < len(regions) <= _MOST_REGIONS:
            raise RnnlensError(f"{where}, {name}: it has {len(regions)} regions; give 1 to 200")
        numbers = [r.get("region_number") if isinstance(r, dict) else None for r in regions]
        if numbers != list(range(1, len(regions) + 1)):
            raise RnnlensError(
                f"{where}, {name}: its regions are not numbered from 1 on; mend them"
            )
        yield name, tuple(_text(r.get("content"), f"{where}, {name}") for r in regions)


def _list(record: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        raise RnnlensError(f"{where}: it has no list of {name}; mend it")
    return value


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise RnnlensError(f"{where}: it has no name of at most {_LONGEST_NAME} letters; give one")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise RnnlensError(f"{where}: it has no text of at most {_LONGEST_TEXT:,} letters; mend it")
    return value
