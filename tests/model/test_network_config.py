"""What a network is built from."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cells import CELLS
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, WRITTEN, NetworkConfig


def test_the_help_names_the_cells_that_come_along():
    """It is shown without importing them, and so names them by hand."""
    ours = [name for name, cell in CELLS.items() if type(cell).__module__.startswith("rnnlens.")]
    assert sorted(CELL_NAMES) == sorted(ours)


def test_a_cell_that_there_is_not_is_refused():
    with pytest.raises(RnnlensError, match="no cell is called 'lstn'; choose lstm"):
        NetworkConfig(cell="lstn").check()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cell": "gla", "width": 254}, "6 heads of --cell gla; give --heads 2 or --width 252"),
        ({"cell": "slstm", "width": 96, "heads": 5}, "--width 96 cannot be split over 5 heads"),
        ({"cell": "mamba", "heads": 3}, "--heads 3: --cell mamba has none; leave it out"),
        ({"cell": "lstm", "keys": 3}, "--keys 3: --cell lstm has none; leave it out, or "),
        ({"cell": "gla", "keys": -1}, "--keys -1: give at least 0"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(options, told):
    with pytest.raises(RnnlensError, match=told):
        NetworkConfig(**options).check()


@pytest.mark.parametrize("cell", CELL_NAMES)
def test_every_cell_has_the_papers_width(cell):
    NetworkConfig(cell).check()
    NetworkConfig(cell, width=128).check()  # of the preset for a CPU


@pytest.mark.parametrize(
    ("width", "heads"), [(300, 6), (128, 4), (100, 5), (64, 4), (16, 4), (24, 6), (14, 7), (22, 11)]
)
def test_heads_are_as_near_to_the_usual_as_divides_the_width(width, heads):
    assert NetworkConfig("gla", width=width).parts[0] == heads
    assert NetworkConfig("gla", width=width, heads=2).parts[0] == 2


@pytest.mark.parametrize(
    ("cell", "heads", "keys"), [("gla", 4, 12), ("slstm", 4, 0), ("mamba", 0, 12), ("lstm", 0, 0)]
)
def test_a_network_keeps_the_heads_and_keys_that_it_has(cell, heads, keys):
    """And not the 0 that stands for what is usual, which may change."""
    kept = Network(NetworkConfig(cell, width=16, layers=1), 5).config
    assert (kept.heads, kept.keys) == (heads, keys)
    kept.check()
    assert Network(kept, 5).config == kept


@pytest.mark.parametrize(("cell", "written"), [("lstm", "LSTM"), ("deltanet", "DeltaNet")])
def test_a_network_is_called_as_its_paper_calls_it(cell, written):
    assert Network(NetworkConfig(cell, width=12), 3).description == f"{written} 12 × 2"
    assert set(WRITTEN) < set(CELL_NAMES)
