"""States of every format are the same states; what is wrong with a file is said in one line."""

import json
import zipfile
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file
from tests import recorded

from rnnlens.base.errors import RnnlensError
from rnnlens.states.kept import opened


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, marks=() if form.startswith(("safetensors", "npz")) else pytest.mark.slow)
     for form in recorded.FORMATS],
)  # fmt: skip
def test_every_format_gives_the_same_states(tmp_path, form):
    some = recorded.arrays()
    kept = opened(
        recorded.write(tmp_path / form, form, some), end="." if form == "lstmvis" else None
    )
    assert kept.starts.tolist() == [0, *np.cumsum(some["lengths"])]
    names = ("inputs", "states1") if form == "lstmvis" else ("x", "h1")
    for name, wanted in zip(names, ("x", "h1"), strict=True):
        np.testing.assert_array_equal(kept.kinds[name].rows(3, 17), some[wanted][3:17])
        np.testing.assert_array_equal(kept.kinds[name].rows(0, kept.rows), some[wanted])
    assert [kept.word(row) for row in range(9)] == [recorded.WORDS[k] for k in some["words"][:9]]
    short = kept.targets["short"]
    labels = [("no", "yes")[k] for k in some["targets.short"]]
    assert [short.names[k] for k in short.values] == labels
    if form != "lstmvis":
        np.testing.assert_array_equal(kept.targets["size"].values, some["targets.size"])
        np.testing.assert_array_equal(kept.targets["traits"].values, some["targets.traits"])


def test_files_of_a_folder_are_parts_of_one(tmp_path):
    some = recorded.arrays()
    cut = int(some["lengths"][:20].sum())
    for k, rows in enumerate((slice(0, cut), slice(cut, None))):
        sequences = slice(0, 20) if k == 0 else slice(20, None)
        part: dict[str, Any] = {
            n: v[sequences if n == "lengths" else rows] for n, v in some.items()
        }
        named: dict[str, Any] = {
            "names.words": np.array(recorded.WORDS[:: -1 if k else 1])
        }  # in another order
        if k:
            part["words"] = len(recorded.WORDS) - 1 - part["words"]
        np.savez(tmp_path / f"part-{k}.npz", **part, **named)
    kept = opened(tmp_path)
    np.testing.assert_array_equal(
        kept.kinds["h1"].rows(cut - 2, cut + 3), some["h1"][cut - 2 : cut + 3]
    )
    assert [kept.word(row) for row in range(kept.rows)] == [
        recorded.WORDS[k] for k in some["words"]
    ]


def test_texts_are_found_by_words_and_by_number(tmp_path):
    kept = opened(recorded.write(tmp_path, "npz"))
    first = kept.number("a dog sees .")
    assert " ".join(kept.words_of(first)) == "a dog sees ." == kept.text(first)
    assert kept.number("#7") == 7
    later = next(k for k in range(first + 1, 60) if kept.words_of(k) == kept.words_of(first))
    assert kept.text(later) == f"#{later}"  # its words find an earlier one
    with pytest.raises(
        RnnlensError, match="no recorded text reads 'a dog flies', and there is no netw"
    ):
        kept.number("a dog flies")
    with pytest.raises(RnnlensError, match="there is no text #60; there is #0 to #59"):
        kept.number("#60")


def test_texts_with_bars_and_braces_are_named_by_number(tmp_path):
    some: dict[str, Any] = {
        "h": np.zeros((6, 2), np.float32), "words": np.array([0, 1, 0, 2, 0, 0]),
        "lengths": np.array([2, 2, 2]), "names.words": np.array(["a", "|", "{"]),
    }  # fmt: skip
    np.savez(tmp_path / "a.npz", **some)
    kept = opened(tmp_path / "a.npz")
    assert [kept.text(k) for k in range(3)] == ["#0", "#1", "a a"]  # as two texts are written {a|b}


def test_arrays_of_three_axes_numbers_as_names_and_streams(tmp_path):
    states = np.random.default_rng(0).normal(size=(5, 7, 3)).astype(np.float32)
    np.savez(tmp_path / "a.npz", h=states, words=np.arange(35).reshape(5, 7) / 4)
    kept = opened(tmp_path / "a.npz")
    assert kept.starts.tolist() == [0, 7, 14, 21, 28, 35]
    assert kept.words_of(1)[:3] == ("1.75", "2", "2.25")
    np.testing.assert_array_equal(kept.kinds["h"].rows(7, 14), states[1])
    np.savez(tmp_path / "b.npz", h=np.zeros((150, 2), np.float16))
    stream = opened(tmp_path / "b.npz")
    assert stream.starts.tolist() == [0, 64, 128, 150]
    assert stream.words_of(1)[:2] == ("0", "1")
    assert stream.text(1) == "#1"


def _changed(**changes):
    some = {**recorded.arrays(), **changes}
    return {name: value for name, value in some.items() if value is not None}


NO_STATES = dict.fromkeys(("x", "h1"))
BAD = [
    ({"lengths": np.array([3, 4])}, "lengths add up to 7, and states have"),
    ({"lengths": np.array([-1, *recorded.arrays()["lengths"][1:]])}, "has the length -1"),
    ({"lengths": np.ones((2, 2), int)}, "lengths must be whole numbers on one axis"),
    ({"lengths": recorded.arrays()["lengths"].astype(float)}, "lengths must be whole numbers"),
    ({"words": np.array([0, 1])}, "words has the shape"),
    ({"words": recorded.arrays()["words"] - 5}, "a word is -5"),
    ({"words": recorded.arrays()["words"] + 5}, "8 are named"),
    ({"words": np.full(len(recorded.arrays()["words"]), np.nan)}, "a word is nan"),
    ({"x": recorded.arrays()["x"][:5]}, "give every kind as many rows"),
    ({"targets.short": np.array([0, 1, 0])}, "give a target for each row or for each sequence"),
    ({"targets.short": 0 * recorded.arrays()["words"] - 1}, "no row has a target short"),
    ({"targets.size": np.full(len(recorded.arrays()["words"]), np.inf)}, "is infinite"),
    ({"targets.traits": recorded.arrays()["targets.traits"] + 3}, "a 0 or a 1 for each label"),
    ({"targets.Bad Name": recorded.arrays()["words"]}, "a target cannot be called"),
    ({"odd": np.arange(3)}, "is neither states"),
    ({"a b": recorded.arrays()["x"]}, "a kind cannot be called 'a b'"),
    (NO_STATES, "has no states"),
    ({"x": np.zeros((0, 3), np.float32), "h1": np.zeros((0, 3), np.float32)}, "0 rows of states"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), BAD, ids=lambda value: str(value)[:30])
def test_what_does_not_fit_is_said_in_one_line(tmp_path, changes, said):
    recorded.write(tmp_path, "npz", _changed(**changes))
    with pytest.raises(RnnlensError, match=said) as error:
        opened(tmp_path)
    assert "\n" not in str(error.value)


def _refused(path, said):
    with pytest.raises(RnnlensError, match=said) as error:
        opened(path)
    assert "\n" not in str(error.value)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    np.savez(tmp_path / "a.npz", h=np.zeros((4, 2)), words=np.array([Trap()] * 4, object))
    _refused(tmp_path, "is a pickle, which could run anything and is never opened")
    assert not (tmp_path / "opened").exists()


def test_npz_that_swells_or_lies(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        head = (
            b"\x93NUMPY\x01\x00v\x00"
            + str({"descr": "<f4", "fortran_order": False, "shape": (10**9, 100)})
            .ljust(117)
            .encode()
            + b"\n"
        )
        file.writestr("h.npy", head + bytes(10**6))
    _refused(tmp_path, "is not as large as it says")
    np.savez(tmp_path / "a.npz", h=np.zeros((6, 4), order="F"))
    _refused(tmp_path, "lies column by column")
    np.savez(tmp_path / "a.npz", h=np.zeros((6, 4), ">f4"))
    _refused(tmp_path, "give plain numbers")
    (tmp_path / "a.npz").write_bytes(b"PK nothing")
    _refused(tmp_path, "is damaged")


def test_safetensors_whose_header_lies(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"h": np.ones((6, 4), np.float32), "g": np.ones((6, 4), np.float32)}, path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")

    def written(header, **more):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])

    header = json.loads(data[8 : 8 + size])
    written({**header, "h": {**header["h"], "shape": [60, 4]}})
    _refused(tmp_path, "is not as large as its shape says")
    written({**header, "h": {**header["h"], "data_offsets": [48, 144]}})
    _refused(tmp_path, "lie in one another")
    written({**header, "h": {**header["h"], "data_offsets": [10**12, 10**12 + 96]}})
    _refused(tmp_path, "is not as large as its shape says")
    written({**header, "h": {**header["h"], "dtype": "F8_E4M3"}})
    _refused(tmp_path, "is F8_E4M3; give")
    written({**header, "h": 3})
    _refused(tmp_path, "does not say what 'h' is")
    written(b"[" * 100_000)
    _refused(tmp_path, "its header is no JSON")
    written(b'{"h": 1, "h": 2}')
    _refused(tmp_path, "stands there twice")
    path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")
    _refused(tmp_path, "its header would have")
    path.write_bytes(b"")
    _refused(tmp_path, "damaged")


@pytest.mark.slow
def test_hdf5_that_leads_elsewhere_or_swells(tmp_path):
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file["h"] = h5py.ExternalLink("/etc/passwd", "/")
    _refused(tmp_path, "'h' is a link, which may lead anywhere")
    (tmp_path / "secret").write_bytes(bytes(80))
    with h5py.File(path, "w") as file:
        file.create_dataset("h", (10, 2), "f4", external=[(str(tmp_path / "secret"), 0, 80)])
    _refused(path, "lies in another file")
    with h5py.File(path, "w") as file:
        file.create_dataset("h", (10**8, 100), "f4", chunks=(1000, 100), compression="gzip")
    _refused(path, "would unpack to")
    with h5py.File(path, "w") as file:
        file["h"], file["loop"] = np.zeros((4, 2)), file["/"]
    assert opened(path).rows == 4
    path.write_bytes(path.read_bytes()[:700])
    _refused(path, "is damaged")


@pytest.mark.slow
def test_lstmvis_that_names_files_elsewhere(tmp_path):
    recorded.write(tmp_path, "lstmvis")
    said = (tmp_path / "lstm.yml").read_text()
    (tmp_path / "lstm.yml").write_text(said.replace("words.dict", "../words.dict"))
    _refused(tmp_path, "which is no file in its folder")
    (tmp_path / "lstm.yml").write_text("a: &a [1]\nb: [*a, *a]\n")
    _refused(tmp_path, "has aliases")
    (tmp_path / "lstm.yml").write_text(said.replace("word_ids", "nothing"))
    _refused(tmp_path, "has no 'nothing'")
    (tmp_path / "lstm.yml").write_text(said)
    (tmp_path / "words.dict").write_bytes(b"\xff\xfe 1\n")
    _refused(tmp_path, "is no UTF-8")


@pytest.mark.release
def test_parquet_that_is_odd_or_swells(tmp_path):
    path = tmp_path / "a.parquet"

    def written(**columns):
        pq.write_table(pa.table(columns), path)

    lists = pa.array([[1.0, 2.0], [3.0]])
    written(h=lists)
    _refused(path, "rows of 'h' have different lengths")
    written(h=pa.array([[1.0, 2.0], None]))
    _refused(path, "has rows without a value")
    written(h=pa.array([[1.0, 2.0]] * 4), when=pa.array([1, 2, 3, 4], pa.timestamp("s")))
    _refused(path, "give numbers, texts or lists")
    binary = pa.array([b"\xff\xfe"] * 4).view(pa.string())
    written(h=pa.array([[1.0, 2.0]] * 4), word=binary)
    _refused(path, "is no UTF-8|[Ii]nvalid")
    written(h=pa.array([[0.0] * 100] * 2_000_000, pa.list_(pa.float64(), 100))[:0])
    _refused(path, "no rows")
    path.write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    _refused(path, "is damaged")


def test_libraries_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (tmp_path / "a.h5").touch()
    _refused(
        tmp_path, r"hdf5 files need h5py and pyyaml; install them: pip install 'rnnlens\[states\]'"
    )


def test_a_file_that_is_cut_meanwhile_is_noticed(tmp_path):
    kept = opened(recorded.write(tmp_path, "safetensors"))
    path = tmp_path / "states.safetensors"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RnnlensError, match="it ends before what its header says"):
        kept.kinds["x"].rows(0, kept.rows)


def test_folders_that_hold_nothing_or_too_much(tmp_path):
    _refused(tmp_path / "nowhere", "never been made")
    _refused(tmp_path, "and has none")
    recorded.write(tmp_path, "npz")
    recorded.write(tmp_path, "safetensors")
    _refused(tmp_path, "npz and safetensors")
