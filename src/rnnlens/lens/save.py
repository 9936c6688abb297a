"""Lenses as run folders."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import locked, write_bytes
from rnnlens.model.text import Example
from rnnlens.model.traceable import Traceable
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import FILES, Run
from rnnlens.run.record import COPYING, TRAINED
from rnnlens.run.run_files import LONGEST_KEPT


def save_lens(subject: Subject, path: Path, factory: str, fitted: Mapping[str, Any]) -> Run:
    """A lens as a run folder; the run that it was loaded from is copied.

    `fitted` says how its probes were, `factory` where a user's module is found again.
    """
    run, source = Run(path), subject.run
    if not isinstance(factory, str):
        raise RnnlensError(
            f"model= is {type(factory).__name__}; name what gives the module, such as mine:trained"
        )
    if run.exists() and run.record().status != COPYING:
        raise RnnlensError(f"{path} holds a run already; choose another folder")
    if source is not None:
        if factory:
            raise RnnlensError("model= is for a lens that rnnlens.fit made; this one is of a run")
        return _copied(subject, source, run)
    if subject.probes is None:
        raise RnnlensError("only a lens of rnnlens.fit or rnnlens.load can be saved")
    model, session = subject.model, subject.session
    model.check()
    run.check_kept(model)
    if factory:  # better now than when it is needed
        examples = [session.example(text) for text in session.examples or ()]
        model = model.found_at(factory, session.vocabulary, examples)
    colours = {name: palette.grouping(subject.labels) for name, palette in subject.palettes.items()}
    command = "rnnlens.fit" if model.reads else "rnnlens.from_states"
    record = {"command": command, "made_by": "fit", "corpus": {}}
    begun = {**record, "status": COPYING}
    with run.writing():
        keep(run, begun, model, session, {"source": "", "groupings": colours})
        run.write_probes(subject.probes, fitted)
        if subject.scores.semantics:
            run.write_evaluation(subject.scores.evaluation())
        run.write_record({**record, "status": TRAINED})
    if factory:  # whoever saves it here has named the code
        run.allow_code()
    return run


def _copied(subject: Subject, old: Run, new: Run) -> Run:
    """The files of a run, and what was measured since where it holds nothing of that."""
    with _still(old), new.writing():
        record = old.record().to_json()
        new.write_record({**record, "status": COPYING})  # first: it marks the folder as ours
        for name in FILES:
            if (old.path / name).exists():
                write_bytes(new.path / name, (old.path / name).read_bytes())
        if subject.scores.semantics and not (old.path / "evaluation.json").exists():
            new.write_evaluation(subject.scores.evaluation())
        new.write_record(record)
    return new


def _still(run: Run) -> AbstractContextManager[None]:
    """Have nobody write to a run; a folder that we cannot write to has no lock of ours, either."""
    return locked(run.path) if os.access(run.path, os.W_OK) else nullcontext()


def keep(
    run: Run,
    record: Mapping[str, Any],
    model: Traceable,
    session: Session,
    colours: Mapping[str, Any],
) -> None:
    """Write all that is known of a model without probes; the record says that more is to come."""
    texts = session.examples or ()
    if model.reads:
        examples = [session.example(text) for text in texts]
    else:  # states stay where they were recorded
        split = {text: session.words(text) for text in texts}
        examples = [Example(text, words, tuple(session.numbers(text, words)), {})
                    for text, words in split.items() if len(words) <= LONGEST_KEPT]  # fmt: skip
    run.write_record(record)  # first: it marks the folder as ours
    run.write_vocabulary(session.vocabulary)
    run.write_colours(colours)
    run.write_model(model)
    run.write_examples(examples)
