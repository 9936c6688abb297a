"""What a model is worth, as a table."""

from rnnlens.draw.measured import model_table


def row(perplexity: float, low: float, high: float) -> dict[str, object]:
    ends = {"perplexity": {"low": low, "high": high}}
    return {
        "sentences": 268, "pairs": 5206, "perplexity": perplexity, "unigram": 182.43,
        "intervals": ends,
    }  # fmt: skip


def test_numbers_of_thousands_stay_apart_from_their_intervals():
    table = model_table({"train": row(96.7, 94.3, 99.1), "test": row(2001.46, 1899.33, 12108.7)})
    head, short, long = table.splitlines()
    assert len(head) == len(short) == len(long)
    assert short.split()[3:] == ["96.70", "94.30", "to", "99.10", "182.43"]
    assert long.split()[3:] == ["2001.46", "1899.33", "to", "12108.70", "182.43"]
