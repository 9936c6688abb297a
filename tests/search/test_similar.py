"""The nearest states of a corpus, against a loop over all of them."""

import os
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.fixtures import formula_probes, formula_run
from tests.search.conftest import CPU, build, builder_of
from tests.search.naive import jensen_shannon

from rnnlens.ask.corpus_questions import SimilarQuestion, similar_states
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256
from rnnlens.lens.open import opened
from rnnlens.reading.links import link
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import Run
from rnnlens.search import similar as similar_module
from rnnlens.search import store
from rnnlens.search.answers import Nearness, Similar
from rnnlens.search.similar import StoredStates
from rnnlens.search.store import Deadline, Index, index_of

TEXT = "the old dogs see a bird"


def nearest(
    subject: Subject, text: str, column: str, row: int, count: int, by: Nearness
) -> Similar:
    """The states nearest to one of a text, as the page asks for them."""
    question = SimilarQuestion(text=text, column=column, row=row, count=count, by=by)
    return similar_states(Subjects.of(subject), question)


@pytest.fixture(scope="module")
def state(indexed):
    return indexed(TEXT)["l2"][3]


@pytest.fixture(scope="module")
def corpus(indexed, grids):
    """Every l2 of the corpus with its place: the state as its probe takes it, and what it says."""
    stack = indexed.subject.probes.stacks["output"]
    k = stack.kinds.index("l2")
    every = []
    for number, grid in enumerate(grids):
        states, _ = indexed.subject.session.read(grid.reading.ids, 0, len(grid))
        z = stack.prepare(k, states["l2"])[:, : stack.widths[k]].double().numpy()
        p = indexed.subject.probes.logits("l2", states["l2"]).double().softmax(1)
        every += [(number, t, z[t], p[t]) for t in range(len(grid))]
    return every


def prepared(lens, state):
    stack = lens.subject.probes.stacks["output"]
    k = stack.kinds.index("l2")
    vector = torch.from_numpy(state.vector())[None]
    return stack.prepare(k, vector)[0, : stack.widths[k]].double().numpy()


def test_the_nearest_by_cosine_are_those_of_a_loop(indexed, grids, state, corpus):
    every = np.stack([z for *_, z, _ in corpus])  # each unit by how it varies in the corpus
    z, mine = ((some - every.mean(0)) / every.std(0) for some in (every, prepared(indexed, state)))
    lengths = np.linalg.norm(z, axis=1) * np.linalg.norm(mine)
    distances = (1 - z @ mine / np.maximum(1e-12, lengths)).tolist()
    near = state.similar(5)
    assert [one.distance for one in near] == pytest.approx(sorted(distances)[:5], abs=2e-3)
    at = {(number, t): d for (number, t, *_), d in zip(corpus, distances, strict=True)}
    for one in near:
        grid = grids[one.sentence]
        assert one.distance == pytest.approx(at[one.sentence, one.position], abs=2e-3)
        assert (list(one.words), one.word) == (grid.words, grid.words[one.position])
        wanted = grid["y"][one.position].wanted
        assert one.next == (wanted and wanted[0])
        assert one.link == link(grid.text, "l2", one.position)


def test_the_nearest_by_divergence_are_those_of_a_loop(state, corpus):
    mine = torch.from_numpy(state.distribution())
    distances = [jensen_shannon(mine, p) for *_, p in corpus]
    near = state.similar(8, by="divergence")
    assert [one.distance for one in near] == pytest.approx(sorted(distances)[:8], abs=2e-3)


def test_a_state_of_the_corpus_is_nearest_to_itself(grids):
    for by in ("cosine", "divergence"):
        (one,) = grids[4]["h1"][1].similar(1, by=by)
        assert one.distance == pytest.approx(0, abs=1e-3)


@pytest.mark.slow
def test_eight_bits_are_nearly_as_good(tmp_path, corpus_file, state, corpus):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file, "int8")
    near = lens(TEXT)["l2"][3].similar(5)
    assert [o.distance for o in near] == pytest.approx(
        [o.distance for o in state.similar(5)], abs=0.02
    )
    exact = [o.distance for o in state.similar(5, by="divergence")]
    near = lens(TEXT)["l2"][3].similar(5, by="divergence")
    assert [o.distance for o in near] == pytest.approx(exact, abs=0.02)


def test_what_cannot_be_compared_is_said(indexed, state, tmp_path, corpus_file, monkeypatch):
    with pytest.raises(RnnlensError, match="cosine or divergence"):
        state.similar(by="colour")
    with pytest.raises(RnnlensError, match="count=0"):
        state.similar(0)
    with pytest.raises(RnnlensError, match="the states of y have no probe"):
        indexed(TEXT)["y"][0].similar()
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file)
    monkeypatch.setattr(similar_module, "MOST_TRACED", 100)
    with pytest.raises(RnnlensError, match="keeps the states of no kind, not of l2, and its"):
        lens(TEXT)["l2"][0].similar()


@pytest.mark.parametrize("by", ["cosine", "divergence"])
def test_a_small_index_without_states_has_the_same_neighbours(tmp_path, corpus_file, indexed, by):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file)
    for kind in ("x", "l2"):
        exact, kept = (one(TEXT)[kind][3].similar(8, by=by) for one in (lens, indexed))
        near = 1e-2 if by == "cosine" else 2e-3  # one is in eight bits
        assert [o.distance for o in exact] == pytest.approx([o.distance for o in kept], abs=near)
    with pytest.raises(RnnlensError, match="took more than 0 seconds"):
        similar_module.similar_to(
            lens.subject, index_of(lens.subject), "h2", torch.ones(4), np.ones(1), 3, by,
            semantic="output", deadline=Deadline(0),
        )  # fmt: skip


def test_a_cut_file_of_states_is_refused(tmp_path, corpus_file):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file, "fp16")
    path = lens.subject.run.path / "index" / "states-00001.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(RnnlensError, match=r"states-00001.safetensors is damaged"):
        lens(TEXT)["l2"][0].similar()


@pytest.mark.parametrize("name", ["states-00001.safetensors", "labels.parquet"])
def test_a_file_of_another_form_is_refused_before_all_of_it_is_read(
    tmp_path, corpus_file, monkeypatch, name
):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file, "int8")
    path = lens.subject.run.path / "index" / name
    with path.open("r+b") as file:
        file.truncate(0)
        file.truncate(1 << 32)
    read = []

    def noted(one):
        read.append(one)
        return sha256(one)

    for module in (similar_module, store):
        monkeypatch.setattr(module, "sha256", noted)
    with pytest.raises(RnnlensError, match=f"{name} is damaged"):
        lens(TEXT)["l2"][0].similar()
    assert path not in read
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RnnlensError, match=name):
        lens(TEXT)["l2"][0].similar()


def test_changed_states_are_refused(tmp_path, corpus_file):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file, "int8")
    path = lens.subject.run.path / "index" / "states-00001.safetensors"
    tensors = load_file(path)
    good = tensors["l2"]

    def refused(message, **changed):
        save_file({**tensors, **changed}, path)
        index = Index.of(lens.subject.run)
        with pytest.raises(RnnlensError, match=message):
            lens(TEXT)["l2"][0].similar()
        part = replace(index.manifest.parts[1], states=sha256(path))
        parts = (index.manifest.parts[0], part, *index.manifest.parts[2:])
        return replace(index, manifest=replace(index.manifest, parts=parts))

    index = refused("its SHA-256 is not the recorded one", l2=good + 1)
    StoredStates(index, "l2", 4)
    sha = "SHA-256"
    for changed in ({"l2": good[:, :3]}, {"l2": good.float()}, {"l2/scale": good.float()}):
        plain = {name: tensor.contiguous() for name, tensor in changed.items()}
        with pytest.raises(RnnlensError, match="make it anew"):
            StoredStates(refused(sha, **plain), "l2", 4)


@pytest.mark.slow
def test_a_lens_of_an_older_fit_refuses_an_index_of_a_newer(tmp_path, corpus_file):
    run = Run(formula_run(tmp_path / "run"))
    lens: Any = opened(run)
    build(lens, corpus_file, "int8", semantic="input")
    assert lens.find("count").table
    run.write_probes(formula_probes(run.network(), "linear", ("output",)), {})
    builder = builder_of(opened(run), corpus_file, "int8")
    builder.begin(anew=True)
    builder.make(CPU)
    builder.finish()
    for ask in (lambda: lens.find("count"), lens(TEXT)["l2"][0].similar):
        with pytest.raises(RnnlensError, match="fitted anew after it was opened; start rnnlens v"):
            ask()
    assert opened(run)(TEXT)["l2"][0].similar(1)


def test_an_index_of_another_semantic(tmp_path, corpus_file):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    build(lens, corpus_file, "int8", semantic="input")
    with pytest.raises(RnnlensError, match="grid is of the semantic output and the index in"):
        lens(TEXT)["l2"][0].similar(1, by="divergence")
    for by, semantic in (("cosine", "output"), ("divergence", "input")):
        (one,) = lens(TEXT, semantic)["l2"][0].similar(1, by=by)
        assert one.link == link(one.text, "l2", one.position, semantic="input")
    hit = next(iter(lens.find("word = dog")))
    assert "&semantic=input&at=" in hit.link


def test_states_like_one_of_a_text(indexed, grids):
    text = grids[3].text
    near = nearest(indexed.subject, text, "l2", 1, 4, "cosine")
    first = near.near[0]
    assert (first.sentence, first.position) == (3, 1)
    assert first.distance == pytest.approx(0, abs=1e-3)
    back = nearest(indexed.subject, text, "c2@-1", 1, 4, "divergence")
    assert back.kind == "c2"
    assert (back.near[0].sentence, back.near[0].position) == (3, 0)
    with pytest.raises(RnnlensError, match="nothing is read into c2@-1 of the first row"):
        nearest(indexed.subject, text, "c2@-1", 0, 4, "cosine")


def test_the_clock_is_looked_at_between_blocks_of_states(indexed, fresh):
    stack = indexed.subject.probes.stacks["output"]
    stored = StoredStates(index_of(fresh.subject), "l2", stack.widths[stack.kinds.index("l2")])
    p = torch.ones(len(indexed.labels)).softmax(0).double().numpy()
    assert similar_module.by_divergence(stored, stack, p, 2)[0]  # what it reads first is read
    with pytest.raises(RnnlensError, match="took more than 0 seconds; ask for less"):
        similar_module.by_divergence(stored, stack, p, 2, Deadline(0))


def test_what_would_take_too_long_is_refused_after_a_few_hundred_states(
    indexed, fresh, monkeypatch
):
    """With a processor that takes a minute for a few states."""
    monkeypatch.setattr(similar_module, "_AT_ONCE", 4)
    monkeypatch.setattr(similar_module, "_TRIED", 8)
    stack = indexed.subject.probes.stacks["output"]
    stored = StoredStates(index_of(fresh.subject), "l2", stack.widths[stack.kinds.index("l2")])
    p = torch.ones(len(indexed.labels)).softmax(0).double().numpy()
    assert similar_module.by_divergence(stored, stack, p, 2, Deadline(20))[0]
    minutes = count(0, 60)
    monkeypatch.setattr("rnnlens.search.similar.time.thread_time", lambda: next(minutes))
    with pytest.raises(RnnlensError, match=r"states of l2 may be as near.*compare by cosine"):
        similar_module.by_divergence(stored, stack, p, 2, Deadline(20))
    assert similar_module.by_divergence(stored, stack, p, 2)[0]  # who waits is told in the end


def test_the_states_of_a_few_kinds_are_held_in_few_bytes(indexed, fresh):
    subject = fresh.subject
    stack = subject.probes.stacks["output"]
    for kind in ("l1", "l2", "h2", "l2"):
        stored = similar_module._stored(subject, stack, index_of(subject), kind)
    assert list(similar_module._held[index_of(subject)]) == ["h2", "l2"]
    labels, shares = stored.tops()
    assert (labels.dtype.itemsize, shares.dtype.itemsize) == (2, 4)
    assert stored.tops()[0] is labels
