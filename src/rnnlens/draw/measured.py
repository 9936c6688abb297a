"""What was measured of a model, as a table of text."""

from collections.abc import Mapping
from typing import Any

_WIDTH = 22  # of an interval, also of thousands


def model_table(model: Mapping[str, Mapping[str, Any]]) -> str:
    """What a model is worth on each split, beside the unigram baseline, as a table."""
    unit = next(iter(model["train"]))  # sentences, or a user's batches
    answers = "accuracy" in model["train"]
    sure = any(row.get("intervals") for row in model.values())
    head = f"{'':<8}{unit:>12}{'pairs':>14}{'perplexity':>14}"
    head += (f"{'95%':>{_WIDTH}}" if sure else "") + f"{'unigram':>12}"
    lines = [head + (f"{'accuracy':>12}{'macro F1':>12}" if answers else "")]
    for name, row in model.items():
        right = f"{row['accuracy']:>12.2%}{row['macro_f1']:>12.2%}" if answers else ""
        lines.append(
            f"{name:<8}{row[unit]:>12,}{row['pairs']:>14,}{cell(row['perplexity'], 14)}"
            f"{_interval(row) if sure else ''}{cell(row['unigram'], 12)}{right}"
        )
    for name, row in model.items():
        if unseen := row.get("unseen"):
            lines.append(
                f"{name}, without the sentences that occur in training: "
                f"{unseen['sentences']:,} sentences, perplexity{cell(unseen['perplexity'], 8)}"
                f" ({_interval(unseen).strip()})"
                + (f", accuracy {unseen['accuracy']:.2%}" if "accuracy" in unseen else "")
            )
    return "\n".join(lines)


def _interval(row: Mapping[str, Any]) -> str:
    ends = row.get("intervals", {}).get("perplexity")
    told = f"{ends['low']:.2f} to {ends['high']:.2f}" if ends else "-"
    return f"{told:>{_WIDTH}}"


def cell(value: float | None, width: int, digits: int = 2) -> str:
    """A number of a table, or a dash for None."""
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
