"""See what every hidden state of a recurrent network predicts.

>>> import rnnlens
>>> lens = rnnlens.load("english-news")  # the bundled model, or a run folder
>>> grid = lens("we stand in solidarity")
>>> grid["h2"][3]
<h2 after 'solidarity': with 91%, and 3%, . 2%>
"""

from rnnlens.version import __version__ as __version__

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from rnnlens.adapter.adapter import Adapter as Adapter
    from rnnlens.adapter.recurrence import Recurrence as Recurrence
    from rnnlens.adapter.user_model import UserModel as UserModel
    from rnnlens.base.errors import RnnlensError as RnnlensError
    from rnnlens.lens.fit import fit as fit
    from rnnlens.lens.from_states import from_states as from_states
    from rnnlens.lens.grid import Grid as Grid
    from rnnlens.lens.lens import Lens as Lens
    from rnnlens.lens.lens import compare as compare
    from rnnlens.lens.state import State as State
    from rnnlens.lens.state import States as States
    from rnnlens.reading.edits import Edit as Edit
    from rnnlens.states.recording import Recorder as Recorder
    from rnnlens.states.recording import record as record
    from rnnlens.work.corpus_jobs import disagreement as disagreement
    from rnnlens.work.corpus_jobs import index as index
    from rnnlens.work.fit_run import fit_run as fit_run
    from rnnlens.work.train_run import train as train

#: Where the names are that are imported when they are first asked for.
_MODULES = {
    "rnnlens.adapter.adapter": "Adapter",
    "rnnlens.adapter.recurrence": "Recurrence",
    "rnnlens.adapter.user_model": "UserModel",
    "rnnlens.ask.ablation": "Ablated",
    "rnnlens.ask.asked": "MemoryAnswer MemoryTold",
    "rnnlens.ask.continuation": "Continued",
    "rnnlens.ask.decision": "Decision",
    "rnnlens.ask.follow": "Followed",
    "rnnlens.ask.results": "ByKind",
    "rnnlens.ask.turns": "Turn TurnRow Turns",
    "rnnlens.ask.written": "Written",
    "rnnlens.base.errors": "RnnlensError RnnlensWarning Stopped",
    "rnnlens.corpus.read": "Sentence",
    "rnnlens.draw.look": "Look",
    "rnnlens.lab.accuracy": "Accuracy Published SuiteAccuracy",
    "rnnlens.lab.by_kind": "ByParadigm KindValue",
    "rnnlens.lab.erase": "Erased Erasures",
    "rnnlens.lab.erase_concept": "ConceptErased ConceptErasures",
    "rnnlens.lab.formula": "Formula",
    "rnnlens.lab.half_lives": "HalfLives KindLife UnitLives",
    "rnnlens.lab.laboratory": "Lab",
    "rnnlens.lab.scoring": "Scored",
    "rnnlens.lab.subspace": "Direction Directions",
    "rnnlens.lab.suite": "Item Suite",
    "rnnlens.lab.units": "UnitEffect UnitTrace Units",
    "rnnlens.lens.fit": "fit",
    "rnnlens.lens.from_states": "from_states",
    "rnnlens.lens.grid": "Comparison Grid Parting",
    "rnnlens.lens.lens": "Lens compare",
    "rnnlens.lens.state": "State States",
    "rnnlens.model.kinds": "Edge Kind Memory",
    "rnnlens.model.transition": "Matrix",
    "rnnlens.model.traceable": "Readout StateEdit Trace",
    "rnnlens.probe.evaluation": "Evaluation Score",
    "rnnlens.base.intervals": "Interval",
    "rnnlens.probe.control": "Control Description",
    "rnnlens.probe.measures": "Against",
    "rnnlens.probe.tally": "Bin",
    "rnnlens.probe.temperature": "Temperature",
    "rnnlens.probe.used": "Used",
    "rnnlens.reading.edits": "Address Edit Stateful",
    "rnnlens.search.answers": "Hit Near Said",
    "rnnlens.search.disagreement": "DisagreedSentence Disagreement End",
    "rnnlens.search.find": "Found",
    "rnnlens.states.recording": "Recorder record",
    "rnnlens.work.corpus_jobs": "disagreement index",
    "rnnlens.work.fit_run": "fit_run",
    "rnnlens.work.observer": "Observer",
    "rnnlens.work.train_run": "train",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = ["load", *_PLACES]  # noqa: PLE0604 - all of them are names


def load(
    run: "str | Path",
    colours: "str | Path | None" = None,
    model: object = None,
    trust: bool = False,
) -> "Lens":
    """The lens of a run folder, or of `english-news`, which comes with the package.

    `colours` is a JSON file with a grouping of your own, which then is the first of the palettes:
    `{"colours": {"ANIMAL": "#009e73"}, "groups": {"dog": "ANIMAL"}}`. A run of a module of your own
    needs the module's code for new texts: give `model`, which is the module, a `UserModel`, or
    `"package.module:factory"`. With `trust`, the code that the run itself names is imported and
    called then; do that only where you trust whoever made the run.
    """
    from pathlib import Path

    from rnnlens.lens.open import opened
    from rnnlens.run.folder import run_at

    folder = run_at(str(run))
    if trust:
        folder.allow_code()
    return opened(folder, None if colours is None else Path(colours), model=model)


def __getattr__(name: str) -> "Any":
    """Names are imported when they are asked for, so that `import rnnlens` takes no time."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rnnlens' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
