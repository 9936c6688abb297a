"""SQL that people write: it reads the index and nothing else, and what is wrong they can mend."""

import re
import shutil

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.run.folder import Run
from rnnlens.search.store import Deadline, Index


@pytest.fixture
def run(indexed, tmp_path):
    """A copy that must stay as it is."""
    return Run(shutil.copytree(indexed.subject.run.path, tmp_path / "run"))


FORBIDDEN = {
    "SELECT * FROM read_csv('/etc/passwd')": "it reads what is not the index's; mend the SQL",
    "SELECT * FROM read_text('/etc/passwd')": "it reads what is not the index's",
    "SELECT * FROM glob('/etc/*')": "it reads what is not the index's",
    "SELECT * FROM '/etc/passwd'": "there is no '/etc/passwd'; the tables are words and labels",
    "SELECT * FROM index": "there is no 'index'",
    "SELECT nothing FROM words": "there is no 'nothing'; the tables are words and labels",
    "SELECT nothing(word) FROM words": "there is no 'nothing'",
    "SELECT word, count(*) FROM words": "its columns and functions do not fit together",
    "SELECT word::INT FROM words": "some value is none that can be computed with",
    "SELECT list(a) FROM range(300000000) t(a)": "it takes more memory than 1GB; mend the SQL",
    "SELECT * FROM duckdb_settings() WHERE nothing": "mend the SQL",
    "COPY words TO '/tmp/rnnlens-words.csv'": "only read",
    "COPY (SELECT 1) TO '{part}'": "only read",
    "ATTACH '/tmp/rnnlens.db'": "only read",
    "INSTALL httpfs": "only read",
    "SET memory_limit = '90GB'": "only read",
    "DROP VIEW words": "only read",
    "CREATE TABLE mine AS SELECT 1": "only read",
    "INSERT INTO labels VALUES (1, 'a', 'b')": "only read",
    "SELECT 1; DROP VIEW words": "only read",
    "PRAGMA enable_profiling": "only read",
    "": "only read",
    "WITH x AS (DELETE FROM labels RETURNING *) SELECT count(*) FROM x": "mend the SQL",
    "WITH x AS (INSERT INTO labels VALUES (1, 'a', 'b') RETURNING *) SELECT * FROM x": "mend the",
    "SELECT tag, tag FROM words": "two columns of the answer are called 'tag'",
    "SELEC 1": "it is not understood near 'SELEC'; mend the SQL",
}


# What a person cannot do anything about, as it is the database's own.
ENGINE = re.compile(r"(?i)duckdb|error:|candidate|temp_directory|pragma|LINE 1|binder|catalog|\n")


def test_sql_reads_the_index_and_nothing_else(run):
    index = Index.of(run)
    path = index.folder / index.manifest.parts[0].file
    before = path.read_bytes()
    words = ["a python variable that SQL must not see"]  # noqa: F841
    for sql, message in FORBIDDEN.items():
        with pytest.raises(RnnlensError, match=message) as refused:
            index.ask(sql.replace("{part}", str(path)), by_user=True)
        assert not ENGINE.search(str(refused.value))
    assert path.read_bytes() == before
    assert index.ask("SELECT count(*) FROM words")[0][0].as_py() == index.manifest.rows
    assert index.ask("SELECT count(*) FROM labels")[0][0].as_py() == len(index.labels)
    with pytest.raises(RnnlensError, match=r"took more than 0\.05 seconds"):
        index.ask("SELECT count(*) FROM range(100000000) a, range(1000000) b", Deadline(0.05))
    assert index.ask("SELECT 1")[0][0].as_py() == 1  # it goes on answering


def test_only_whose_sql_it_is_can_mend_it(run):
    index = Index.of(run)
    with pytest.raises(RnnlensError, match="mend the SQL"):
        index.ask("SELECT nothing FROM words", by_user=True)
    with pytest.raises(RnnlensError, match="; ask for less, or make it anew: rnnlens index"):
        index.ask("SELECT nothing FROM words")
