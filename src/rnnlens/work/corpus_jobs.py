"""Jobs over the texts of a corpus: an index of what every state says, and where two disagree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import locked
from rnnlens.base.progress import Progress
from rnnlens.corpus.corpus import Corpus, CorpusConfig, read_tokens
from rnnlens.corpus.tokens import SPLITS, ReadingConfig
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.train.distributed import pick_device, processes
from rnnlens.run.corpus_data import Moved, recorded
from rnnlens.run.folder import Run, run_at
from rnnlens.search.build import Builder, Plan, check_ours
from rnnlens.search.corpus_pass import ALL, RecordedSequences, Texts
from rnnlens.search.disagreement import Disagreement, End
from rnnlens.search.disagreement import disagreement as over_sentences
from rnnlens.search.index_files import arrow
from rnnlens.search.language import first_question
from rnnlens.search.store import Index
from rnnlens.states.recorded import RecordedStates
from rnnlens.work.observer import Observer, among
from rnnlens.work.recipes import COMPARED_WORDS


def index(
    lens: Lens | str | Path,
    corpus: str | Path | None = None,
    folder: str | Path | None = None,
    *,
    states: str | None = None,
    state_kinds: Sequence[str] = (),
    split: str | None = None,
    words: int | None = None,
    semantic: str | None = None,
    valid: str | None = None,
    test: str | None = None,
    anew: bool = False,
    device: str = "auto",
    observer: Observer | None = None,
) -> Path:
    """Write down what every state says after every word of a corpus, and give the index's folder.

    `lens` is one of a run, or a run folder. Without `corpus` it is the one that the run was trained
    on, its test sentences unless `split` names others, such as "test,train"; with `words` the first
    of them alone, up to so many words. The index is written to `folder`, or beside the run, where
    `lens.find` looks for it. With `states`, "int8" or "fp16", the states themselves are kept too,
    all or those of `state_kinds`. The same call continues an index that was stopped; `anew` drops
    what is there.
    """
    arrow()
    elsewhere = None if folder is None else Path(folder)
    run = lens.subject.run if isinstance(lens, Lens) else run_at(str(lens))
    run = check_indexable(run, elsewhere)
    lens, place = lens if isinstance(lens, Lens) else opened(run), pick_device(device)
    if device != "auto" or place.type == "cuda":
        lens.subject.model.on(place)
    kinds = (state_kinds,) if isinstance(state_kinds, str) else tuple(state_kinds)
    plan = Plan(lens.subject, semantic or (lens.semantics or ("output",))[0], states or "", kinds)
    plan.check()
    moved = Moved(None if corpus is None else str(corpus), valid, test)
    if words is not None and words < 1:
        raise RnnlensError(f"--words {words}: give a number from 1 up")
    texts, there = _texts(run, moved, split, plan), run.index_folder(elsewhere)
    if words is not None:
        texts.keep(words)
    with processes(place) as group, ExitStack() as lock:
        observer, builder = (
            among(observer or Observer(), group),
            Builder(there, plan, texts, group),
        )
        if group.first:
            lock.enter_context(_alone(there) if elsewhere else run.writing())
            if not builder.begin(anew=anew, device=place):
                observer.say(f"{there} is there already")
        group.any(False)  # no process writes before the folder is ready
        with Progress(
            texts.words // group.count, unit="word", device=place, title="index",
            quiet=not group.first,
        ) as progress:  # fmt: skip
            if not (there / "manifest.json").exists():
                builder.make(place, progress.advance)
        group.any(False)  # every process has made its parts
        if group.first and not (there / "manifest.json").exists():
            new = Index(there, builder.finish())
            observer.say(_summary(run, new, len(texts), elsewhere=elsewhere is not None))
    return there


def _summary(run: Run, index: Index, sentences: int, *, elsewhere: bool) -> str:
    """How large an index has become, and a first question to it."""
    size = sum(path.stat().st_size for path in index.folder.iterdir())
    where = f" --index {quote(str(index.folder))}" if elsewhere else ""
    question = quote(first_question(
        follows=index.contents.follows, tagged=index.has_tags, kind=index.contents.kinds[-1],
    ))  # fmt: skip
    index.close()
    return (
        f"{index.manifest.rows:,} words in {sentences:,} sentences, {size / 1e6:,.1f} MB in "
        f"{index.folder}; ask it: rnnlens find {quote(str(run.path))} {question}{where}"
    )


def check_indexable(run: Run | None, folder: Path | None) -> Run:
    """The run that an index is made of; an error where its folder cannot hold one."""
    if run is None:
        raise RnnlensError(
            "an index is made of a run, and this lens is kept in none; save it first: "
            "lens.save(folder)"
        )
    if not folder and run.is_bundled:
        raise RnnlensError(
            "the bundled run stays as it is; give -o FOLDER, and ask it with: rnnlens find "
            f"{run.path.resolve().name} QUESTION --index FOLDER"
        )
    return run


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make a folder for an index alone, and be the only one who writes to it."""
    check_ours(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RnnlensError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with -o"
        ) from error
    with locked(folder):
        yield


def _texts(run: Run, moved: Moved, split: str | None, plan: Plan) -> Texts:
    """The sentences to be indexed: of the run's corpus, or of another as a whole."""
    record = run.record()
    if isinstance(model := plan.subject.model, RecordedStates):
        if moved.corpus or moved.valid or moved.test:
            raise RnnlensError("recorded states are their own corpus; leave --corpus out")
        return RecordedSequences(model, _splits(split or ",".join(SPLITS)), plan.side)
    if not record.corpus and not moved.corpus:
        raise RnnlensError(f"the run.json of {run.path} names no corpus; give one with --corpus")
    own, source, config, lowercase = _read_like(run, moved)
    if own:
        return Texts(own, _splits(split or "test"), plan.side, config.longest)
    if not moved.corpus:
        raise RnnlensError(
            f"{source} is not what {run.path} was trained on; say where that is: --corpus"
        )
    if split:
        raise RnnlensError(
            f"{source} is not the corpus of {run.path}, so that it has no parts; leave --split out"
        )
    alone = replace(config, valid="", test="")  # which are the run's, and no part of this corpus
    form, tokens = read_tokens(source, alone, lowercase=lowercase)
    return Texts(Corpus(source, form, tokens, tokens.part), [ALL], plan.side, config.longest)


def _read_like(run: Run, moved: Moved) -> tuple[Corpus | None, str, ReadingConfig, bool]:
    """The corpus that a run was trained on, split as it was then, None where what is given is
    another; where it is read from, how, and whether its words are written small.
    """
    record = run.record()
    sort = CorpusConfig if record.made_by == "train" and record.corpus else ReadingConfig
    config, sha, source = sort(), "", str(moved.corpus)
    if record.corpus:
        source, sha, config = recorded(run, moved, sort)
    lowercase = isinstance(config, CorpusConfig) and config.lowercase
    form, tokens = read_tokens(source, config, lowercase=lowercase)
    own = Corpus.of(source, form, tokens, config) if tokens.hash == sha else None
    return own, source, config, lowercase


def _splits(names: str) -> list[str]:
    splits = list(dict.fromkeys(filter(None, names.split(","))))
    if not splits or not {*splits} <= {*SPLITS}:
        raise RnnlensError(f"--split {names}: give some of {', '.join(SPLITS)}")
    return splits


def disagreement(
    first: Lens | str | Path,
    second: Lens | str | Path,
    corpus: str | Path | Iterable[str | Sequence[str]],
    kind: str | tuple[str, str] = PREDICTION,
    semantic: str | None = None,
    *,
    part: str = "all",
    words: int = COMPARED_WORDS,
) -> Disagreement:
    """How far apart two lenses are after every word of a corpus, or two kinds of one lens.

    `corpus` is a file, a folder or nltk:NAME, of which at most so many `words` are read, all of it
    or the `part` that the lenses' own training uses for train, valid or test, where they were
    trained on it; or it is sentences, as texts or as lists of words. `kind` is compared, of both,
    or one of each: `("l2", "s2")`.

    `rnnlens.disagreement(lens, other, "news.txt").top(10)` are the sentences on which two models
    disagree most.
    """
    lenses = [first if isinstance(first, Lens) else opened(run_at(str(first)))]
    if second != first:
        lenses.append(second if isinstance(second, Lens) else opened(run_at(str(second))))
    kinds = (kind, kind) if isinstance(kind, str) else tuple(kind)
    if len(kinds) != 2:
        raise RnnlensError(f"kind= names {len(kinds)} kinds; give one for both, or two")
    if words < 1:
        raise RnnlensError(f"--words {words}: give a number from 1 up")
    split = lenses[0].subject.session.words
    notes = tuple[str, ...]()
    if part != "all" and isinstance(corpus, str | Path):
        every, notes = _part(lenses, str(corpus), part)
        sentences = list(_up_to(every, words))
    else:
        sentences = list(_sentences(corpus, words, split))
    count = sum(map(len, sentences))
    with Progress(
        3 * count,
        unit="word",
        device=lenses[0].subject.model.device,
        title="reading, comparing",
        shorter=(f"--words {max(1, count // 4)}", 1 / 4),
    ) as progress:
        ends = [
            End(lens.subject, name)
            for lens, name in zip((lenses[0], lenses[-1]), kinds, strict=True)
        ]
        found = over_sentences(ends[0], ends[1], sentences, semantic, progress.advance)
    return replace(found, notes=(*found.notes, *notes))


def _part(
    lenses: Sequence[Lens], corpus: str, part: str
) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The sentences of a part of the corpus that a lens was trained on, as its training has split
    it; and what has to be said where the training of the other has split it otherwise.
    """
    if part not in SPLITS:
        raise RnnlensError(f"part={part!r}: give all, {', '.join(SPLITS)}")
    runs = [(lens.subject.name, run) for lens in lenses if (run := lens.subject.run)]
    read = [(name, _read_like(run, Moved(corpus, None, None))[0]) for name, run in runs]
    trained = [(name, own) for name, own in read if own]
    if not trained:
        raise RnnlensError(
            f"{corpus} is not what {' or '.join(name for name, _ in runs) or 'these lenses'} "
            "was trained on, so that it has no parts; leave --part out"
        )
    sentences = [one.words for one in trained[0][1].sentences(part)]
    notes = [f"the {part} sentences are those of {trained[0][0]}"]
    for name, own in trained[1:] if part != "train" else ():
        seen = {one.words for one in own.sentences("train")}
        if count := sum(words in seen for words in sentences):
            notes.append(f"{name} was trained on {count:,} of them: it was split otherwise")
    return sentences, tuple(notes)


def _up_to(sentences: Iterable[tuple[str, ...]], words: int) -> Iterator[tuple[str, ...]]:
    """The first sentences, with at most so many words."""
    for one in sentences:
        if len(one) > words:
            return
        words -= len(one)
        yield one


def _sentences(
    corpus: str | Path | Iterable[str | Sequence[str]],
    words: int,
    split: Callable[[str], tuple[str, ...]],
) -> Iterator[tuple[str, ...]]:
    """The words of some sentences, up to so many; `split` is for those that are texts."""
    if not isinstance(corpus, str | Path):
        yield from (split(one) if isinstance(one, str) else tuple(one) for one in corpus)
        return
    texts = Corpus.read(str(corpus), ReadingConfig())
    yield from _up_to((one.words for name in SPLITS for one in texts.sentences(name)), words)
