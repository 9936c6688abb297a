"""Torch on one thread for small work, and threads of our own."""

import os
import threading
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import rnnlens
from rnnlens.base.threads import one_thread, pool, threads_for
from rnnlens.probe.fitting import Fitter


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_torch_computes_on_one_thread_and_then_as_before():
    with one_thread():
        assert torch.get_num_threads() == 1
        with one_thread():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_the_number_is_restored_when_the_work_fails():
    with pytest.raises(ValueError, match="work"), one_thread():
        raise ValueError("work")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_others_keep_their_threads_meanwhile():
    began, seen = threading.Event(), threading.Event()

    def small() -> None:
        with one_thread():
            began.set()
            assert seen.wait(10)

    other = threading.Thread(target=small)
    other.start()
    assert began.wait(10)
    assert torch.get_num_threads() == 2
    seen.set()
    other.join()
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("weights", "threads"), [(50 * 24, 1), (24 * 5000, 2)])
def test_small_weights_are_learnt_on_one_thread(weights, threads):
    with threads_for(weights):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


def test_our_threads_are_as_many_as_cores_and_the_same_again():
    assert pool() is pool()
    assert 1 <= pool()._max_workers <= (os.cpu_count() or 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_has_threads_of_its_own():
    assert list(pool().map(abs, [-1])) == [1]
    child = os.fork()
    if not child:  # nothing of pytest may run here
        alarm = threading.Timer(10, os._exit, [1])
        alarm.daemon = True
        alarm.start()
        os._exit(0 if list(pool().map(abs, [-2])) == [2] else 2)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("labels", "threads"), [(50, 1), (5000, 2)])
def test_a_small_module_is_fitted_on_one_thread(labels, threads, monkeypatch):
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(labels, 16)
            self.layer = nn.RNN(16, 16, batch_first=True)
            self.readout = nn.Linear(16, labels)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.readout(self.layer(self.words(x))[0])  # type: ignore[no-any-return]

    seen = set()
    run = Fitter.run

    def noting(*given):
        seen.add(torch.get_num_threads())
        return run(*given)

    monkeypatch.setattr(Fitter, "run", noting)
    texts = torch.randint(50, (10, 4, 6), generator=torch.Generator().manual_seed(0))
    rnnlens.fit(Model(), [(text[:, :-1], text[:, 1:]) for text in texts], epochs=0)
    assert seen == {threads}
    assert torch.get_num_threads() == 2
