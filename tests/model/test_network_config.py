"""What a network is built from."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.model.cells import CELLS
from rnnlens.model.network_config import CELL_NAMES, NetworkConfig


def test_the_help_names_the_cells_that_come_along():
    """It is shown without importing them, and so names them by hand."""
    ours = [name for name, cell in CELLS.items() if type(cell).__module__.startswith("rnnlens.")]
    assert list(CELL_NAMES) == ours


def test_a_cell_that_there_is_not_is_refused():
    with pytest.raises(RnnlensError, match="no cell is called 'lstn'; choose lstm"):
        NetworkConfig(cell="lstn").check()
