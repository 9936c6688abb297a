"""Fitting to the end, with nothing to show but its progress."""

from collections.abc import Sequence

from rnnlens.base.progress import Progress
from rnnlens.labels.answers import Answers
from rnnlens.probe import semantics
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fitting import Fitter
from rnnlens.probe.probes import Probes
from rnnlens.probe.recipe import FitConfig
from rnnlens.probe.spread import Spread


def fit_quietly(
    dataset: Dataset, config: FitConfig, name: str = "", *, closed_form: bool = True
) -> Probes:
    """Fit probes for every semantic to the end."""
    stacks, counts = {}, {}
    spreads: dict[str, Spread] = {}
    for semantic in semantics.parse(config.semantic):
        fitter = Fitter(dataset, semantic, config, closed_form=closed_form)
        with Progress(
            fitter.epochs * fitter.chunks,
            unit="chunk",
            device=dataset.device,
            title=f"{name}{semantic}",
            shorter=fitter.shorter("{}={}"),
        ) as progress:

            def advance(progress: Progress = progress) -> bool:
                progress.advance()
                return False

            fitter.run(advance, lambda: None)
        stacks[semantic], counts[semantic] = fitter.result(), fitter.counts
        spreads = spreads or fitter.spreads
    answers = other_answers(dataset, tuple(stacks))
    return Probes(
        config.probe, dataset.kinds, dataset.label_count, stacks, counts, spreads, answers
    )


def other_answers(dataset: Dataset, asked: Sequence[str]) -> dict[str, Answers]:
    """What semantics ask for that is not a label of the model."""
    others = {semantics.base(name) for name in asked if not semantics.of_model(name)}
    return {name: dataset.answers[name] for name in sorted(others)}
