"""Lenses from run folders, and run folders from lenses."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.files import digest, write_bytes
from rnnlens.model.own import OwnModel, OwnRecord, own_model, own_model_at
from rnnlens.run import TRAINED, TRAINING, Run
from rnnlens.view.colours import palettes
from rnnlens.view.encoding import Palette
from rnnlens.view.lens import Lens
from rnnlens.view.models import Model, NetworkModel
from rnnlens.view.module_model import Live, ModuleModel
from rnnlens.view.scores import Scores


def opened(run: Run, colours: Path | None = None, name: str = "", model: Any = None) -> Lens:
    """Everything a run holds; `model` is somebody's own module, where the run cannot tell."""
    if run.is_own():
        made: Model = _module(run, model)
    else:
        network, vocabulary = run.model(), run.vocabulary()
        if network.labels != len(vocabulary):
            raise RnnlensError(
                f"the model in {run.path} has {network.labels} labels and its vocabulary "
                f"{len(vocabulary)}; restore both"
            )
        made = NetworkModel(network, vocabulary)
    probes = run.probes() if run.has_probes() else None
    if probes and probes.labels != len(made.labels):
        raise RnnlensError(
            f"the probes in {run.path} have {probes.labels} labels and its model "
            f"{len(made.labels)}; fit them anew: rnnlens fit {run.path}"
        )
    groupings = palettes(run.colours(), run.path / "colours.json", colours)
    shown = {key: Palette.of(made.labels, value) for key, value in groupings.items()}
    name = name or run.path.resolve().name
    return Lens(name, made, shown, probes, Scores.read(run.path), run=run)


def _module(run: Run, given: Any) -> ModuleModel:
    about, vocabulary = run.own(), run.own_vocabulary()
    if about.labels != len(vocabulary.labels):
        raise RnnlensError(
            f"the model in {run.path} has {about.labels} labels and its vocabulary "
            f"{len(vocabulary.labels)}; restore both"
        )
    return ModuleModel(about, vocabulary, _live(run, given), run.examples())


def _live(run: Run, given: Any) -> Callable[[], Live]:
    """The module of a run with the run's weights, once it is asked for."""

    def made() -> Live:
        return Live.of(module_of(run, given), run.own())

    return made


def module_of(run: Run, given: Any = None) -> OwnModel:
    """The module of a run: what its factory makes, with the weights that the run holds."""
    where = run.own().factory
    if given is None and not where:
        raise RnnlensError(
            f"{run.path} does not say where its model's code is, so that it cannot read a new "
            "text; in Python, give it: rnnlens.load(run, model=...)"
        )
    if given is not None and not isinstance(given, str):
        own = own_model(given, "model=")
        if digest(own.weights()) != run.model_hash():  # it is somebody's: nothing is put into it
            raise RnnlensError(
                f"the module given is not the one of {run.path}: its weights differ; load the "
                "weights of that time into it, or fit anew"
            )
        return own
    own = own_model_at(given or where)
    own.put(run.own_weights())
    return own


def written(lens: Lens, path: Path, factory: str) -> Run:
    """A lens as a run folder; what it was loaded from is copied."""
    run = Run(path)
    if run.exists():
        raise RnnlensError(f"{path} holds a run already; choose another folder")
    if lens.run is not None:
        if factory:
            raise RnnlensError("model= is for a lens that rnnlens.fit made; this one is of a run")
        run.create()
        for file in sorted(lens.run.path.iterdir()):
            if file.suffix in (".json", ".safetensors") and not file.name.startswith("."):
                write_bytes(path / file.name, file.read_bytes())
        return run
    if not isinstance(lens.model, ModuleModel) or lens.probes is None:
        raise RnnlensError("only a lens of rnnlens.fit or rnnlens.load can be saved")
    model, colours = lens.model, {k: v.grouping(lens.labels) for k, v in lens.palettes.items()}
    if factory:
        _check_factory(factory, model)  # better now than when it is needed
    record = {"command": "rnnlens.fit", "corpus": {}}
    about = replace(model.about, factory=factory)
    keep(run, record, about, model, {"source": "rnnlens.fit", "groupings": colours})
    run.write_probes(lens.probes, lens.made)
    if lens.scores.semantics:
        run.write_evaluation(lens.scores.evaluation())
    run.write_record({**record, "status": TRAINED})
    return run


def keep(
    run: Run,
    record: Mapping[str, Any],
    about: OwnRecord,
    model: ModuleModel,
    colours: Mapping[str, Any],
) -> None:
    """Write all that is known of somebody's own module; the record says that more is to come."""
    examples = [model.example(text) for text in model.examples]
    run.create()
    run.write_record({**record, "status": TRAINING})  # first: it marks the folder as ours
    run.write_vocabulary(model.vocabulary)
    run.write_colours(colours)
    run.write_own(about, model.live.own.weights())
    run.write_examples(examples)


def _check_factory(factory: str, model: ModuleModel) -> None:
    """Refuse a factory whose module does not read as the one at hand does."""
    own = own_model_at(factory)
    own.put(model.live.own.weights())
    again = Live.of(own, model.about)
    for text in model.examples:
        example = model.example(text)
        there = again.states(model.encode(own.words(text)))
        for kind, states in example.states.items():
            if kind not in there or not _close(states, there[kind]):
                raise RnnlensError(
                    f"{factory} gives a module that reads {text!r} otherwise: its {kind} differs; "
                    "name the factory of the very module that was fitted"
                )


def _close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=1e-3, atol=1e-4))
