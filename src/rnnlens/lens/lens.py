"""A lens: a model seen through its probes. Call it with a text to get a grid."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.lens.grid import Grid
from rnnlens.lens.save import written
from rnnlens.page.publish import publish
from rnnlens.page.publish.quantised import Precision
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.evaluation import Evaluation, evaluate_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.probes import Probes
from rnnlens.reading.edits import Edit, parsed
from rnnlens.reading.encoding import Palette
from rnnlens.reading.session import Session
from rnnlens.reading.side_by_side import SideBySide
from rnnlens.run.corpus_data import run_dataset
from rnnlens.run.folder import Run
from rnnlens.run.scores import Scores
from rnnlens.search.find import LIMIT, Found, find
from rnnlens.search.store import index_of


class Lens(SideBySide):
    """A model, its probes and its colours. Call it with a text to get a `Grid`.

    `labels` are the names of all labels, `semantics` what there are probes for, `palettes` the
    groupings of labels by name, and `name` is that of the run.
    """

    def __init__(
        self,
        name: str,
        session: Session,
        palettes: Mapping[str, Palette],
        probes: Probes | None = None,
        scores: Scores | None = None,
        *,
        made: Mapping[str, Any] | None = None,
        run: Run | None = None,
    ) -> None:
        """`made`: how the probes were fitted; `run`: where all of it comes from, if from a run."""
        super().__init__(name, session, palettes, probes, scores)
        self.made, self.run = dict(made or {}), run
        self.hashes = (run.model_hash(), run.probes_hash()) if run else None

    def save(self, path: str | Path, model: str = "") -> Path:
        """Write everything as a run, which `rnnlens.load` and every command can open.

        For a lens of your own module, `model` is `package.module:factory`, which gives the module
        back when a new text is to be read; without it, hand the module to `rnnlens.load`.
        """
        return written(self, Path(path), model, self.made, self.run).path

    def publish(
        self,
        path: str | Path,
        semantics: Sequence[str] = (),
        precision: Precision = "int8",
        title: str = "",
        note: str = "",
        text: str | None = None,
    ) -> Path:
        """Write the live page as one file that reads whatever is typed, with no server.

        It has the probes for `semantics`, one or several, or all. `title` and `note` are
        yours, as plain text; `text` is what is read first.
        """
        place = Path(path)
        publish.check(place)
        words = publish.Words(title, note, text)
        names = [semantics] if isinstance(semantics, str) else semantics
        publish.published(self, names, precision, words).write(place)
        return place

    @property
    def difference(self) -> float | None:
        """Of a module of your own, the largest between its outputs and what was recomputed."""
        return self.model.difference

    def __call__(
        self,
        text: str,
        semantic: str | None = None,
        palette: str | None = None,
        edits: Sequence[Edit | str] = (),
    ) -> Grid:
        """What every state says while the network reads a text.

        `semantic` and `palette` are names; without them, the first of each that there is. `edits`
        change states on the way: `lens(text, edits=[rnnlens.Edit("l2", step=3, zero=True)])`.
        """
        if self.two_texts(text):
            raise RnnlensError(
                f"{text[:60]!r} holds two texts; compare them: rnnlens.compare(lens, text)"
            )
        some = parsed(edits)
        return Grid(self, self.grid(text, semantic, palette, some), some)

    def find(
        self, question: str, limit: int | None = LIMIT, index: str | Path | None = None
    ) -> Found:
        """The words of the corpus that the run's index is of whose states say what is asked for.

        The language is that of `rnnlens find`; `limit` is how many answers are given, unless the
        question says so itself: `lens.find('l2 expects verb > .4 and y expects noun')`. `index` is
        the folder of the index, where it is not in the run's.
        """
        return find(index_of(self, index), question, limit)

    def __repr__(self) -> str:
        return f"<lens {self.title}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ARG002
        """What a notebook shows: the live grid with a field for texts, and a table that stays."""
        from rnnlens.page.notebook import shown_lens

        return shown_lens(self)

    def evaluate(
        self,
        data: Iterable[Any] | Mapping[str, Iterable[Any]] | None = None,
        used: bool = False,
        control: bool = False,
        horizon: int = 0,
    ) -> Evaluation:
        """How well each kind predicts on data of your own, or on the corpus of the lens's run.

        `data` are sentences, as texts or as lists of words, or batches as for `fit`. Where nothing
        was measured before, grids tell these perplexities from then on. With `used`, each score
        also says how much of what is read the model uses. `control` adds the scores of probes that
        are fitted to shuffled labels; `horizon` those for the labels from so many steps earlier
        than the next one to as many later. Both fit probes, for which `data` are
        `{"train": ..., "valid": ..., "test": ...}`.
        """
        if self.probes is None:
            raise RnnlensError(f"{self.name} has no probes; fit them with: rnnlens fit RUN")
        dataset = self._dataset(data)
        config = FitConfig(**self.made)
        if self.run and (control or horizon):
            config = self.run.fit_config()
        evaluation = evaluate_probes(
            self.probes.to(dataset.device), dataset, config, used=used, control=control,
            horizon=horizon,
        )  # fmt: skip
        if not self.scores.semantics:
            self.scores = Scores.of(evaluation)
        return evaluation

    def _dataset(self, data: Iterable[Any] | Mapping[str, Iterable[Any]] | None) -> Dataset:
        """What is measured on: data by split, data alone, or the corpus of the run."""
        if data is None and self.run is None:
            raise RnnlensError("this lens comes from no run, so that it has no corpus; give data")
        if data is None and self.run is not None:
            return run_dataset(self.run)
        parts = data if isinstance(data, Mapping) else {"test": () if data is None else data}
        answers = self.probes.answers if self.probes else {}
        return self.session.dataset({name: list(some) for name, some in parts.items()}, answers)
