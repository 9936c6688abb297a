"""A lens: a model seen through its probes. Call it with a text to get a grid."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlens.adapter.pair_side import PairSide, joined
from rnnlens.adapter.sequences import Names
from rnnlens.base.errors import RnnlensError
from rnnlens.draw.saving import check_page
from rnnlens.lab.laboratory import Lab
from rnnlens.lab.laboratory import lab as in_lab
from rnnlens.lab.suite import Suite
from rnnlens.lens.give import give
from rnnlens.lens.grid import Comparison, Grid
from rnnlens.lens.save import save_lens
from rnnlens.page.publish import live_page
from rnnlens.page.publish.precisions import Precision
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import Evaluation, evaluate_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.reading.edits import Edit
from rnnlens.reading.encoding import Palette
from rnnlens.reading.lines import Lines
from rnnlens.reading.subject import Subject, names
from rnnlens.run.corpus_data import run_dataset, states_dataset
from rnnlens.run.scores import Scores
from rnnlens.search.find import LIMIT, Found, find
from rnnlens.search.store import index_of
from rnnlens.states.recorded import RecordedStates

_HOW = (
    "{given} cannot be compared; give two grids, two lenses and a text, or a lens and a text with "
    "two alternatives, such as {{is|are}}"
)


class Lens:
    """A model, its probes and its colours. Call it with a text to get a `Grid`.

    `labels` are the names of all labels, `semantics` what there are probes for, `palettes` the
    groupings of labels by name, `kinds` the ids of a grid's columns, and `name` is that of the run.
    """

    def __init__(self, subject: Subject, fitted: Mapping[str, Any] | None = None) -> None:
        """`subject` is all that is asked; `fitted`: how its probes were, where that was here."""
        self.subject, self._fitted = subject, dict(fitted or {})

    @property
    def name(self) -> str:
        """That of the run."""
        return self.subject.name

    @property
    def title(self) -> str:
        """The name, and what the model is."""
        return self.subject.title

    @property
    def labels(self) -> Sequence[str]:
        """The names of all labels that the model predicts."""
        return self.subject.labels

    @property
    def semantics(self) -> Sequence[str]:
        """What there are probes for."""
        return self.subject.semantics

    @property
    def palettes(self) -> Mapping[str, Palette]:
        """The groupings of labels by name."""
        return self.subject.palettes

    @property
    def kinds(self) -> list[str]:
        """The ids of the columns of its grids."""
        return [column.id for column in self.subject.columns]

    @property
    def difference(self) -> float | None:
        """Of a module of your own, the largest between its outputs and what was recomputed."""
        return self.subject.model.difference

    def examples(self) -> list[str]:
        """Texts to begin with."""
        return self.subject.examples()

    def __call__(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Sequence[Edit | str] = (),
        target: str | None = None,
    ) -> Grid:
        """What every state says while the network reads a text.

        `semantic` and `palette` are names; without them, the first of each that there is. `edits`
        change states on the way: `lens(text, edits=[rnnlens.Edit("l2", step=3, zero=True)])`.

        Of an encoder-decoder a text is a pair, `lens("two three => 2 3")`, or a source with its
        `target`: `lens("two three", target="2 3")`. Without a target the network writes it.
        """
        if target is not None:
            text = with_target(self.subject, text, target)
        given = (edits,) if isinstance(edits, Edit | str) else edits
        lines = Lines.of(self.subject, text, semantic, palette, given)
        if lines.are_two:
            raise RnnlensError(
                f"{text[:60]!r} holds two texts; compare them: rnnlens.compare(lens, text)"
            )
        lines.check_length()
        return Grid(lines.shown[0])

    def grid(
        self,
        batch: Any,
        row: int = 0,
        names: Names | None = None,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Sequence[Edit | str] = (),
    ) -> Grid:
        """What every state says while a module of your own reads one sequence of a batch: frames of
        audio, sensors, observations, whatever it is fed.

        `batch` is a pair as for `fit`; its targets may be None. `row` is the sequence's place in
        it. `names` are those of the timesteps, or a function from a timestep's number to its name:
        `lens.grid(batch, names=lambda t: f"{t / 100:.2f} s")`. The grid's text, such as `#2`,
        stands for the sequence in whatever else is asked of this lens: `lens("#2")`.
        """
        answers = self.subject.probes.answers if self.subject.probes else {}
        text = give(self.subject.session, batch, row, names, answers)
        return self(text, semantic, palette, edits)

    def compare(
        self,
        other: "Lens | str",
        text: str | None = None,
        semantic: str | None = None,
        edits: Sequence[Edit | str] = (),
    ) -> Comparison:
        """Two texts in one, `lens.compare("the keys {is|are} here")`, or a text that another lens
        reads, too: `lens.compare(other, "a text")`; see `rnnlens.compare`.
        """
        if isinstance(other, str) and text is None:
            lines = Lines.of(self.subject, other, semantic, edits=edits)
        elif isinstance(other, Lens) and isinstance(text, str):
            lines = Lines.of(self.subject, text, semantic, edits=edits, beside=other.subject)
        else:
            raise RnnlensError(_HOW.format(given=_named(self, other, text)))
        if isinstance(other, str) and not lines.are_two:
            raise RnnlensError(
                f"{lines.text[:60]!r} is one text; write two in one, as in the keys {{is|are}} "
                "here, or give another lens to read it"
            )
        return Comparison.of(lines.shown[0], lines.shown[-1])  # of one lens twice they are the same

    def find(
        self, question: str, limit: int | None = LIMIT, index: str | Path | None = None
    ) -> Found:
        """The words of the corpus that the run's index is of whose states say what is asked for.

        The language is that of `rnnlens find`; `limit` is how many answers are given, unless the
        question says so itself: `lens.find('l2 expects verb > .4 and y expects noun')`. `index` is
        the folder of the index, where it is not in the run's.
        """
        return find(index_of(self.subject, index), question, limit)

    def evaluate(
        self,
        data: Iterable[Any] | Mapping[str, Iterable[Any]] | None = None,
        used: bool = False,
        control: bool = False,
        temperature: bool = False,
        horizon: int = 0,
    ) -> Evaluation:
        """How well each kind predicts on data of your own, or on the corpus of the lens's run.

        `data` are sentences, as texts or as lists of words, or batches as for `fit`. Where nothing
        was measured before, grids tell these perplexities from then on. With `used`, each score
        also says how much of what is read the model uses; with `control`, what such a probe
        memorises of word types; with `temperature`, what its logits are best divided by. `horizon`
        adds scores for the labels from so many steps earlier than the next one to as many later.
        These three want `{"train": ..., "valid": ..., "test": ...}` as `data`.
        """
        subject = self.subject
        if subject.probes is None:
            raise RnnlensError(f"{subject.name} has no probes; fit them with: rnnlens fit RUN")
        dataset = self._dataset(data)
        config = FitConfig(**self._fitted)
        if subject.run and (control or horizon):
            config = subject.run.fit_config()
        evaluation = evaluate_probes(
            subject.probes.to(dataset.device), dataset, config, used=used, control=control,
            temperature=temperature, horizon=horizon,
        )  # fmt: skip
        if not subject.scores.semantics:
            subject.scores = Scores.of(evaluation)
        return evaluation

    def lab(
        self,
        suite: str | Path | Suite,
        *,
        unknown: str = "leave",
        published: str | Path | None = None,
        most: int | None = None,
        seed: int = 0,
    ) -> Lab:
        """How often the model finds the right one of two sentences more probable, and by what.

        `suite` is a file of minimal pairs (BLiMP's JSON lines, SyntaxGym's JSON, templates), or one
        that comes along: `lens.lab("agreement").accuracy`. Items with words that the model does not
        know are left out, unless `unknown` is "keep"; `most` items are made of each template.
        `published` is a file of other models' accuracies.
        """
        return in_lab(
            self.subject, suite, unknown=unknown, published=published, most=most, seed=seed
        )

    def _dataset(self, data: Iterable[Any] | Mapping[str, Iterable[Any]] | None) -> Dataset:
        """What is measured on: data by split, data alone, or the corpus of the run."""
        subject = self.subject
        if isinstance(subject.model, RecordedStates):
            if data is not None:
                raise RnnlensError(
                    "recorded states are measured on the tenth of them that was held out; leave "
                    "data out, or record what you want to measure on"
                )
            return states_dataset(subject.model, subject.session.text, subject.probes)
        if data is None and subject.run is None:
            raise RnnlensError("this lens comes from no run, so that it has no corpus; give data")
        if data is None and subject.run is not None:
            return run_dataset(subject.run)
        parts = data if isinstance(data, Mapping) else {"test": () if data is None else data}
        answers = subject.probes.answers if subject.probes else {}
        return subject.session.dataset({name: list(some) for name, some in parts.items()}, answers)

    def save(self, path: str | Path, model: str = "") -> Path:
        """Write everything as a run, which `rnnlens.load` and every command can open.

        For a lens of your own module, `model` is `package.module:factory`, which gives the module
        back when a new text is to be read; without it, hand the module to `rnnlens.load`.
        """
        return save_lens(self.subject, Path(path), model, self._fitted).path

    def publish(
        self,
        path: str | Path,
        semantics: Sequence[str] = (),
        precision: Precision = "int8",
        title: str = "",
        note: str = "",
        text: str | None = None,
        story: str | Path | None = None,
        texts: int | None = None,
    ) -> Path:
        """Write the live page as one file that reads whatever is typed, with no server.

        It has the probes for `semantics`, one or several, or all. `title` and `note` are
        yours, as plain text; `text` is what is read first. `story` is the name of a Markdown file:
        its prose stands beside the lens, and its links, such as `#text=we+stand&at=l2:2`, set it.

        Of recorded states the page keeps some texts, `texts` of them or 12 MB, of which one is
        chosen; it can neither read others nor change states.
        """
        place = Path(path)
        check_page(place)
        words = live_page.Words(title, note, text, None if story is None else Path(story))
        chosen = names(semantics)
        live_page.published(self.subject, chosen, precision, words, texts).write(place)
        return place

    def __repr__(self) -> str:
        return f"<lens {self.title}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid with a field for texts, and a table that stays."""
        from rnnlens.page.notebook import shown_lens

        return shown_lens(self, self.subject)


def compare(
    first: Grid | Lens,
    second: Grid | Lens | str,
    text: str | None = None,
    semantic: str | None = None,
    edits: Sequence[Edit | str] = (),
) -> Comparison:
    """Two grids side by side, or two lenses on a text, or one lens on two texts.

    Rows stand side by side by the words read, kinds by their ids, labels by their names; what only
    one of the two has is said in `notes`. `edits` are made in both readings, or in that of their
    side: `rnnlens.Edit("l2", step=3, zero=True, side="second")`.

    >>> import rnnlens
    >>> lens = rnnlens.load("english-news")
    >>> number = rnnlens.compare(lens, "the keys to the cabinet {is|are} on the table")
    >>> number.words[5], number.pairs[5]
    ('are', (5, 5))
    >>> bool(number["y"][4] == 0 < number["y"][5])
    True
    >>> shorter = rnnlens.compare(lens("the old man left"), lens("the man left"))
    >>> shorter.pairs
    ((0, 0), (1, None), (2, 1), (3, 2))

    `rnnlens.compare(lens, other, "a text")` has another lens read the same text.
    """
    if isinstance(first, Lens) and isinstance(second, Lens | str):
        return first.compare(second, text, semantic, edits)
    if isinstance(first, Grid) and isinstance(second, Grid) and text is None and not edits:
        return second - first
    raise RnnlensError(_HOW.format(given=_named(first, second, text)))


def _named(*given: object) -> str:
    return ", ".join(type(one).__name__ for one in given if one is not None)


def with_target(subject: Subject, source: str, target: str) -> str:
    """A source and a target as one text."""
    if not isinstance(subject.session.text, PairSide):
        raise RnnlensError(f"{subject.name} reads one text and no source; leave target= out")
    if not isinstance(source, str) or not isinstance(target, str) or not target.strip():
        raise RnnlensError("target= is empty or no str; leave it out to have it written")
    return joined(source, target)
