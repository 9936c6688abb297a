import codecs
import gc
import gzip
import warnings
from pathlib import Path

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.read.text_files import check_swelling, codec, files, head, lines


def written(folder: Path, data: bytes, name: str = "corpus.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_file_is_its_own_only_file(tmp_path):
    path = written(tmp_path, b"a b\n")
    written(tmp_path, b"c d\n", "neighbour.txt")
    assert files(path) == [path]


def test_a_folder_gives_every_visible_file_below_it_by_name(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("z.txt", "b/1.txt", "a.txt", ".hidden"):
        written(tmp_path, b"x", name)
    assert files(tmp_path) == [tmp_path / name for name in ("a.txt", "b/1.txt", "z.txt")]


def test_a_missing_source_names_what_can_be_given(tmp_path):
    with pytest.raises(RnnlensError, match=r"no corpus at .*missing.*nltk:NAME"):
        files(tmp_path / "missing")


def test_a_source_whose_name_the_system_refuses_is_an_error_for_users(tmp_path):
    with pytest.raises(RnnlensError, match="cannot read"):
        files(tmp_path / ("a sentence instead of a path " * 20))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(RnnlensError, match="holds no file"):
        files(tmp_path)


@pytest.mark.parametrize("data", [b"a b\nc\n", b"a b\r\nc\r\n", b"a b\rc", b"\xef\xbb\xbfa b\nc"])
def test_line_ends_and_byte_order_mark_are_dropped(tmp_path, data):
    assert list(lines(written(tmp_path, data), "utf-8")) == ["a b", "c"]


def test_a_mark_inside_the_text_and_other_white_space_stay(tmp_path):
    path = written(tmp_path, "a \n\ufeffb\x0bc\u2028d\t\n".encode())
    assert list(lines(path, "utf-8")) == ["a ", "\ufeffb\x0bc\u2028d\t"]


@pytest.mark.parametrize("name", ["corpus.txt.gz", "corpus.txt"])
def test_gzip_is_told_by_content_whatever_the_name(tmp_path, name):
    path = written(tmp_path, gzip.compress("\ufeffä b\nc\n".encode()), name)
    assert list(lines(path, "utf-8")) == ["ä b", "c"]


def test_head_is_the_first_bytes_unzipped(tmp_path):
    assert head(written(tmp_path, b"abcdef"), 4) == b"abcd"
    assert head(written(tmp_path, gzip.compress(b"abcdef", mtime=0), "z"), 4) == b"abcd"


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"a b\n", gzip.compress(b"a b\n", mtime=0)])
@pytest.mark.parametrize("read", [head, lambda path: list(lines(path, "utf-8"))])
def test_files_are_closed_after_reading(tmp_path, data, read):
    path = written(tmp_path, data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(path)
        gc.collect()
    assert [str(w.message) for w in caught] == []


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("é ü\n".encode("latin-1"), "latin-1"),
        ("é ü\n".encode("cp1252"), "cp1252"),
        ("é ü\n".encode("utf-16"), "utf-16"),
        ("é ü\n".encode("utf-16-le"), "UTF-16-LE"),
        ("é ü\n".encode("utf-32"), "utf-32"),
        (codecs.BOM_UTF8 + "é ü\n".encode(), "utf-8-sig"),
    ],
)
def test_other_encodings_are_read_when_named(tmp_path, data, encoding):
    assert list(lines(written(tmp_path, data), encoding)) == ["é ü"]


def failure(path: Path, encoding: str = "utf-8") -> str:
    with pytest.raises(RnnlensError) as caught:
        list(lines(path, encoding))
    message = str(caught.value)
    assert str(path) in message or repr(encoding) in message
    assert "\n" not in message
    return message


def test_a_wrong_encoding_is_named_with_others_to_try(tmp_path):
    path = written(tmp_path, "le café\n".encode("latin-1"))
    assert "is not utf-8" in failure(path)
    assert "--encoding latin-1" in failure(path)
    assert "try another --encoding" in failure(path, "ascii")


def test_an_encoding_nobody_knows_is_refused(tmp_path):
    assert "no encoding is called 'klingon'" in failure(written(tmp_path, b"a b\n"), "klingon")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_binary_file_is_refused(tmp_path, pack):
    path = written(tmp_path, pack(b"\x7fELF\x02\0\0\0 words\n"))
    assert "binary file" in failure(path)


def test_a_truncated_gzip_is_refused_after_what_can_be_read(tmp_path):
    text = "".join(f"line {k * k % 9973}\n" for k in range(50_000)).encode()
    path = written(tmp_path, gzip.compress(text)[:-4000], "cut.gz")
    assert "cannot read" in failure(path)
    assert next(lines(path, "utf-8")) == "line 0"


@pytest.mark.parametrize("place", [10, 12, -6], ids=["block", "content", "checksum"])
def test_a_damaged_gzip_is_refused(tmp_path, place):
    data = bytearray(gzip.compress(b"one line\n" * 50))
    data[place] ^= 0xFF
    assert "is the file whole" in failure(written(tmp_path, bytes(data)))


def test_what_the_system_cannot_open_is_refused(tmp_path):
    assert "Is a directory" in failure(tmp_path)


@pytest.mark.parametrize(
    "encoding", ["undefined", "punycode", "idna", "unicode_escape", "raw_unicode_escape", "a\0b"]
)
def test_encodings_that_no_file_has_are_refused(tmp_path, encoding):
    with pytest.raises(RnnlensError, match="try utf-8"):
        codec(encoding)
    with pytest.raises(RnnlensError, match="try utf-8"):
        list(lines(written(tmp_path, b"the dog"), encoding))


@pytest.mark.slow
def test_a_gzipped_file_that_swells_too_much_is_refused(tmp_path):
    path = written(tmp_path, gzip.compress(b"a dog\n" * 13_000_000), "bomb.txt.gz")
    with pytest.raises(RnnlensError, match=r"unzips to more than 67 MB, 590 times its size"):
        check_swelling(path, 100)
    check_swelling(path, 1000)


def test_small_files_may_swell_and_plain_ones_do_not(tmp_path):
    check_swelling(written(tmp_path, gzip.compress(b"a dog\n" * 10_000), "a.gz"), 1)
    check_swelling(written(tmp_path, b"a dog\n" * 20_000), 1)
