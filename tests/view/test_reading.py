"""All kinds at once say what each says alone."""

import pytest
import torch
from rnnlens.view.reading import Reader


@pytest.mark.parametrize("name", ["formula", "linear", "gru", "rnn"])
@pytest.mark.parametrize("rows", [1, 3, 50])
def test_pieces_are_the_probes_logits(formula, formulas, name, rows):
    lens = formula if name == "formula" else formulas[name]
    ids = [k % len(lens.session.vocabulary) for k in range(rows)]
    with torch.inference_mode():
        trace = lens.model.trace(torch.tensor(ids)[:, None])
        states = {kind: values[:, 0] for kind, values in trace.states.items()}
        states["x"] = torch.cat([states["x"], states["x"][:1]])  # kinds may differ in number
        states["y"] = states[lens.model.kinds[-1].id]
        for semantic in lens.semantics:
            reader = Reader.of(lens.model, lens.probes, semantic)
            pieces = reader.pieces(states)
            made = torch.cat([piece.logits() for piece in pieces])
            assert [len(piece.logits()) for piece in pieces] == [piece.count for piece in pieces]
            expected = [lens.probes.logits(kind, states[kind], semantic) for kind in reader.kinds]
            torch.testing.assert_close(
                made, torch.cat([*expected, trace.logits[:, 0]]), rtol=1e-4, atol=1e-4
            )


def test_pieces_are_bounded(formula):
    counts = {}
    for rows in (2, 500):
        states = {kind.id: torch.zeros(rows, 4) for kind in formula.model.kinds}
        states |= {"x": torch.zeros(rows, 3), "y": torch.zeros(rows, 4)}
        counts[rows] = [piece.count for piece in formula.readers["output"].pieces(states)]
    assert counts[2] == [34, 2]  # all kinds together, and the model's own
    assert max(counts[500]) == 40
