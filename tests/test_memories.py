"""The script that measures how memories differ: its tasks are right, and it can be continued."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
import torch
from scripts.memories import __main__ as memories
from scripts.memories import items, measures, summary, tables, tasks
from tests.shown import ROOT

from rnnlens.base.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, HEADED, KEYED, NetworkConfig

TINY = ["--device", "cpu", "--options", '{"width": 6, "epochs": 1}', "--fit", '{"epochs": 1}']


@pytest.mark.parametrize("size", [1, 4, 8])
def test_brackets_close_as_they_opened(size):
    chance = random.Random(size)
    deepest = 0
    for _ in range(50):
        open_ = list[str]()
        for read, right in tasks.brackets(chance, size):
            if read in "([":
                open_.append({"(": ")", "[": "]"}[read])
            else:
                assert open_.pop() == read
            deepest = max(deepest, len(open_))
            assert right == (open_[-1] if open_ else "none")
        assert not open_
    assert deepest == size


def test_products_are_those_of_permutations():
    state: tuple[int, ...] = (0, 1, 2)
    for read, right in tasks.products(random.Random(0), 4):
        by = tuple(map(int, read[1:]))
        assert by in permutations(range(3))
        state = tuple(state[k] for k in by)
        assert right == "p" + "".join(map(str, state))


@pytest.mark.parametrize("name", CELL_NAMES)
def test_what_decays_is_what_the_decay_takes(name):
    heads, keys = 2 * (name in HEADED), 3 * (name in KEYED)
    config = NetworkConfig(name, width=6, layers=1, heads=heads, keys=keys)
    network = Network(config, 9).initialise(0)
    for weight in network.requires_grad_(False).parameters():
        weight.mul_(3)  # so that the largest exponents change
    told = measures.of_states(network, [[1, 2, 3, 4, 5]])
    states = network.trace(torch.tensor([[1], [2], [3], [4], [5]])).states
    for kind in network.kinds:
        if kind.memory:
            before = states[kind.id][:-1, 0]
            if "m1" in states:  # by which a memory is scaled, in heads or units
                forget = states["f1"][1:, 0].exp()
                stays = before.unflatten(-1, (forget.shape[-1], -1)) * forget[..., None]
            else:
                stays = states[kind.memory.kept][1:, 0]
                stays = stays + (states[kind.memory.erased][1:, 0] if kind.memory.erased else 0)
            shares = 1 - stays.flatten(1).norm(dim=-1) / before.norm(dim=-1)
            assert told[kind.id]["decayed"] == pytest.approx(float(shares.mean()), abs=1e-5)


def test_a_recalled_value_is_the_one_of_its_key():
    steps = tasks.recall(random.Random(0), 4)
    pairs = {key[0]: value[0] for key, value in zip(steps[:16:2], steps[1:16:2], strict=True)}
    assert len(pairs) == 8
    assert [pairs[key] for key, _ in steps[16:]] == [right for _, right in steps[16:]]
    assert {right for _, right in steps[:16]} == {tasks.UNASKED}


def test_parity_is_of_the_ones_so_far():
    ones = 0
    for read, right in tasks.parity(random.Random(0), 4):
        ones += read == "one"
        assert right == ("odd" if ones % 2 else "even")


def test_a_reset_gate_is_not_what_is_read():
    assert "read" not in summary.roles("gru", 1)
    assert summary.roles("slstm", 2)["read"] == "r2"
    assert summary.roles("deltanet", 1)["read"] == "r1"


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.97, ".97"), (-0.001, ".00"), (-0.06, "-.06"), (1.03, "1.03"), (12.3, "12.3"),
     (115.2, "115"), (999.4, "999"),
     (999.6, "1,000"), (1234.5, "1,234"), (2_500_000.0, "2,500,000")],
)  # fmt: skip
def test_numbers_are_short_and_plain(value, told):
    assert tables._short(value) == told


def test_a_kind_without_a_probe_is_left_out():
    test = {"unigram": 4.0, "perplexity": 2.0}
    seed = {"layers": 1, "model": {"test": test}, "kinds": {"h1": {"perplexity": 3.0}}}
    assert tables._said("lstm", [seed]) == "4.00; -; 3.00; 2.00"


def test_how_far_seeds_are_apart_is_said_where_there_are_several():
    nothing = {"layers": 1, "model": {"test": {"perplexity": 2.0}}}
    one, other = ({**nothing, "kinds": {"h1": {"perplexity": value}}} for value in (3.0, 5.0))

    def said(*seeds: dict[str, object]) -> list[str]:
        return tables.of_kinds({"gru": summary.of_language("gru", list(seeds))})

    assert said(one)[-1] == "One seed each."
    assert said(one, other)[-1].endswith("differ by 50.0% at the most (GRU, h1).")
    assert "| h1 2.00 |" in said(one, other)[2]
    assert said(nothing) == ["No kinds were measured."]


def test_a_summary_has_means_and_the_least_to_the_most():
    life = {"kind": "h1", "low": 1.0, "median": 2.0, "high": 3.0}
    lost = {"decayed": 0.1, "erased": 0.0, "written": 0.5}
    seeds: list[dict[str, Any]] = [
        {
            "layers": 1,
            "model": {"test": {"perplexity": 10.0}},
            "kinds": {"h1": {"perplexity": 10.0 * more}},
            "used": {"h1": {"used": 0.25 * more}},
            "half_lives": {"memories": [{**life, "median": more}]},
            "lost": {"h1": lost},
        }
        for more in (1.0, 3.0)
    ]
    right = [{"accuracy": {"within": 1.0, "beyond": share}} for share in (0.5, 0.25, 0.75)]
    told = summary.summary({"language": {"gru": seeds}, "parity": {"gru": right, "rnn": right[:1]}})
    assert told["rnn"] == {"tasks": {"parity": [0.5, 0.5]}}
    assert told["gru"]["tasks"] == {"parity": [0.25, 0.75]}
    assert (told["gru"]["test"], told["gru"]["seeds"]) == ([10.0, 10.0], 2)
    [layer] = told["gru"]["layers"]
    assert layer["output"] == {"kind": "h1", "over": 2.0, "apart": 2.0, "used": 0.5}
    assert layer["lasts"]["median"] == [1.0, 3.0]
    assert layer["lasts"]["written"] == [0.5, 0.5]


def test_a_seed_that_fails_does_not_keep_others_from_being_done(tmp_path, monkeypatch, capsys):
    words = [str(tmp_path), "--cells", "gru", "--tasks", "parity", *TINY]
    bench, done = items.Bench(memories.arguments(words)), list[int]()

    def finished(_: items.Bench, item: items.Item, __: Callable[[], bool]) -> bool:
        if item.seed == 1:
            raise RuntimeError("no room")
        done.append(item.seed)
        return True

    monkeypatch.setattr(memories, "_finished", finished)
    assert memories.work(bench, bench.items()) == memories._FAILED
    assert done == [0, 2]
    told = capsys.readouterr().err
    assert "parity-gru-1: failed" in told
    assert "RuntimeError: no room" in told
    bench.measured(bench.items()[1]).parent.mkdir()
    bench.measured(bench.items()[1]).write_text('{"accuracy": {}, "kinds": {}}')
    assert memories.work(bench, bench.items()[:2]) == 0  # what is done is not done again
    monkeypatch.setattr(memories, "_finished", lambda *_: False)
    assert memories.work(bench, bench.items()) == memories._STOPPED


def test_a_width_that_heads_do_not_divide_is_one_line(tmp_path, capsys):
    words = [str(tmp_path), "--corpus", "none", "--tasks", "", "--cells", "gla", "--seeds", "1"]
    bench = items.Bench(memories.arguments([*words, "--options", '{"width": 254}']))
    assert memories.work(bench, bench.items()) == memories._FAILED
    told = capsys.readouterr().err
    assert told.startswith("language-gla-0: failed: --width 254 cannot be split over the usual 6")
    assert len(told.splitlines()) == 1


def test_that_it_was_stopped_is_told(tmp_path, capsys):
    words = [str(tmp_path), *"--cells gru --tasks parity --count 8 --minutes 0".split(), *TINY]
    assert memories.main(words) == memories._STOPPED
    assert capsys.readouterr() == ("", "stopped; the same command goes on\n")
    bench = items.Bench(memories.arguments(words))
    lone = {"layers": 1, "model": {"test": {"perplexity": 2.0, "unigram": 3.0}}}
    bench.measured(bench.items()[0]).parent.mkdir()
    tasks.write_text(bench.measured(bench.items()[0]), json.dumps(lone))
    assert memories.main(words) == memories._STOPPED
    told = capsys.readouterr()
    assert "| GRU |" in told.out
    assert told.err == "stopped; the same command goes on\n"


@pytest.mark.parametrize(("more", "told"), [(["--train-only"], "trained"), ([], "measured")])
def test_what_was_done_is_told(more, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.executable", "true")
    words = [str(tmp_path), "--cells", "gru", "--tasks", "parity", "--seeds", "1", *TINY, *more]
    assert memories.conduct(items.Bench(memories.arguments(words)), words) == 0
    assert capsys.readouterr().out == f"parity-gru-0: {told}\n"


def test_parts_that_are_asked_for_are_measured_and_no_others(tmp_path, capsys):
    words = [str(tmp_path), "--cells", "gru", "--tasks", "parity", "--seeds", "1", *TINY]
    tasks.make_task(tmp_path / "tasks" / "parity", "parity", 60)

    def measured(*more: str) -> dict[str, object]:
        bench = items.Bench(memories.arguments([*words, *more]))
        assert memories.work(bench, bench.items()) == 0
        assert all(map(bench.done, bench.items()))
        found: dict[str, object] = json.loads(bench.measured(bench.items()[0]).read_text())
        assert tables.tables({"parity": {"gru": [found]}}).count("| GRU |") == 2
        return found

    always = {"weights", "layers", "seconds", "model"}
    assert measured("--parts", "accuracy,used").keys() == {*always, "accuracy"}
    assert measured().keys() == {*always, "accuracy", "kinds", "fit"}
    assert "accuracy" not in capsys.readouterr().out.split("kinds")[1]  # and none twice
    assert "kinds" in measured("--parts", "accuracy", "--fit", "{}")  # which has no probes
    other = items.Bench(memories.arguments([*words, "--fit", "{}"]))
    assert not any(map(other.done, other.items()))
    assert memories.work(other, other.items()) == memories._FAILED
    assert "measured with --fit '{\"epochs\": 1}'; give the same" in capsys.readouterr().err


def test_a_signal_ends_those_at_work_too(tmp_path):
    tasks.make_task(tmp_path / "tasks" / "parity", "parity", 8000)
    words = [str(tmp_path), *"--cells gru --tasks parity --seeds 1 --device cpu".split()]
    told = tmp_path / "told.txt"
    with told.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "scripts.memories", *words], cwd=ROOT, stdout=out, stderr=out
        )
        run = tmp_path / "runs" / "parity-gru-0" / "run.json"
        until(run.exists, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == memories._STOPPED
    assert (tmp_path / "summary.json").read_text() == "{}"
    bench = items.Bench(memories.arguments(words))
    run = bench.run(bench.items()[0])
    with run.writing():  # nobody else writes there any more
        assert not bench.trained(bench.items()[0])
        assert run.checkpoint.exists(), "it has kept how far it has come"


def until(happened: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Wait for what a process that runs does."""
    for _ in range(600):
        if happened():
            return
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("it has not happened")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--parts", "kind"], "kind: give some of lost, half_lives"),
        (["--tasks", "nope"], "nope: give some of brackets, parity"),
        (["--cells", "gru,nope"], "nope: give some of lstm, gru"),
        (["--count", "0"], "0: give a number from 8 up"),
        (["--jobs", "0"], "0: give a number from 1 up"),
        (["--options", '{"cell": "lstm"}'], "cell: give --cells"),
        (["--options", '{"seed": 3}'], "seed: give --seeds"),
        (["--options", '{"widht": 8}'], "a training has no option 'widht'; it has "),
        (["--fit", '{"width": 8}'], "a fit has no option 'width'; it has "),
        (["--options", "{width"], "{width: give JSON, such as"),
        (["--fit", "3"], "3: give JSON, such as"),
    ],
)
def test_what_cannot_be_asked_is_one_line(words, told, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        memories.arguments([str(tmp_path), *words])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


def test_help_names_what_can_be_asked_and_what_is_without(capsys):
    with pytest.raises(SystemExit):
        memories.arguments(["--help"])
    told = capsys.readouterr().out
    for known in (CELL_NAMES, tasks.TASKS, items.PARTS):
        assert ",".join(known) in told
    for flag, default in (("seeds", 3), ("used", 1), ("count", 8000), ("jobs", 1)):
        assert f"(default: {default})" in told.split(f"  --{flag} ")[1].split("  --")[0]


def test_a_folder_of_other_options_is_refused(tmp_path, capsys):
    words = [str(tmp_path), "--cells", "gru", "--tasks", "parity", "--seeds", "1", *TINY]

    def begun(*more: str) -> items.Bench:
        bench = items.Bench(memories.arguments([*words, *more]))
        bench.begin()
        return bench

    bench = begun("--count", "80")
    assert memories.work(bench, bench.items()) == 0
    begun("--count", "80")
    with pytest.raises(RnnlensError, match="has 80 sequences, not 90; give --count 80"):
        begun("--count", "90")
    with pytest.raises(RnnlensError, match="was trained with --width 6, not --width 9; give"):
        begun("--count", "80", "--options", '{"width": 9, "epochs": 1}')
    moved = tmp_path.with_name("moved")
    tmp_path.rename(moved)
    words[0] = str(moved)
    bench = begun("--count", "80")
    place = bench.measured(bench.items()[0])
    place.unlink()
    assert memories.work(bench, bench.items()) == 0, "it is measured where it lies now"
    task = moved / "tasks" / "parity" / "train.txt"
    task.write_text(task.read_text(encoding="utf-8").replace("one odd", "one even", 1), "utf-8")
    place.unlink()
    assert memories.work(bench, bench.items()) == memories._FAILED
    assert "was trained on another text; give that, or another folder" in capsys.readouterr().err
    moved.rename(tmp_path)
    words[0] = str(tmp_path)
    with pytest.raises(RnnlensError, match="absent"):
        begun("--count", "80", "--corpus", str(tmp_path / "absent"))


def test_what_is_used_is_asked_of_some_seeds(tmp_path):
    words = [str(tmp_path), "--corpus", "news", "--tasks", "", "--cells", "gru", "--used", "1"]
    bench = items.Bench(memories.arguments([*words, "--parts", "used,lost", *TINY]))
    assert [bench.parts(item) for item in bench.items()] == [
        ["lost", "kinds", "used"],  # by the probes of the kinds
        ["lost"],
        ["lost"],
    ]
    lone = {"layers": 1, "weights": 9, "seconds": 1.0, "model": {"test": {"perplexity": 2.0}}}
    assert "| 2.00 | nan | - | 1 |" in tables.tables({"language": {"gru": [lone]}})


@pytest.mark.release
def test_it_goes_on_where_it_ended_and_writes_a_table(tmp_path, capsys):
    words = [
        str(tmp_path),
        "--cells",
        "mingru",
        "--tasks",
        "parity",
        "--seeds",
        "1",
        "--count",
        "60",
    ]
    assert memories.main([*words, *TINY, "--minutes", "0"]) != 0
    assert not list((tmp_path / "measured").glob("*")) if (tmp_path / "measured").exists() else True
    assert memories.main([*words, *TINY]) == 0
    found = json.loads((tmp_path / "memories.json").read_text())
    (numbers,) = found["parity"]["mingru"]
    assert 0 <= numbers["accuracy"]["beyond"] <= 1
    assert {"c1", "c2"} <= {*numbers["kinds"]}
    assert "| minGRU |" in (tmp_path / "memories.md").read_text()
    measured = next((tmp_path / "measured").iterdir())
    before = measured.stat().st_mtime_ns
    assert memories.main([*words, *TINY]) == 0  # nothing is left to do
    assert measured.stat().st_mtime_ns == before
    capsys.readouterr()
