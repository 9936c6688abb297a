"""Several processes train the model that one trains; alone, nothing is exchanged."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rnnlens.base.errors import RnnlensError
from rnnlens.model.train.distributed import Processes, pick_device, processes

CPU = torch.device("cpu")


QUIET = {**os.environ, "OMP_NUM_THREADS": "1"}

# What is left of a group after it: the names of this process's threads, as Linux has them.
LEAVE = """
import torch
from pathlib import Path
from rnnlens.model.train.distributed import processes

with processes(torch.device("cpu")) as group:
    torch.optim.AdamW([torch.zeros(1)])
    group.any(False)
print([(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()])
"""


def python(*words: object, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env={**QUIET, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.release
def test_two_processes_train_the_model_of_one(
    corpus_file: Path, tiny: list[str], trained_run: Path, tmp_path: Path
):
    # 81 sentences in batches of 16: in each epoch's last step the first process has none.
    group = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    train = ["-m", "rnnlens", "train", corpus_file, *tiny, "-o", tmp_path / "two"]
    shared = python(*group, *train)
    out, err = shared.communicate(timeout=120)
    assert shared.returncode == 0, err
    runs = (trained_run, tmp_path / "two")
    one, two = (load_file(run / "model.safetensors") for run in runs)
    assert list(one) == list(two)
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=1e-5, atol=1e-5)
    for line in ("vocabulary of", "epoch 1/2", "epoch 2/2", "unigram"):
        assert out.count(line) == 1
    assert "Traceback" not in err
    logs = ((run / "training.log").read_text() for run in runs)
    of_one, of_two = (re.findall(r"training ([\d.]+)", log) for log in logs)
    assert of_one == of_two


@pytest.mark.release
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_a_group_leaves_no_threads_behind_that_could_abort_at_exit():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    meet = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    both = [python("-c", LEAVE, RANK=rank, **meet) for rank in ("0", "1")]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert "gloo" not in str(said)


def test_alone_everything_comes_back_as_it_was_given():
    given = torch.tensor([1.0, 2.0, 3.0])
    with processes(CPU) as group:
        group.sum([given])
        assert group == Processes(0, 1)
        assert group.first
        assert group.any(True)
        assert not group.any(False)
    assert given.tolist() == [1.0, 2.0, 3.0]


def test_only_the_first_process_is_first():
    assert [Processes(rank, 3).first for rank in range(3)] == [True, False, False]


def test_an_environment_that_makes_no_sense_is_told(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("LOCAL_RANK", "x")
    with pytest.raises(RnnlensError, match="LOCAL_RANK is 'x'"):
        pick_device("cuda")
    monkeypatch.setenv("WORLD_SIZE", "x")
    with pytest.raises(RnnlensError, match="WORLD_SIZE is 'x'"), processes(CPU):
        pass


def test_a_gpu_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(RnnlensError, match="no cuda:9 among 1"):
        pick_device("cuda:9")


def test_processes_that_nobody_started_are_an_error(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(RnnlensError, match="start them with torchrun"), processes(CPU):
        pass


def test_cpu_is_cpu():
    assert pick_device("cpu") == CPU


@pytest.mark.parametrize("name", ["gpu", "", "meta", "cuda:x"])
def test_devices_that_do_not_exist_are_refused(name):
    with pytest.raises(RnnlensError, match="give cpu, cuda or cuda:N"):
        pick_device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_cuda_where_there_is_none_is_refused(monkeypatch, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RnnlensError, match="no CUDA; give --device cpu"):
        pick_device(name)


def test_auto_without_cuda_is_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pick_device("auto") == CPU


@pytest.mark.parametrize(
    ("name", "local", "index"), [("auto", "1", 1), ("cuda", "1", 1), ("cuda:3", "1", 3)]
)
def test_each_process_of_a_machine_takes_its_own_gpu(monkeypatch, name, local, index):
    chosen: list[torch.device] = []
    monkeypatch.setenv("LOCAL_RANK", local)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda _: None)
    assert pick_device(name) == torch.device("cuda", index)
    assert chosen == [torch.device("cuda", index)]


def test_of_nothing_there_is_no_sum():
    Processes(rank=0, count=2).sum([])  # as of a fit in which no memory is asked anything
