"""One table from questions to answers. The server has a route for each entry; the notebook, Python
and the tests of the engine ask `answer`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from rnnlens.ask import corpus_questions as corpus
from rnnlens.ask import json_types as answers
from rnnlens.ask import runs
from rnnlens.ask.asked import MemoryQuestion, MemoryTold, memory_told
from rnnlens.ask.continuation import Continued, ContinueQuestion, continued
from rnnlens.ask.figures import Figure, FigureQuestion, figure_steps
from rnnlens.ask.follow import Followed, FollowQuestion, follow_steps
from rnnlens.ask.grids import GridQuestion, grid_steps, joined
from rnnlens.ask.kept_texts import Texts, TextsQuestion, texts
from rnnlens.ask.labels import Labels, LabelsQuestion, labels
from rnnlens.ask.memories import MemoriesQuestion, MemoriesTold, memories_steps
from rnnlens.ask.questions import Subjects
from rnnlens.ask.state_pairs import DivergenceQuestion, divergence
from rnnlens.ask.turns import Turns, TurnsQuestion, turn_steps
from rnnlens.ask.written import Written, WrittenQuestion, written
from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import to_json
from rnnlens.search import answers as found

Way = Literal["once", "rows", "last"]


@dataclass(frozen=True)
class Entry:
    """A question and how it is answered.

    `way` is `once` where `give` gives the answer; `rows` where it gives parts that add rows to the
    first, each with whether there are more; `last` where only the last of them is the answer.
    """

    question: type[Any]
    answer: Any  # a dataclass or a typed dictionary: its schema is made of it
    give: Callable[[Subjects, Any], Any]
    way: Way = "once"
    of_corpus: bool = False

    @property
    def is_got(self) -> bool:
        """Whether it asks for nothing but a run, so that an address says all of it."""
        return {*self.question.__dataclass_fields__} <= {"run"} and not self.of_corpus

    @property
    def is_long(self) -> bool:
        """Whether it takes long, so that those who ask it wait for each other and for who types."""
        return self.of_corpus or self.way == "last"


Table = Mapping[str, Entry]
TABLE: Table = MappingProxyType(
    {
        "runs": Entry(runs.RunsQuestion, answers.Runs, runs.runs),
        "accuracy": Entry(runs.AccuracyQuestion, answers.Accuracy, runs.accuracy),
        "grid": Entry(GridQuestion, answers.Grid, grid_steps, "rows"),
        "follow": Entry(FollowQuestion, Followed, follow_steps, "rows"),
        "labels": Entry(LabelsQuestion, Labels, labels),
        "texts": Entry(TextsQuestion, Texts, texts),
        "turns": Entry(TurnsQuestion, Turns, turn_steps, "rows"),
        "divergence": Entry(DivergenceQuestion, answers.Divergences, divergence),
        "written": Entry(WrittenQuestion, Written, written),
        "memory": Entry(MemoryQuestion, MemoryTold, memory_told),
        "memories": Entry(MemoriesQuestion, MemoriesTold, memories_steps, "rows"),
        "continue": Entry(ContinueQuestion, Continued, continued),
        "figure": Entry(FigureQuestion, Figure, figure_steps, "last"),
        "corpus": Entry(corpus.CorpusQuestion, found.Corpus, corpus.corpus, of_corpus=True),
        "find": Entry(corpus.FindQuestion, found.FoundSlice, corpus.find, of_corpus=True),
        "table": Entry(corpus.TableQuestion, found.Table, corpus.table, of_corpus=True),
        "picture": Entry(
            corpus.PictureQuestion, found.Picture, corpus.corpus_picture, of_corpus=True
        ),
        "map": Entry(corpus.MapQuestion, found.Map, corpus.corpus_map, of_corpus=True),
        "place": Entry(corpus.PlaceQuestion, found.MapPlace, corpus.map_place, of_corpus=True),
        "similar": Entry(
            corpus.SimilarQuestion, found.Similar, corpus.similar_states, of_corpus=True
        ),
    }
)


def answer(subjects: Subjects, question: Any, table: Table = TABLE) -> Any:
    """The answer to a question, as JSON."""
    entry = next((one for one in table.values() if one.question is type(question)), None)
    if entry is None:
        raise RnnlensError(f"nothing answers a {type(question).__name__}; ask {', '.join(table)}")
    given = entry.give(subjects, question)
    if entry.way == "once":
        return to_json(given)
    parts: Iterator[dict[str, Any]] = (part for part, _ in given)
    return joined(parts) if entry.way == "rows" else list(parts)[-1]
