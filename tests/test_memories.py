"""The script that measures how memories differ: its tasks are right, and it can be continued."""

import json
import random
from itertools import permutations

import pytest
import torch
from scripts import memories

from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, HEADED, KEYED, NetworkConfig

TINY = ["--device", "cpu", "--options", '{"width": 6, "epochs": 1}', "--fit", '{"epochs": 1}']


@pytest.mark.parametrize("size", [1, 4, 8])
def test_brackets_close_as_they_opened(size):
    chance = random.Random(size)
    deepest = 0
    for _ in range(50):
        open_ = list[str]()
        for read, right in memories.brackets(chance, size):
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
    for read, right in memories.products(random.Random(0), 4):
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
    told = memories.of_states(network, [[1, 2, 3, 4, 5]])
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
    steps = memories.recall(random.Random(0), 4)
    pairs = {key[0]: value[0] for key, value in zip(steps[:16:2], steps[1:16:2], strict=True)}
    assert len(pairs) == 8
    assert [pairs[key] for key, _ in steps[16:]] == [right for _, right in steps[16:]]
    assert {right for _, right in steps[:16]} == {memories.UNASKED}


def test_parity_is_of_the_ones_so_far():
    ones = 0
    for read, right in memories.parity(random.Random(0), 4):
        ones += read == "one"
        assert right == ("odd" if ones % 2 else "even")


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
    assert {"c1", "c2"} <= {*numbers["kinds"]} & {*numbers["lost"]}
    assert "| mingru |" in (tmp_path / "memories.md").read_text()
    measured = next((tmp_path / "measured").iterdir())
    before = measured.stat().st_mtime_ns
    assert memories.main([*words, *TINY]) == 0  # nothing is left to do
    assert measured.stat().st_mtime_ns == before
    capsys.readouterr()
