"""Mutated suites: JSON lines, SyntaxGym's JSON and templates, read or refused in one line."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

from tests.fuzz import mutations

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.lab.encoded import encoded
from rnnlens.lab.suite import read_suite
from rnnlens.model.text import TextSide

PAIR = {"sentence_good": "the dogs see a bird", "sentence_bad": "the dogs sees a bird",
        "UID": "number", "linguistics_term": "agreement", "pair_id": "0"}  # fmt: skip
TEMPLATES = """N.sg: dog, bird
N.pl: dogs, birds
V.sg: sees
V.pl: see
paradigm: number
the {N.sg|N.pl} near the {N} {V.sg|V.pl} a bird
paradigm: polarity
{no|the} {N.sg} <ever> sees
"""
# What a hostile hand would write: deep, wide, endless, without sense.
FORMULAS = (
    "(" * 5_000 + "1" + ")" * 5_000, "(" * 39 + "(1;%a%)" + ")" * 39 + " < (1;%b%)",
    "+".join(["(1;%a%)"] * 3_000) + " < 1", "1/0 < (1;%a%)", "(1;%a%)/((1;%a%)-(1;%a%)) > 1",
    "9" * 5_000 + " < 1", "(999999999999;%a%) < 1", "(1;%" + "a" * 9_000 + "%) < 1", "(1;%a%)",
    "&" * 9_999, "((1;%a%) < (1;%b%)) & " * 400 + "(1 = 1)", "(*;%a%) < (*;%b%)", "-" * 9_000, "",
    "__import__('os').abort()", "(1;%a%) < (1;%b%)\0", "1e999*0 = 1", "(-1;%a%) < 1",
)  # fmt: skip
LINES = (
    "{" * 1_999, "{N}" * 700 + " {is|are}", "{N} " * 30 + "{is|are}", "{{N}|{N}} is", "{N.sg|N}",
    "<" * 300, "{a|b|c}", "{|}", "{ever|} <x> <y>", "N: " + "a, " * 20_000, "N.x: {N}", "N: N, N",
    "paradigm:", "paradigm: " + "p" * 9_000, ":", "{L} {L} {L} {L} {L} {is|are}", "\u202e{is|are}",
    "L.a: " + ", ".join(f"w{k}" for k in range(9_000)), "{is|are} {is|are} {is|are} {is|are}",
)  # fmt: skip


def _gym() -> dict[str, Any]:
    def condition(name: str, verb: str) -> dict[str, Any]:
        contents = ("the dogs", verb, "a bird")
        regions = [{"region_number": k + 1, "content": c} for k, c in enumerate(contents)]
        return {"condition_name": name, "regions": regions}

    items = [{"item_number": k + 1, "conditions": [condition("a", "see"), condition("b", "sees")]}
             for k in range(3)]  # fmt: skip
    formulas = [{"type": "formula", "formula": "(2;%a%) < (2;%b%)"}]
    return {"meta": {"name": "gym", "metric": "sum"}, "predictions": formulas, "items": items}


class Suites:
    """The cases, a third of each form."""

    def __init__(self, _folder: Path) -> None:
        words = "the dogs dog bird birds see sees a near no ever UNK NUM".split()
        vocabulary = Vocabulary(tuple(words), tuple(range(len(words), 0, -1)))
        self.side = TextSide(vocabulary, str.split, list, side_by_side=True, splitting="blanks")

    def __call__(self, chance: random.Random, folder: Path) -> str:
        path = folder / chance.choice(["suite", "suite.jsonl", "suite.json", "suite.suite.gz"])
        make = chance.choice([self._lines, self._gym, self._templates])
        data = make(chance).encode("utf-8", "surrogatepass")
        if chance.random() < 0.1:
            data = data.decode("utf-8", "replace").encode(chance.choice(["utf-16", "utf-8-sig"]))
        if chance.random() < 0.15 or path.suffix == ".gz":
            data = gzip.compress(data * (chance.choice([1, 1, 300]) if len(data) < 50_000 else 1))
        path.write_bytes(data)
        for _ in range(chance.choice([0, 0, 1, 3])):
            mutations.spoil_bytes(path, chance)
        if chance.random() < 0.03:
            mutations.replace_file(path, chance)
        try:
            suite = read_suite(path, most=chance.choice([1, 50]))
            found = encoded(suite, self.side, chance.choice(["leave", "keep"]))
        except RnnlensError as error:
            return "refused" if len(str(error).splitlines()) == 1 else "different"
        for item in found.items:
            item.formula.holds(lambda region, _: float(region % 7))
        return "same" if read_suite(path, most=50).items else "different"

    def _lines(self, chance: random.Random) -> str:
        records: list[Any] = [dict(PAIR) for _ in range(chance.choice([1, 3, 200]))]
        for _ in range(chance.choice([0, 1, 3])):
            mutations.spoil_value(records, chance)
        if chance.random() < 0.2:
            records.append(chance.choice(mutations.ODD))
        return "\n".join(map(json.dumps, records))

    def _gym(self, chance: random.Random) -> str:
        suite = _gym()
        if chance.random() < 0.4:
            suite["predictions"][0]["formula"] = chance.choice(FORMULAS)
        for _ in range(chance.choice([0, 1, 3])):
            mutations.spoil_value(suite, chance)
        return json.dumps(suite, indent=chance.choice([None, 1]))

    def _templates(self, chance: random.Random) -> str:
        lines = TEMPLATES.splitlines()
        for _ in range(chance.choice([0, 1, 1, 4])):
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(LINES))
        if chance.random() < 0.3:
            del lines[chance.randrange(len(lines))]
        return "\n".join(lines) + "\n"
