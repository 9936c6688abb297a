"""Lenses from run folders, and run folders from lenses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.user_model import Example, UserModel, UserRecord, user_model, user_model_at
from rnnlens.errors import RnnlensError
from rnnlens.files import digest, write_bytes
from rnnlens.run import COPYING, FILES, TRAINED, Run
from rnnlens.view.encoding import Palette
from rnnlens.view.lens import Lens
from rnnlens.view.models import Model, NetworkModel
from rnnlens.view.module_model import Live, ModuleModel
from rnnlens.view.palette import palettes
from rnnlens.view.scores import Scores


def opened(run: Run, colours: Path | None = None, name: str = "", model: Any = None) -> Lens:
    """Everything a run holds; `model` is somebody's own module, where the run cannot tell."""
    if run.is_own():
        made: Model = _module(run, model)
    elif model is not None:
        raise RnnlensError(f"{run.path} holds its model itself; leave model= out")
    else:
        network, vocabulary = run.model(), run.vocabulary()
        if network.label_count != len(vocabulary):
            raise RnnlensError(
                f"the model in {run.path} has {network.label_count} labels and its vocabulary "
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


def module_of(run: Run, given: Any = None) -> UserModel:
    """The module of a run: what its factory makes, with the weights that the run holds."""
    about = run.own()
    if given is None and not about.factory:
        raise RnnlensError(
            f"{run.path} does not say where its model's code is, so that it cannot read a new "
            "text; in Python, give it: rnnlens.load(run, model=...)"
        )
    named = given is None or isinstance(given, str)
    own = user_model_at(given or about.factory) if named else user_model(given, "model=")
    if not named:
        own = own.read_as(about.settings, about.labels)
    if digest(own.weights()) != run.model_hash():
        if not named:  # it is somebody's: nothing is put into it
            raise RnnlensError(
                f"the module given is not the one of {run.path}: its weights differ; load the "
                "weights of that time into it, or fit anew"
            )
        own = own.copied()  # the factory may give others the same
        own.put(run.own_weights())
    _check_reading(Live.of(own, about), run.examples()[:1], f"the code of {run.path}")
    return own


def _check_reading(live: Live, examples: Sequence[Example], what: str) -> None:
    """Refuse a module that does not read as the one that probes were fitted to."""
    for example in examples:
        words, there = tuple(live.own.words(example.text)), live.states(example.ids)
        wrong = [kind for kind, v in example.states.items() if not _close(v, there[kind])]
        if words != example.words or wrong:
            how = f"its {wrong[0]} differs" if wrong else f"it takes {words} for its words"
            raise RnnlensError(
                f"{what} gives a module that reads {example.text!r} otherwise than the one that "
                f"was fitted: {how}; give that module, or fit anew"
            )


def _close(a: Tensor, b: Tensor) -> bool:
    """The same but for rounding, on another device and in half precision too."""
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=3e-2, atol=3e-3))


def written(lens: Lens, path: Path, factory: str) -> Run:
    """A lens as a run folder; what it was loaded from is copied."""
    run = Run(path)
    if not isinstance(factory, str):
        raise RnnlensError(
            f"model= is {type(factory).__name__}; name what gives the module, such as mine:trained"
        )
    if run.exists() and run.record()["status"] != COPYING:
        raise RnnlensError(f"{path} holds a run already; choose another folder")
    if lens.run is not None:
        if factory:
            raise RnnlensError("model= is for a lens that rnnlens.fit made; this one is of a run")
        return _copied(lens, lens.run, run)
    model = lens.model
    if not isinstance(model, ModuleModel) or lens.probes is None:
        raise RnnlensError("only a lens of rnnlens.fit or rnnlens.load can be saved")
    if digest(model.live.own.weights()) != model.live.digest:
        raise RnnlensError("the module has changed since its probes were fitted; fit anew")
    if factory:  # better now than when it is needed
        own = user_model_at(factory).copied()
        own.put(model.live.own.weights())
        examples = [model.example(text) for text in model.examples]
        _check_reading(Live.of(own, model.about), examples, factory)
    colours = {name: palette.grouping(lens.labels) for name, palette in lens.palettes.items()}
    record = {"command": "rnnlens.fit", "corpus": {}}
    about = replace(model.about, factory=factory)
    keep(run, {**record, "status": COPYING}, about, model, {"source": "", "groupings": colours})
    run.write_probes(lens.probes, lens.made)
    if lens.scores.semantics:
        run.write_evaluation(lens.scores.evaluation())
    run.write_record({**record, "status": TRAINED})
    return run


def _copied(lens: Lens, old: Run, new: Run) -> Run:
    """The files of a run, and what was measured since where it holds nothing of that."""
    record = old.record()
    new.create()
    new.write_record({**record, "status": COPYING})  # first: it marks the folder as ours
    for name in FILES:
        if (old.path / name).exists():
            write_bytes(new.path / name, (old.path / name).read_bytes())
    if lens.scores.semantics and not (old.path / "evaluation.json").exists():
        new.write_evaluation(lens.scores.evaluation())
    new.write_record(record)
    return new


def keep(
    run: Run,
    record: Mapping[str, Any],
    about: UserRecord,
    model: ModuleModel,
    colours: Mapping[str, Any],
) -> None:
    """Write all that is known of somebody's own module; the record says that more is to come."""
    examples = [model.example(text) for text in model.examples]
    run.create()
    run.write_record(record)  # first: it marks the folder as ours
    run.write_vocabulary(model.vocabulary)
    run.write_colours(colours)
    run.write_own(about, model.live.own.weights())
    run.write_examples(examples)
