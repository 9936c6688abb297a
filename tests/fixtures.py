"""Runs to look at, one of them served, and a browser to look at it with."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    expect,
    sync_playwright,
)
from tests.screen import Screen

from rnnlens.cli import main
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import default_colours
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.probe.moments import Spread
from rnnlens.probe.probes import Probes
from rnnlens.run.folder import Run
from rnnlens.run.record import TRAINED

PATIENCE = 20_000  # milliseconds: a busy machine is no mistake
expect.set_options(timeout=PATIENCE)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=flags)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def demo_address() -> Iterator[str]:
    """`rnnlens demo` on a port of its own choice."""
    with started("demo") as address:
        yield address


WORDS = {
    "the": "DET", "a": "DET", "dog": "NOUN", "dogs": "NOUN", "bird": "NOUN", "she": "PRON",
    "sees": "VERB", "see": "VERB", "said": "VERB", "old": "ADJ", "small": "ADJ", "very": "ADV",
    "now": "ADV", "in": "ADP", "and": "CCONJ", "``": "PUNCT", "''": "PUNCT", ",": "PUNCT",
    ".": "PUNCT", "<b>": "SYM", '"': "PUNCT", "NUM": "NUM", "UNK": "X",
}  # fmt: skip
SCALES = {"weight": 3.0, "bias": 1.0, "labels": 1.5}  # so that some states are sure, some are not


def wave(shape: tuple[int, ...], scale: float, phase: float) -> torch.Tensor:
    """Weights by formula, the same on every machine."""
    count = torch.Size(shape).numel()
    turns = torch.arange(count, dtype=torch.float64) * 0.7548776662 + phase
    return (scale * torch.sin(6.283185307179586 * turns)).reshape(shape).float()


def formula_probes(network: Network, family: str, semantics: tuple[str, ...]) -> Probes:
    """Probes of a network, by formula."""
    kinds, labels = tuple(kind.id for kind in network.kinds), network.label_count
    tensors, rank = {}, 3 if family == "shared" else labels
    states = network.trace(torch.zeros(1, 1, dtype=torch.long)).states
    for s, semantic in enumerate(semantics):
        tensors[f"{semantic}/counts"] = torch.arange(labels, 0, -1)
        if family == "shared":
            tensors[f"{semantic}/labels"] = wave((labels, rank), SCALES["labels"], 0.11 + s)
        for k, kind in enumerate(kinds):
            width = states[kind].shape[-1]
            tensors[f"{semantic}/{kind}/weight"] = wave((rank, width), SCALES["weight"], k / 17)
            tensors[f"{semantic}/{kind}/bias"] = wave((rank,), SCALES["bias"], k / 13 + s / 5)
            if family == "shared":
                over = wave((labels,), SCALES["bias"], 0.23 + s / 7 + k / 19)
                tensors[f"{semantic}/{kind}/label_bias"] = over
    for k, kind in enumerate(kinds):
        width = tensors[f"{semantics[0]}/{kind}/weight"].shape[1]
        some = wave((40, width), 0.5, k / 23).double()
        tensors |= Spread.of(some.T @ some / 40).tensors(kind)
    return Probes.of(family, kinds, semantics, labels, tensors)


def formula_run(
    path: Path,
    cell: str = "lstm",
    family: str = "shared",
    semantics: str = "output input output+1",
    layers: int = 2,
    **parts: int,
) -> Path:
    """A run folder whose every number is given by a formula; no family: no probes. `parts` are the
    heads and keys of a cell that has them.
    """
    run = Run(path)
    run.create()
    labels = tuple(WORDS)
    config = NetworkConfig(cell, width=4, layers=layers, embedding=3, **parts)  # type: ignore[arg-type]
    network = Network(config, len(labels)).eval().requires_grad_(False)
    for k, weight in enumerate(network.parameters()):
        weight.copy_(wave(tuple(weight.shape), 1.2, k / 19))
    run.write_vocabulary(Vocabulary(labels, tuple(range(len(labels), 0, -1))))
    run.write_colours(default_colours(labels, list(WORDS.values()), "by hand", ()))
    run.write_model(network)
    run.write_record({"status": TRAINED, "corpus": {}, "network": {}, "training": {}})
    if family:
        probes = formula_probes(network, family, tuple(semantics.split()))
        run.write_probes(probes, {}, "half")
    return path


@pytest.fixture(scope="session")
def formula(tmp_path_factory: pytest.TempPathFactory) -> Lens:
    """A tiny lens that is the same on every machine."""
    folder: Path = tmp_path_factory.mktemp("formula")
    run = Run(formula_run(folder / "formula"))
    kinds = run.probes().kinds
    rows = [
        {"semantic": "output", "kind": kind, "perplexity": 20.0 - k, "ratio": 2.0 - k / 20,
         "accuracy": 0.25, "divergence": 0.5, "calibration": 0.01, "unigram": 21.0}
        for k, kind in enumerate(kinds)
    ]  # fmt: skip
    own = {"test": {"perplexity": 9.5, "unigram": 21.0}}
    run.write_evaluation({"model": own, "probes": rows})
    return opened(run)


@pytest.fixture(scope="session")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lens]:
    """Other cells, the other family of probes, and none."""
    folder: Path = tmp_path_factory.mktemp("formulas")
    made = {
        "linear": formula_run(folder / "linear", family="linear"),
        "gru": formula_run(folder / "gru", "gru"),
        "rnn": formula_run(folder / "rnn", "rnn", semantics="input output-1"),
        "bare": formula_run(folder / "bare", family=""),
    }
    return {name: opened(Run(path)) for name, path in made.items()}


@pytest.fixture(scope="session")
def deep_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 24 layers with nine columns each."""
    return formula_run(tmp_path_factory.mktemp("deep") / "deep", semantics="output", layers=24)


# What the tests of the page share. RNNLENS_PAGE_RUN names another run with probes to look at.


def serving(*runs: Path, port: int = 0) -> contextlib.AbstractContextManager[str]:
    """`rnnlens view`; gives its address."""
    return started("view", *map(str, runs), "--port", str(port))


@contextlib.contextmanager
def started(*words: str) -> Iterator[str]:
    """A real command that serves, until it is no longer needed; gives its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rnnlens", *words, "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if " at http://" in line:
                yield line.split(" at ")[-1].split()[0]
                break
        else:
            pytest.fail(f"the server ended without serving: {''.join(said)}")
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


@pytest.fixture(scope="session")
def server() -> Callable[..., contextlib.AbstractContextManager[str]]:
    return serving


@pytest.fixture(scope="session")
def probed_run(corpus_file: Path, tiny: list[str], shared: Callable[..., Path]) -> Path:
    """A run with probes, evaluation and index, made by the real commands; to be read only.

    It is trained and fitted for so long that none of its kinds says nothing.
    """
    if elsewhere := os.environ.get("RNNLENS_PAGE_RUN"):
        return Path(elsewhere)

    def fill(folder: Path) -> None:
        path = folder / "grammar"
        flags = "--semantic output,input --device cpu".split()
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["train", str(corpus_file), "-o", str(path), *tiny, "--epochs", "40"]) == 0
            assert main(["fit", str(path), *flags]) == 0
            assert main(["eval", str(path), "--used", "--device", "cpu"]) == 0
            parts = "--split test,train --states int8 --device cpu".split()
            assert main(["index", str(path), *parts]) == 0

    return shared("probed", fill) / "grammar"


@pytest.fixture(scope="session")
def address(
    probed_run: Path, trained_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server of three runs: with probes, without, and one that was never evaluated."""
    new = Path(shutil.copytree(trained_run, tmp_path_factory.mktemp("new") / "new"))
    (new / "evaluation.json").unlink()
    with serving(probed_run, trained_run, new) as served:
        yield served


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A window as most people have one."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@pytest.fixture
def look(browser: Browser, window: BrowserContext, address: str) -> Iterator[Callable[..., Screen]]:
    """Open the page at a view; it may say nothing to the console."""
    opened_here: list[Page | BrowserContext] = []
    told: list[str] = []

    def opened(view: str = "", *, at: str = address, quiet: bool = True, **other: Any) -> Screen:
        size = {"viewport": {"width": 1280, "height": 800}}
        context = browser.new_context(**{**size, **other}) if other else window
        page = context.new_page()
        opened_here.append(context if other else page)
        page.set_default_timeout(PATIENCE)
        if quiet:
            page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.goto(at + view)
        expect(page.locator(".scroller")).to_have_attribute("aria-rowcount", re.compile(r"\d+"))
        return Screen(page, at)

    yield opened
    for one in opened_here:
        one.close()
    assert told == []
