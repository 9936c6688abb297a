from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.read.brackets import read_brackets
from rnnlens.corpus.read.formats import read

TREE = "( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)) )"
READ = Sentence(("the", "dog", "barks", "."), ("DET", "NOUN", "VERB", "PUNCT"))


def sentences(folder: Path, text: str) -> list[Sentence]:
    path = folder / "wsj_0001.mrg"
    path.write_text(text)
    return list(read_brackets(path, "utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        TREE,
        TREE + "\n",
        TREE[2:-2],
        TREE.replace(" ", "\n  "),
        TREE.replace(" (", "("),
        "\n\n( \n" + TREE[1:].replace(" (VP", "\n\n\t(VP") + "\n\n",
    ],
)
def test_a_tree_reads_the_same_however_it_is_laid_out(tmp_path, text):
    assert sentences(tmp_path, text) == [READ]


def test_trees_follow_one_another_on_one_line_or_several(tmp_path):
    assert sentences(tmp_path, f"{TREE} {TREE}\n{TREE}") == [READ] * 3


def test_nesting_is_kept_apart_from_words(tmp_path):
    text = "(S (NP (NP (NNP Ann)) (POS 's)) (VP (MD will) (VP (VB go) (ADVP (RB home)))))"
    assert sentences(tmp_path, text) == [
        Sentence(("Ann", "'s", "will", "go", "home"), ("PROPN", "PART", "AUX", "VERB", "ADV"))
    ]


def test_traces_are_dropped(tmp_path):
    text = "(S (NP-SBJ (-NONE- *T*-1)) (VP (TO to) (VP (VB go) (NP (-NONE- *)))))"
    assert sentences(tmp_path, text) == [Sentence(("to", "go"), ("PART", "VERB"))]


def test_a_tree_of_traces_alone_is_no_sentence(tmp_path):
    assert sentences(tmp_path, f"( (S (-NONE- *)) )\n() ( )\n{TREE}") == [READ]


@pytest.mark.parametrize(
    ("escaped", "word"),
    [
        ("-LRB-", "("),
        ("-RRB-", ")"),
        ("-LSB-", "["),
        ("-RSB-", "]"),
        ("-LCB-", "{"),
        ("-RCB-", "}"),
        (r"1\/2", "1/2"),
        (r"and\/or\/not", "and/or/not"),
        (r"\*", "*"),
        ("--", "--"),
        ("``", "``"),
    ],
)
def test_escaped_words_are_written_out(tmp_path, escaped, word):
    assert sentences(tmp_path, f"(S (NN {escaped}))")[0].words == (word,)


def test_bracket_words_are_punctuation_and_unknown_tags_are_x(tmp_path):
    text = "(S (-LRB- -LRB-) (QQQ what) (-RRB- -RRB-))"
    assert sentences(tmp_path, text) == [Sentence(("(", "what", ")"), ("PUNCT", "X", "PUNCT"))]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{TREE}\n\n( (S\n (NP (NN dog))\n", r"opens at line 3 never closes; is the file whole"),
        (TREE[:-1], r"opens at line 1 never closes"),
        (f"{TREE}\n{TREE})\n", r"line 2: a bracket closes that never opened"),
        (f"{TREE}\n)", r"line 2: a bracket closes"),
        (f"{TREE}\n\nA note\n", r"line 3: 'A' stands outside any bracket.*give --format"),
        ("Running text (with brackets).", r"line 1: 'Running' stands outside"),
    ],
)
def test_brackets_that_do_not_match_are_named_by_line(tmp_path, text, complaint):
    with pytest.raises(RnnlensError, match=complaint) as caught:
        sentences(tmp_path, text)
    assert "wsj_0001.mrg" in str(caught.value)


def test_whole_trees_before_a_fault_are_given_first(tmp_path):
    path = tmp_path / "x.mrg"
    path.write_text(f"{TREE}\n)")
    stream = read_brackets(path, "utf-8")
    assert next(stream) == READ
    with pytest.raises(RnnlensError):
        next(stream)


def test_a_treebank_folder_may_hold_a_readme_beside_the_trees(tmp_path):
    (tmp_path / "00").mkdir()
    (tmp_path / "00" / "wsj_0001.mrg").write_text(TREE)
    (tmp_path / "00" / "wsj_0002.mrg").write_text("(S (NN second))")
    (tmp_path / "README").write_text("These are the trees (all of them).")
    assert list(read(str(tmp_path))) == [READ, Sentence(("second",), ("NOUN",))]
