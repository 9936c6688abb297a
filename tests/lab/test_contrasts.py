"""Which forms and contexts of a suite are set against each other."""

import json

import pytest

from rnnlens.lab.contrasts import NONE, Contrast, contrasts, forms, parted
from rnnlens.lab.encoded import encoded
from rnnlens.lab.suite import read_suite

SUITE = """N.sg: dog, bird
N.pl: dogs, birds
paradigm: number
the {N.sg|N.pl} in the {N} {sees|see}
paradigm: measured
{she|the} said <now> ,
paradigm: unequal
{she|the old dog} said <now> ,
paradigm: coupled
a {dog|bird} {sees|see}
"""


def asked(lens, path):
    return encoded(read_suite(path), lens.subject.session.text, "keep").items


def test_those_of_templates(formula, tmp_path):
    path = tmp_path / "a.suite"
    path.write_text(SUITE, encoding="utf-8")
    items = asked(formula, path)
    encode = formula.subject.session.text.encode
    some = {(one.paradigm, one.context, one.right, one.wrong) for one in forms(items)}
    sees, see = encode(["sees", "see"])
    assert ("number", tuple(encode("the dog in the birds".split())), sees, see) in some
    assert ("number", tuple(encode("the dogs in the birds".split())), see, sees) in some
    found = contrasts(items)
    by_name = {name: [one for one in found if one.paradigm == name]
               for name in ("number", "measured", "unequal", "coupled")}  # fmt: skip
    assert len(by_name["number"]) == 4
    one = next(o for o in by_name["number"] if o.condition == "incongruent, sg pl")
    assert (one.other, one.begin, one.right, one.wrong) == ("congruent, pl pl", 1, sees, see)
    (now,) = by_name["measured"]
    assert (now.first, now.second) == (
        tuple(encode(["she", "said"])),
        tuple(encode(["the", "said"])),
    )
    assert (now.right, now.wrong, now.begin) == (encode(["now"])[0], NONE, 0)
    assert by_name["unequal"] == []
    assert len(by_name["coupled"]) == 1


def test_those_of_a_suite_of_syntaxgym(formula, tmp_path):
    sentences = {"ms": "the dog|sees", "xs": "the dog|see", "mp": "the dogs|see", "xp":
                 "the dogs|sees"}  # fmt: skip
    record = {
        "meta": {"name": "number"},
        "predictions": [{"formula": "[(2;%ms%) < (2;%xs%)] & [(2;%mp%) < (2;%xp%)]"}],
        "items": [{"item_number": 1, "conditions": [
            {"condition_name": name, "regions": [
                {"region_number": k + 1, "content": t} for k, t in enumerate(text.split("|"))]}
            for name, text in sentences.items()]}],
    }  # fmt: skip
    path = tmp_path / "g.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    (one,) = contrasts(asked(formula, path))
    encode = formula.subject.session.text.encode
    assert {one.first, one.second} == {
        tuple(encode(["the", "dog"])),
        tuple(encode(["the", "dogs"])),
    }
    assert {one.right, one.wrong} == {*encode(["sees", "see"])}


@pytest.mark.parametrize("seed", range(3))
def test_parts_have_no_context_in_common(seed):
    # Each pair of contexts comes with three verbs; the last two pairs share a context.
    pairs = [((k,), (100 + k,)) for k in range(20)] + [((19,), (200,))]
    some = [Contrast("p", "a", "b", *pair, verb, 9) for pair in pairs for verb in range(3)]
    parts = parted(some, [20, 20], (seed, 0))
    assert all(abs(len(part) - size) <= 6 for part, size in zip(parts, (20, 20, 23), strict=True))
    assert sum(map(len, parts)) == len(some)
    seen = [{context for one in part for context in one.contexts} for part in parts]
    assert not seen[0] & seen[1]
    assert not seen[1] & seen[2]
    assert not seen[0] & seen[2]
