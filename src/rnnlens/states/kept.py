"""What a folder of states holds, understood: kinds of states, which rows belong together, what each
row is called, and what its states may be asked for. States stay in their files.
"""

import hashlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import damaged
from rnnlens.base.rules import count, message
from rnnlens.states.arrays import REMEDY, Column, Stored, is_float
from rnnlens.states.npz_file import npz_part
from rnnlens.states.part import LENGTHS, TARGETS, TEXT_BYTES, WORDS, RawPart, Y
from rnnlens.states.safetensors_file import safetensors_part
from rnnlens.states.unpack import unpacked

FORMATS = {
    ".safetensors": "safetensors", ".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5",
    ".parquet": "parquet",
}  # fmt: skip
OUTPUT, INPUT = "output", "input"
STRETCH = 64  # steps of a sequence, where a stream says nothing of where sequences end
MOST_KINDS, WIDEST = 4096, 1 << 20
_MOST_LABELS = 5_000_000
_MOST_FILES = 100_000
_KIND = re.compile(r"[\w.</#\[\]+-]{1,100}")
_TARGET = re.compile(r"[a-z][a-z0-9_]{0,30}")
_SAMPLED = 64  # rows of each kind that tell states from others
_BY_NUMBER = re.compile(r"#(\d{1,12})", re.ASCII)

Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class Target:
    """What every row may be asked for: a label, (N,) whole numbers of which negative ones are none;
    a number, (N,) floats of which NaN is none; or a set of labels, (N, L).
    """

    values: NDArray[Any]
    names: tuple[str, ...]  # of the labels; none for numbers
    of_sequences: bool = False  # whether all rows of a sequence have the same

    @property
    def is_number(self) -> bool:
        """Whether numbers are asked for."""
        return is_float(self.values.dtype)

    @property
    def is_set(self) -> bool:
        """Whether several labels may hold at once."""
        return self.values.ndim == 2


@dataclass(frozen=True, eq=False)
class Kept:
    """Sequences that were recorded: sequence k has the rows starts[k]..starts[k + 1] - 1."""

    path: Path
    kinds: Mapping[str, Column]  # from input to output
    starts: NDArray[np.int64]
    targets: Mapping[str, Target]
    words: NDArray[Any] | None = None  # (N,) numbers of names, or floats that are shown themselves
    names: tuple[str, ...] = ()  # of words
    y: Column | None = None  # the network's own logits, where these were recorded
    room: Any = field(default=None, repr=False)  # a folder that goes with it

    @property
    def rows(self) -> int:
        """Of all sequences."""
        return int(self.starts[-1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def has_names(self) -> bool:
        """Whether rows have words, and not only numbers."""
        return self.words is not None and not is_float(self.words.dtype)

    def word(self, row: int) -> str:
        """What a row is called: its word, its number, or its step."""
        if self.words is None:
            return str(row - int(self.starts[np.searchsorted(self.starts, row, "right") - 1]))
        value = self.words[row]
        return f"{float(value):.6g}" if is_float(self.words.dtype) else self.names[value]

    def span(self, number: int) -> range:
        """The rows of a sequence."""
        return range(int(self.starts[number]), int(self.starts[number + 1]))

    def words_of(self, number: int) -> tuple[str, ...]:
        """What the rows of a sequence are called."""
        return tuple(self.word(row) for row in self.span(number))

    def text(self, number: int) -> str:
        """What finds a sequence again: its words, where no earlier one has the same; or its number,
        such as #12.
        """
        if self.has_names:
            text = " ".join(self.words_of(number))
            if len(text) <= 2000 and not set("{|}\\") & set(text) and self._first(text) == number:
                return text
        return f"#{number}"

    def number(self, text: str) -> int:
        """The sequence of a text, which is a number such as #12 or the words of one."""
        if given := _BY_NUMBER.fullmatch(text.strip()):
            if int(given[1]) < len(self):
                return int(given[1])
            raise RnnlensError(
                message("no_recorded_number", text=f"#{given[1]}", last=len(self) - 1)
            )
        found = self._first(" ".join(text.split()))
        if found is None:
            most = count("quoted_edit")
            raise RnnlensError(
                message("no_recorded_text", text=repr(text[:most]), last=len(self) - 1)
            )
        return found

    def found(self, find: str) -> NDArray[np.int64]:
        """The sequences of which some word begins with each of these; of #12, that one; of nothing,
        all.
        """
        if given := _BY_NUMBER.fullmatch(find.strip()):
            return np.arange(len(self))[int(given[1]) : int(given[1]) + 1]
        keep = np.ones(len(self), bool)
        for word in find.lower().split():
            if self.words is None or not self.has_names:
                return np.arange(0)
            begins = np.array([name.lower().startswith(word) for name in self.names], bool)
            keep &= np.logical_or.reduceat(begins[self.words], self.starts[:-1])
        return np.flatnonzero(keep)

    def _first(self, text: str) -> int | None:
        """The first sequence that has these words; None where there is none."""
        if not self.has_names:
            return None
        order, sums = self._index
        at = int(np.searchsorted(sums, _sum(text)))
        while at < len(sums) and sums[at] == _sum(text):
            number = int(order[at])
            if " ".join(" ".join(self.words_of(number)).split()) == text:
                return number
            at += 1
        return None

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The sequences in the order of their sums, by which one is found among millions."""
        sums = np.array(
            [_sum(" ".join(" ".join(self.words_of(k)).split())) for k in range(len(self))],
            np.uint64,
        )
        order = np.argsort(sums, kind="stable")
        return order, sums[order]

    @cached_property
    def sha256(self) -> str:
        """What tells these states from others: words, lengths, targets, and some rows of each kind
        in full; 10 GB would take long to read for it.
        """
        sha = hashlib.sha256()
        for name, values in (("lengths", self.starts), ("words", self.words)):
            sha.update(f"{name} {None if values is None else values.dtype}".encode())
            if values is not None:
                sha.update(np.ascontiguousarray(values).data)
        sha.update("\0".join(self.names).encode("utf-8", "surrogatepass"))
        for name, target in self.targets.items():
            sha.update(f"{name} {target.names}".encode("utf-8", "surrogatepass"))
            sha.update(np.ascontiguousarray(target.values).data)
        some = np.unique(np.linspace(0, self.rows - 1, _SAMPLED).astype(int))
        for kind, column in {**self.kinds, **({Y: self.y} if self.y else {})}.items():
            sha.update(f"{kind} {len(column)} {column.width}".encode())
            for row in some:
                sha.update(column.rows(int(row), int(row) + 1).data)
        return sha.hexdigest()


def _sum(text: str) -> np.uint64:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def opened(
    path: str | Path,
    *,
    words: Sequence[str] | None = None,
    targets: Mapping[str, Sequence[str]] | None = None,
    end: str | None = None,
) -> Kept:
    """The states of a folder or a file.

    `words` and `targets` name numbers that the files do not name; `end` is the word after which a
    sequence ends, where no lengths are recorded.
    """
    place = Path(path)
    room = Path(tempfile.mkdtemp(prefix="rnnlens-states-"))
    try:
        parts = _parts(place, room)
        given = {**({WORDS: list(words)} if words is not None else {}),
                 **{name: list(names) for name, names in (targets or {}).items()}}  # fmt: skip
        kept = _Understood(place, parts, given, end).kept(room)
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    weakref.finalize(kept, shutil.rmtree, room, ignore_errors=True)
    return kept


def _parts(place: Path, room: Path) -> list[RawPart]:
    """What the files of a folder hold, one after the other."""
    try:
        files = sorted(place.iterdir())[:_MOST_FILES] if place.is_dir() else [place]
    except OSError as error:
        raise damaged(place, error, "have its owner allow it") from error
    known = [path for path in files if path.suffix in FORMATS and path.name[0] != "."]
    forms = {FORMATS[path.suffix] for path in known}
    if not place.exists() or len(forms) != 1:
        found = " and ".join(sorted(forms)) or "none"
        raise RnnlensError(
            f"{place} is no folder of states: it must hold files of one of safetensors, npz, hdf5 "
            f"or parquet, and has {found if place.exists() else 'never been made'}"
        )
    form = forms.pop()
    if form == "safetensors":
        return [safetensors_part(path) for path in known]
    if form == "npz":
        return [npz_part(path, room) for path in known]
    return unpacked(form, known, room)


class _Understood:
    """The parts of a folder, each array put where it belongs."""

    def __init__(
        self, path: Path, parts: Sequence[RawPart], given: Mapping[str, list[str]], end: str | None
    ) -> None:
        self.path, self.given, self.end = path, given, end
        self.parts = [_in_time(part) for part in parts]
        first = self.parts[0]
        for part in self.parts[1:]:
            if part.steps != first.steps:
                raise RnnlensError(f"{part.path} has sequences of another length; give lengths")
            if other := {*part.arrays} ^ {*first.arrays}:
                raise RnnlensError(
                    f"{part.path} and {first.path.name} are not alike: only one has "
                    f"{min(other)[:80]!r}; give all parts the same arrays"
                )
        self.kinds = {
            name: Column([part.arrays[name] for part in self.parts])
            for name, one in first.arrays.items()
            if _is_states(name, one)
        }
        self._check_kinds()
        self.rows = [part.arrays[next(iter(self.kinds))].shape[0] for part in self.parts]
        if sum(self.rows) < 2:
            raise RnnlensError(f"{path} has {sum(self.rows)} rows of states; record more")
        if sum(self.rows) >= 1 << 31:
            raise RnnlensError(f"{path} has over two thousand million rows; record fewer")

    def _check_kinds(self) -> None:
        first = self.parts[0]
        if not {*self.kinds} - {Y}:
            there = ", ".join(
                f"{n[:40]} {one.dtype} {one.shape}" for n, one in list(first.arrays.items())[:8]
            )
            raise RnnlensError(
                f"{self.path} has no states: arrays of floats with two axes, (rows, units); it has "
                f"{there or 'nothing'}"
            )
        if len(self.kinds) > MOST_KINDS:
            raise RnnlensError(f"{self.path} has {len(self.kinds):,} kinds; give at most 4,096")
        for name in self.kinds:
            if not _KIND.fullmatch(name):
                raise RnnlensError(
                    f"{self.path}: a kind cannot be called {name[:80]!r}; use letters, digits and "
                    "._-/, at most 100"
                )
        for part in self.parts:
            rows = part.arrays[next(iter(self.kinds))].shape[0]
            for name, column in self.kinds.items():
                array = part.arrays[name]
                if array.shape[0] != rows or array.shape[1] != column.width:
                    raise RnnlensError(
                        f"{part.path}: {name} has the shape {array.shape}, and another array of "
                        f"states {rows:,} rows; give every kind as many rows, of one width"
                    )
                if not 1 <= column.width <= WIDEST:
                    raise RnnlensError(f"{part.path}: {name} has states of {column.width:,} units")

    def kept(self, room: Path) -> Kept:
        words, names = self._words()
        starts = self._starts(words, names)
        targets = {
            name: self._target(name, array, starts) for name, array in self._target_arrays().items()
        }
        known = {*self.kinds, *(f"{TARGETS}.{n}" for n in targets), LENGTHS, WORDS}
        known |= {f"{TARGETS}/{n}" for n in targets} | {TARGETS}
        if odd := [n for n in self.parts[0].arrays if n not in known]:
            one = self.parts[0].arrays[odd[0]]
            raise RnnlensError(
                f"{self.path}: {odd[0][:80]!r}, {one.dtype} {one.shape}, is neither states, which "
                "are floats (rows, units), nor lengths, words or targets.NAME; leave it out"
            )
        strange = [name for name in self.given if name != WORDS and name not in targets]
        if strange:
            raise RnnlensError(
                f"targets= names {strange[0]!r}, and {self.path} has targets for "
                f"{', '.join(targets) or 'nothing'}"
            )
        kinds = {name: column for name, column in self.kinds.items() if name != Y}
        return Kept(self.path, kinds, starts, targets, words, names, self.kinds.get(Y), room)

    def _loaded(self, name: str) -> list[NDArray[Any]]:
        """A small array, in memory, part by part."""
        found = []
        for part in self.parts:
            array = part.arrays[name]
            if array.size > 4 * TEXT_BYTES:
                raise RnnlensError(f"{part.path}: {name[:80]!r} has {array.size:,} bytes, too many")
            found.append(array.rows(0, array.shape[0]))
        return found

    def _words(self) -> tuple[NDArray[Any] | None, tuple[str, ...]]:
        """The number of every row's word, and what the numbers mean."""
        if WORDS not in self.parts[0].arrays:
            return None, ()
        every = self._loaded(WORDS)
        for values, rows, part in zip(every, self.rows, self.parts, strict=True):
            if values.shape != (rows,):
                raise RnnlensError(
                    f"{part.path}: words has the shape {values.shape}, and states {rows:,} rows; "
                    "give a word for each"
                )
        if is_float(every[0].dtype):
            numbers = np.concatenate(every).astype(np.float64)
            if not np.isfinite(numbers).all():
                raise RnnlensError(f"{self.path}: a word is {numbers[~np.isfinite(numbers)][0]}")
            return numbers, ()
        return self._named(WORDS, every)

    def _named(self, name: str, every: list[NDArray[Any]]) -> tuple[Numbers, tuple[str, ...]]:
        """Numbers of all parts under the same names; texts become numbers."""
        index: dict[str, int] = {}
        found = []
        for values, part in zip(every, self.parts, strict=True):
            if values.dtype.kind == "U":
                numbers, names = _different(part.path, name, values)
            else:
                names = self.given.get(name) or part.names.get(name) or []
                numbers = values.astype(np.int64)
                most = int(numbers.max(initial=-1))
                if most >= 1 << 31 or int(numbers.min(initial=0)) < -(1 << 31):
                    raise RnnlensError(f"{part.path}: a number of {name} is {most:,}; too large")
                if names and most >= len(names):
                    raise RnnlensError(
                        f"{part.path}: a number of {name} is {most:,}, and {len(names):,} are "
                        "named, from 0; name all"
                    )
                if name == WORDS and int(numbers.min(initial=0)) < 0:
                    raise RnnlensError(f"{part.path}: a word is {int(numbers.min())}; give numbers "
                                       "from 0 up")  # fmt: skip
                if not names:
                    _check_count(part.path, name, most + 1)
                    names = [str(k) for k in range(most + 1)]
            _check_names(part.path, name, names)
            place = np.array([index.setdefault(one, len(index)) for one in names] + [-1])
            found.append(place[np.where(numbers < 0, -1, numbers)].astype(np.int32))
        _check_count(self.path, name, len(index))
        return np.concatenate(found), tuple(index)

    def _starts(self, words: NDArray[Any] | None, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Where sequences begin."""
        if LENGTHS in self.parts[0].arrays or self.parts[0].steps:
            return _starts_of(self.path, self._lengths())
        total = sum(self.rows)
        if self.end is not None:
            if words is None or self.end not in names:
                raise RnnlensError(f"end={self.end!r} is no word of {self.path}; name one that is")
            ends = np.flatnonzero(words == names.index(self.end)) + 1
            return np.unique(np.concatenate([[0], ends, [total]])).astype(np.int64)
        return np.append(np.arange(0, total, STRETCH), total).astype(np.int64)

    def _lengths(self) -> NDArray[np.int64]:
        if steps := self.parts[0].steps:
            return np.full(sum(self.rows) // steps, steps, np.int64)
        every = self._loaded(LENGTHS)
        for lengths, rows, part in zip(every, self.rows, self.parts, strict=True):
            if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
                raise RnnlensError(f"{part.path}: lengths must be whole numbers on one axis")
            if len(lengths) and int(lengths.min()) < 1:
                raise RnnlensError(
                    f"{part.path}: a sequence has the length {int(lengths.min())}; give 1 or more"
                )
            if sum(map(int, lengths)) != rows:
                raise RnnlensError(
                    f"{part.path}: lengths add up to {sum(map(int, lengths)):,}, and states have "
                    f"{rows:,} rows; give the length of each sequence"
                )
        return np.concatenate([lengths.astype(np.int64) for lengths in every])

    def _target_arrays(self) -> dict[str, str]:
        """By semantic, the arrays of targets."""
        found = {}
        for name in self.parts[0].arrays:
            if name == TARGETS or name.startswith((f"{TARGETS}.", f"{TARGETS}/")):
                semantic = name[len(TARGETS) + 1 :] or OUTPUT
                if not _TARGET.fullmatch(semantic) or semantic == INPUT:
                    raise RnnlensError(
                        f"{self.path}: a target cannot be called {semantic[:80]!r}; use small "
                        "letters, digits and _, as in targets.tag"
                    )
                found[semantic] = name
        return found

    def _target(self, name: str, array: str, starts: NDArray[np.int64]) -> Target:
        every = self._loaded(array)
        joined = every[0] if len(every) == 1 else _joined(self.path, name, every)
        count, rows = len(starts) - 1, int(starts[-1])
        if len(joined) not in (rows, count) or joined.ndim > 2:
            raise RnnlensError(
                f"{self.path}: {array[:80]} has the shape {joined.shape}, and there are {rows:,} "
                f"rows in {count:,} sequences; give a target for each row or for each sequence"
            )
        of_sequences = len(joined) == count != rows
        values: NDArray[Any]
        names: tuple[str, ...]
        if joined.ndim == 2:
            values, names = self._sets(name, joined)
        elif is_float(joined.dtype):
            values, names = _floats(self.path, name, joined), ()
        else:
            values, names = self._named(name, every)
            if int(values.max(initial=-1)) < 0:
                raise RnnlensError(f"{self.path}: no row has a target {name}; record some")
            if len(names) < 2:
                raise RnnlensError(
                    f"{self.path}: targets {name} have a single label, so that there is nothing to "
                    "tell apart; give more"
                )
        if of_sequences:
            values = np.repeat(values, np.diff(starts), axis=0)
        return Target(values, names, of_sequences)

    def _sets(self, name: str, joined: NDArray[Any]) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
        names = self.given.get(name) or self.parts[0].names.get(name)
        names = names or [str(k) for k in range(joined.shape[1])]
        _check_names(self.path, name, names)
        if len(names) != joined.shape[1] or not np.isin(joined, (0, 1)).all():
            raise RnnlensError(
                f"{self.path}: targets {name} have {joined.shape[1]} columns and {len(names)} "
                "names; a set has a 0 or a 1 for each label"
            )
        return joined.astype(np.uint8), tuple(names)


def _is_states(name: str, array: Stored) -> bool:
    reserved = name in (LENGTHS, WORDS, TARGETS) or name.startswith((f"{TARGETS}.", f"{TARGETS}/"))
    return not reserved and array.is_float and len(array.shape) == 2


def _in_time(part: RawPart) -> RawPart:
    """A part whose arrays of three axes, (sequences, steps, units), are rows in their order."""
    shapes = {one.shape[:2] for one in part.arrays.values() if len(one.shape) == 3}
    if not shapes:
        return part
    if len(shapes) > 1 or LENGTHS in part.arrays:
        raise RnnlensError(
            f"{part.path}: arrays of three axes are sequences of one length; give (rows, units) "
            "and the lengths of sequences"
        )
    count, steps = shapes.pop()
    if not count * steps:
        raise RnnlensError(f"{part.path} has no rows; record some")

    def flat(one: Stored) -> Stored:
        if one.shape[:2] != (count, steps):
            return one
        return Stored(one.path, one.offset, one.dtype, (count * steps, *one.shape[2:]))

    arrays = {name: flat(one) for name, one in part.arrays.items()}
    return RawPart(part.path, arrays, part.names, steps)


def _starts_of(path: Path, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(lengths):
        raise RnnlensError(f"{path} has no sequences; record some")
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _joined(path: Path, name: str, every: list[NDArray[Any]]) -> NDArray[Any]:
    if len({one.shape[1:] for one in every}) > 1 or len({one.dtype.kind for one in every}) > 1:
        raise RnnlensError(f"{path}: targets {name} are of another sort in one of its files")
    return np.concatenate(every)


def _floats(path: Path, name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Targets that are numbers; NaN is none."""
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any() or not np.isfinite(numbers).any():
        raise RnnlensError(f"{path}: a target {name} is infinite, or none is a number; mend them")
    if set(np.unique(numbers[:1000])) <= {0.0, 1.0} and np.isin(numbers, (0, 1)).all():
        raise RnnlensError(
            f"{path}: every target {name} is 0.0 or 1.0, which are labels and no numbers; give "
            "whole numbers"
        )
    return numbers


def _different(path: Path, name: str, values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Texts as numbers of different ones."""
    try:
        texts = values.tolist()
    except (ValueError, UnicodeDecodeError) as error:
        raise damaged(path, f"a text of {name} is no text", REMEDY) from error
    index: dict[str, int] = {}
    return np.array([index.setdefault(one, len(index)) for one in texts]), list(index)


def _check_names(path: Path, name: str, names: Sequence[str]) -> None:
    for one in names:
        if not isinstance(one, str) or len(one) > 10_000:
            raise RnnlensError(f"{path}: a name of {name} is no text of at most 10,000 characters")
        try:
            one.encode()
        except UnicodeEncodeError as error:
            raise damaged(path, f"a name of {name} is no UTF-8", REMEDY) from error
    if len(set(names)) != len(names):
        raise RnnlensError(f"{path}: two names of {name} are the same; name each otherwise")


def _check_count(path: Path, name: str, count: int) -> None:
    if count > _MOST_LABELS:
        raise RnnlensError(f"{path}: {name} has {count:,} different names; give at most 5,000,000")
