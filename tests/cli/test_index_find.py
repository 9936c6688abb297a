"""`rnnlens index` and `rnnlens find`."""

import json
import shlex
import shutil

import pytest
from tests.fixtures import formula_run
from tests.search.conftest import corpus_text

from rnnlens.base.files import locked
from rnnlens.run.folder import bundled

QUESTION = "l2 entropy > 1 and word = dog"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run, and beside it a corpus."""
    folder = tmp_path_factory.mktemp("find")
    (folder / "words.conllu").write_text(corpus_text(20))
    return formula_run(folder / "run")


@pytest.fixture(scope="module")
def made(run):
    from rnnlens.cli import main

    corpus = str(run.parent / "words.conllu")
    flags = ["--states", "int8", "--state-kinds", "l2,h2", "--device", "cpu"]
    assert main(["index", str(run), "--corpus", corpus, *flags]) == 0
    return run


@pytest.mark.slow
def test_an_index_is_made_once(made, command):
    corpus = str(made.parent / "words.conllu")
    again = command(
        "index", made, "--corpus", corpus, "--states", "int8", "--state-kinds", "l2,h2",
        "--device", "cpu",
    )  # fmt: skip
    assert again.code == 0
    assert "is there already" in again.out
    other = command("index", made, "--corpus", corpus, "--device", "cpu")
    assert other.code == 2
    assert "give --anew" in other.err
    elsewhere = made.parent / "elsewhere"
    answer = command("index", made, "--corpus", corpus, "-o", elsewhere, "--device", "cpu")
    said = answer.out.partition("ask it: rnnlens ")[2]
    assert command(*shlex.split(said)).out.split()[0] == "tag"
    for words in (["--index", elsewhere, made, "count"], [made, "--index", elsewhere, "count"]):
        assert command("find", *words).code == 0
    assert "unrecognized arguments: two" in command("find", made, "count", "two").err
    assert command("find", made, "count", "--index", elsewhere).out.split()[:2] == [
        "count",
        "words",
    ]


def test_answers_in_the_terminal(made, command):
    answer = command("find", made, QUESTION, "--view", "http://127.0.0.1:8000/")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert " words (" in lines[0]
    assert any("[dog]" in line for line in lines)
    assert any(line.startswith("  l2 ") for line in lines)
    assert any(line.startswith("  http://127.0.0.1:8000/#text=") for line in lines)
    counted = command("find", made, "l2 disagrees with s2 count by tag limit 2").out.splitlines()
    assert counted[0].split() == ["tag", "count", "words", "share", "low", "high"]
    assert len(counted) == 3


def test_answers_as_files_and_sql(made, command, tmp_path):
    rows = json.loads(command("find", made, QUESTION, "--json").out)
    assert {row["word"] for row in rows} == {"dog"}
    saved = command("find", made, QUESTION, "-o", tmp_path / "found.csv")
    assert f"{len(rows)} rows in" in saved.out
    assert (tmp_path / "found.csv").read_text().startswith("sentence,position,")
    sql = command("find", made, QUESTION, "--sql").out
    assert sql.startswith("SELECT ")
    given = json.loads(command("find", made, "--sql", sql, "--json").out)
    assert [row["position"] for row in given] == [row["position"] for row in rows]
    table = command("find", made, "--sql", "SELECT tag, count(*) AS n FROM words GROUP BY tag")
    assert table.out.split()[:2] == ["tag", "n"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["count", "-o", "found.xlsx"], "give a file that ends in .csv"),
        ([], "give a question, or SQL with --sql"),
        (["count", "--sql", "SELECT 1"], "give a question, or SQL with --sql"),
        (["--sql", "DROP VIEW words"], "an index is only read"),
        (
            ["--sql", "SELECT * FROM read_csv('/etc/passwd')"],
            "the SQL cannot be answered",
        ),
        (["count", "--index", "nowhere"], "has no index; make one"),
    ],
)
def test_what_find_refuses(made, command, words, message):
    answer = command("find", made, *words)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert message in line


def test_a_wrong_question_is_shown_with_the_place(made, command):
    answer = command("find", made, "l2 expcts verb")
    assert answer.code == 2
    question, caret, line = answer.err.splitlines()
    assert (question, caret) == ("l2 expcts verb", "   ^")
    assert line.endswith("did you mean expects?")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "names no corpus; give one with --corpus"),
        (["--corpus", "nowhere.conllu"], "no corpus at nowhere.conllu"),
        (["--corpus", "CORPUS", "--split", "test"], "it has no parts; leave --split out"),
        (["--corpus", "CORPUS", "--states", "int4"], "choose int8 or fp16"),
        (["--corpus", "CORPUS", "--states", "int8", "--state-kinds", "l9"], "no kind 'l9'"),
        (["--corpus", "CORPUS", "--semantic", "output+7"], "no probes for the semantic 'output+7'"),
    ],
)
def test_what_index_refuses(run, command, tmp_path, words, message):
    own = shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("index"))
    corpus = str(run.parent / "words.conllu")
    answer = command("index", own, *[corpus if w == "CORPUS" else w for w in words])
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert message in line
    assert not (own / "index").exists()


@pytest.mark.parametrize("name", bundled())
def test_the_bundled_runs_are_left_alone(command, name):
    answer = command("index", name, "--corpus", "words.conllu")
    assert answer.code == 2
    assert "the bundled run stays as it is; give -o FOLDER" in answer.err
    assert f"rnnlens find {name} QUESTION --index FOLDER" in answer.err


@pytest.mark.slow
def test_a_model_whose_labels_do_not_follow(run, command, tmp_path):
    corpus = str(run.parent / "words.conllu")
    made = command(
        "index", "english-tags", "--corpus", corpus, "-o", tmp_path / "out", "--device", "cpu"
    )
    assert made.out.strip().endswith(f"'count by y label' --index {tmp_path / 'out'}")
    rank = command("find", "english-tags", "y rank = 1", "--index", tmp_path / "out")
    assert "the corpus does not tell which came" in rank.err
    counted = command("find", "english-tags", "count by y label", "--index", tmp_path / "out")
    assert "NOUN" in counted.out


@pytest.mark.slow
def test_files_of_others_are_left_alone(run, command, tmp_path):
    corpus = str(run.parent / "words.conllu")
    words = ("index", run, "--corpus", corpus, "--device", "cpu", "-o", tmp_path / "out")
    (tmp_path / "out").mkdir()
    theirs = tmp_path / "out" / "part-00000.parquet"
    theirs.write_text("theirs")
    for flags in ([], ["--anew"]):
        answer = command(*words, *flags)
        assert answer.code == 2
        assert "holds files that are no index; choose an empty or new folder" in answer.err
        assert theirs.read_text() == "theirs"
    theirs.unlink()
    assert command(*words).code == 0
    beside = [tmp_path / "out" / name for name in ("part-00000-abc.snappy.parquet", "part-1.json")]
    for path in beside:
        path.write_text("theirs")
    with locked(tmp_path / "out"):
        assert "is being written by process" in command(*words, "--anew").err
    assert command(*words, "--anew").code == 0
    assert [path.read_text() for path in beside] == ["theirs"] * 2


def test_the_parts_of_a_runs_own_corpus(trained_run, command, tmp_path):
    """A run that was trained here knows its corpus, and which sentences are for testing."""
    own = shutil.copytree(trained_run, tmp_path / "run")
    answer = command("index", own, "--split", "valid,test", "--device", "cpu")
    assert answer.code == 0, answer.err
    counts = json.loads(command("find", own, "position = 0 count by split", "--json").out)
    assert {row["split"] for row in counts} == {"valid", "test"}
    wrong = command("index", own, "--split", "dev", "--device", "cpu")
    assert "--split dev: give some of train, valid, test" in wrong.err
    record = json.loads((own / "run.json").read_text())
    record.pop("checksum")
    record["corpus"]["source"] = "moved.conllu"
    (own / "run.json").write_text(json.dumps(record))
    moved = command("index", own, "--anew", "--device", "cpu")
    assert "was at moved.conllu and is not there now; say where it is: --corpus" in moved.err
