"""Checkpoints that a training keeps."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.lens.open import opened, opened_with_checkpoints
from rnnlens.run.checkpoints import Keeper, epochs_to_keep, kept_runs
from rnnlens.run.contents import TRAINED, TRAINING
from rnnlens.run.folder import Run


@pytest.mark.parametrize(
    ("count", "epochs", "kept"),
    [
        (0, 30, []), (1, 30, [1]), (2, 30, [1, 30]), (4, 27, [1, 3, 9, 27]), (3, 3, [1, 2, 3]),
        (9, 3, [1, 2, 3]), (8, 30, [1, 2, 3, 4, 7, 11, 18, 30]),
    ],
)  # fmt: skip
def test_epochs_are_spread_over_training_and_closer_together_at_first(count, epochs, kept):
    assert epochs_to_keep(count, epochs) == kept


def test_a_checkpoint_is_a_run_of_its_own(run_copy):
    run = Run(run_copy)
    record = {**run.record().to_json(), "metrics": None}
    keeper = Keeper(run, {k: v for k, v in record.items() if v is not None}, (2, 5))
    for epoch in (1, 2, 5):
        keeper.after_epoch(epoch, run.network())
    kept = kept_runs(run)
    assert list(kept) == [2, 5]
    assert (kept[2].record().epoch, kept[2].record().status) == (2, TRAINED)
    text = "the dog"
    assert opened(kept[2]).grid(text)["rows"] == opened(run).grid(text)["rows"]
    lenses = opened_with_checkpoints(run, None, "news")
    best = run.record().metrics["best_epoch"]  # type: ignore[index]
    assert best == 2  # so that the checkpoint of that epoch is the run itself
    assert {key: (lens.training.of, lens.training.epoch) for key, lens in lenses.items()} == {  # type: ignore[union-attr]
        "news": ("news", 2), "news-epoch-5": ("news", 5)
    }  # fmt: skip


def test_one_that_was_not_written_to_its_end_is_left_out(run_copy):
    run = Run(run_copy)
    record = {k: v for k, v in run.record().to_json().items() if k != "metrics"}
    Keeper(run, record, (3,)).after_epoch(3, run.network())
    kept = kept_runs(run)[3]
    kept.write_record({**record, "epoch": 3, "status": TRAINING})
    assert kept_runs(run) == {}


def test_runs_of_other_corpora_are_refused(run_copy):
    run = Run(run_copy)
    record = {k: v for k, v in run.record().to_json().items() if k != "metrics"}
    Keeper(run, record, (3,)).after_epoch(3, run.network())
    kept = kept_runs(run)[3]
    kept.write_record({**record, "epoch": 3, "status": TRAINED, "corpus": {"hash": "other"}})
    with pytest.raises(RnnlensError, match="is no checkpoint of the training of"):
        kept_runs(run)
    kept.write_record({**record, "status": TRAINED})
    with pytest.raises(RnnlensError, match="move it elsewhere"):
        opened_with_checkpoints(run, None, "news")
