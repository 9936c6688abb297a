"""Small recorded states, and the same in every format."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import save_file

import rnnlens

WORDS = "the a dog dogs cat sees see .".split()
SENTENCES = [
    "the dog sees a cat .",
    "the dogs see a cat .",
    "a cat sees the dogs .",
    "a dog sees .",
]
FORMATS = ("safetensors", "npz", "npz-packed", "hdf5", "hdf5-packed", "parquet", "lstmvis")


def arrays(count: int = 60, seed: int = 0) -> dict[str, Any]:
    """Of some sentences, the states of a small network, with words and targets of three sorts."""
    chance = np.random.default_rng(seed)
    embedding, carry = chance.normal(size=(len(WORDS), 6)), 0.3 * chance.normal(size=(6, 6))
    texts = [SENTENCES[k].split() for k in chance.integers(len(SENTENCES), size=count)]
    words = np.array([WORDS.index(word) for text in texts for word in text])
    sizes = np.array([len(WORDS[k]) for k in words])
    states = []
    for text in texts:
        h = np.zeros(6)
        for word in text:
            h = np.tanh(embedding[WORDS.index(word)] + carry @ h)
            states.append(h)
    return {
        "x": embedding[words].astype(np.float32),
        "h1": np.array(states, np.float32),
        "lengths": np.array([len(text) for text in texts]),
        "words": words,
        "targets.short": (words < 2).astype(np.int64),
        "targets.size": sizes + 0.1 * chance.normal(size=len(words)),
        "targets.traits": np.stack([words % 2 == 0, words > 3], -1).astype(np.uint8),
    }  # fmt: skip


NAMES = {"words": WORDS, "short": ["no", "yes"], "traits": ["even", "late"]}


def write(folder: Path, form: str, given: dict[str, Any] | None = None) -> Path:
    """States in a format; LSTMVis knows neither lengths nor numbers and sets."""
    some = arrays() if given is None else given
    folder.mkdir(parents=True, exist_ok=True)
    if form == "safetensors":
        metadata = {f"names.{name}": json.dumps(names) for name, names in NAMES.items()}
        save_file(some, folder / "states.safetensors", metadata)
    elif form.startswith("npz"):
        named: dict[str, Any] = {f"names.{name}": np.array(names) for name, names in NAMES.items()}
        save = np.savez_compressed if "packed" in form else np.savez
        save(folder / "states.npz", **some, **named)
    elif form.startswith("hdf5"):
        packed = {"compression": "gzip"} if "packed" in form else {}
        with h5py.File(folder / "states.hdf5", "w") as file:
            for name, values in some.items():
                file.create_dataset(name.replace(".", "/"), data=values, **packed)
            for name, names in NAMES.items():
                file[f"names/{name}"] = names
    elif form == "parquet":
        lengths = some["lengths"]
        columns = {
            "sequence": pa.array(np.repeat(np.arange(len(lengths)), lengths)),
            "word": pa.array([WORDS[k] for k in some["words"]]),
            "short": pa.array([NAMES["short"][k] for k in some["targets.short"]]),
            "size": pa.array(some["targets.size"]),
            "traits": pa.array(some["targets.traits"].tolist(), pa.list_(pa.int8())),
            "x": pa.array(some["x"].tolist(), pa.list_(pa.float32())),
            "h1": pa.array(some["h1"].tolist(), pa.list_(pa.float32(), 6)),
        }
        pq.write_table(pa.table(columns), folder / "states.parquet")
    else:
        _lstmvis(folder, some)
    return folder


def _lstmvis(folder: Path, some: dict[str, Any]) -> None:
    with h5py.File(folder / "states.hdf5", "w") as file:
        file["inputs"], file["states1"] = some["x"], some["h1"]
    with h5py.File(folder / "train.hdf5", "w") as file:
        file["word_ids"] = some["words"]
    with h5py.File(folder / "short.hdf5", "w") as file:
        file["short"] = some["targets.short"]
    lines = [f"{word} {k}" for k, word in enumerate(WORDS)]
    (folder / "words.dict").write_text("\n".join(lines))
    (folder / "short.dict").write_text("no 0\nyes 1\n")
    (folder / "lstm.yml").write_text(
        "name: small\n"
        "files: {states: states.hdf5, train: train.hdf5, words: words.dict, short: short.hdf5,\n"
        "        short_dict: short.dict}\n"
        "word_sequence: {file: train, path: word_ids, dict_file: words}\n"
        "states:\n  file: states\n  types: [\n"
        "    {type: input, layer: 0, path: inputs},\n"
        "    {type: state, layer: 1, path: states1}\n  ]\n"
        "meta:\n  short: {file: short, path: short, dict: short_dict,\n"
        "          vis: {type: discrete, range: dict}}\n"
    )


def recorded(folder: Path, some: dict[str, Any] | None = None, **options: object) -> Path:
    """The same states, recorded sentence by sentence."""
    some = some or arrays()
    ends = np.cumsum(some["lengths"])
    named = {name: names for name, names in NAMES.items() if name != "words"}
    with rnnlens.record(folder, words=WORDS, targets=named, **options) as to:  # type: ignore[arg-type]
        for first, last in list(zip(ends - some["lengths"], ends, strict=True))[to.count :]:
            here = slice(first, last)
            to.add(
                {"x": some["x"][here], "h1": some["h1"][here]},
                some["words"][here],
                {name: some[f"targets.{name}"][here] for name in ("short", "size", "traits")},
            )
    return folder
