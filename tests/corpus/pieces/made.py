"""Tokenizers as real models have them, made by the library `tokenizers` from a little text; run as
a program, it writes some of them with what they make of texts to tests/golden/tokenizers.json.
"""

import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "tokenizers.json"
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MARKS = ["<unk>", "<s>", "</s>", "<|end|>"]
OTHERS = "日本語 のテキスト 中文 한국어 naïve café Ångström नमस्ते straße"
SPECIAL = [*MARKS, "<mask>", "<|endoftext|>", "[CLS]", "<|im_start|>", "  ", "    "]


def corpus() -> list[str]:
    pages = sorted((ROOT / "docs").glob("*.md"))
    return [line for page in pages for line in page.read_text().splitlines()] + [OTHERS] * 20


def made(name: str, size: int = 700) -> Any:  # noqa: C901 - a table
    """A tokenizer of the library."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers
    from tokenizers import pre_tokenizers as cut

    letters = cut.ByteLevel.alphabet()

    def trained(model: Any, trainer: Any, normal: Any, pre: Any, decoder: Any) -> Any:
        one = Tokenizer(model)
        if normal:
            one.normalizer = normal
        if pre:
            one.pre_tokenizer = pre
        one.decoder = decoder
        one.train_from_iterator(corpus(), trainer)
        return one

    def byte_level(normal: Any, pre: Any, marks: list[str], **options: Any) -> Any:
        options_ = {"initial_alphabet": letters, "show_progress": False}
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=marks, **options_)
        return trained(models.BPE(**options), trainer, normal, pre, decoders.ByteLevel())

    def changed(one: Any, **parts: Any) -> Any:
        return Tokenizer.from_str(json.dumps({**json.loads(one.to_str()), **parts}))

    def spaces() -> Any:
        """SentencePiece's BPE with bytes for unknown letters, as Llama has it."""
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=MARKS[:3] + bytes_, limit_alphabet=80,
            show_progress=False,
        )  # fmt: skip
        normal = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        back = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                decoders.Strip(" ", 1, 0)]  # fmt: skip
        model = models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True)
        one = trained(model, trainer, normal, cut.Metaspace(), decoders.Sequence(back))
        added = json.loads(one.to_str())["added_tokens"]
        kept = [token for token in added if not token["content"].startswith("<0x")]
        return changed(one, pre_tokenizer=None, added_tokens=kept)

    def unigram() -> Any:
        normal = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        trainer = trainers.UnigramTrainer(
            vocab_size=size, unk_token="<unk>", special_tokens=MARKS, show_progress=False
        )
        return trained(models.Unigram(), trainer, normal, cut.Metaspace(), decoders.Metaspace())

    def wordpiece(normal: Any, pre: Any) -> Any:
        marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        trainer = trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=marks, show_progress=False
        )
        model = models.WordPiece(unk_token="[UNK]")
        return trained(model, trainer, normal, pre, decoders.WordPiece())

    match name:
        case "gpt2":
            return byte_level(None, cut.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
        case "roberta":
            one = byte_level(None, cut.ByteLevel(add_prefix_space=True), MARKS)
            one.add_special_tokens([AddedToken("<mask>", lstrip=True)])
            return one
        case "qwen":
            steps = [cut.Split(Regex(QWEN), "isolated"),
                     cut.ByteLevel(add_prefix_space=False, use_regex=False)]  # fmt: skip
            marks = ["<|im_start|>"]
            return byte_level(normalizers.NFC(), cut.Sequence(steps), marks, ignore_merges=True)
        case "neox":
            pre = cut.ByteLevel(add_prefix_space=False)
            one = byte_level(normalizers.NFC(), pre, ["<|endoftext|>", "<|padding|>"])
            one.add_tokens([AddedToken(blank, normalized=True) for blank in ("  ", "    ")])
            return one
        case "falcon":
            three = cut.Split(Regex("[0-9][0-9][0-9]"), "isolated")
            steps = [cut.Punctuation("contiguous"), cut.ByteLevel(add_prefix_space=False),
                     cut.Digits(False), three]  # fmt: skip
            return byte_level(None, cut.Sequence(steps), ["<|endoftext|>"])
        case "llama":
            return spaces()
        case "gemma":
            blank = {"String": " "}
            return changed(
                spaces(), normalizer={"type": "Replace", "pattern": blank, "content": "▁"},
                pre_tokenizer={"type": "Split", "pattern": blank, "invert": False,
                               "behavior": "MergedWithPrevious"},
            )  # fmt: skip
        case "first":
            pre = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                   "split": False}  # fmt: skip
            return changed(spaces(), normalizer=None, pre_tokenizer=pre)
        case "unigram":
            return unigram()
        case "unigram bytes":
            model = json.loads(unigram().to_str())["model"]
            more = [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
            model = {**model, "byte_fallback": True, "vocab": model["vocab"] + more}
            return changed(unigram(), model=model)
        case "bert":
            return wordpiece(normalizers.BertNormalizer(), cut.BertPreTokenizer())
        case "cased":
            normal = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
            return wordpiece(normal, cut.Sequence([cut.Whitespace(), cut.Digits(True)]))
        case "suffix":
            steps = [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(),
                     normalizers.Strip()]  # fmt: skip
            pre = cut.Sequence([cut.WhitespaceSplit(), cut.Punctuation()])
            trainer = trainers.BpeTrainer(
                vocab_size=size, special_tokens=MARKS, end_of_word_suffix="</w>",
                show_progress=False,
            )  # fmt: skip
            model = models.BPE(unk_token="<unk>", end_of_word_suffix="</w>")
            return trained(model, trainer, normalizers.Sequence(steps), pre, decoders.BPEDecoder())
        case "words":
            trainer = trainers.WordLevelTrainer(
                vocab_size=size, special_tokens=MARKS, show_progress=False
            )
            model = models.WordLevel(unk_token="<unk>")
            return trained(model, trainer, None, cut.Whitespace(), decoders.Fuse())
    raise ValueError(name)


EVERY = (
    "gpt2", "roberta", "qwen", "neox", "falcon", "llama", "gemma", "first", "unigram",
    "unigram bytes", "bert", "cased", "suffix", "words",
)  # fmt: skip


def texts(count: int, seed: int = 0) -> Iterable[str]:
    """Texts of all sorts; of letters only such as have long been part of Unicode."""
    from unicodedata import ucd_3_2_0

    chance, lines = random.Random(seed), [line for line in corpus() if line]
    old = [
        chr(k) for k in range(1, 0x10000) if ucd_3_2_0.category(chr(k)) not in ("Cn", "Cs", "Co")
    ]
    some = "abc ABC123 .,'!?-\n\té日あ😀ßſ_/\u00a0\u3000\u0301▁Ġ<>#"
    for _ in range(count):
        sort, line = chance.random(), chance.choice(lines)
        if sort < 0.4:
            at = chance.randrange(len(line))
            yield line[at : at + chance.randint(1, 80)]
        elif sort < 0.7:
            yield "".join(chance.choices(some, k=chance.randint(0, 30)))
        elif sort < 0.85:
            parts = [line[:12], " ", chance.choice(SPECIAL), chance.choice(SPECIAL)]
            yield "".join(chance.choices(parts, k=6))
        else:
            yield "".join(chance.choices(old, k=chance.randint(1, 20)))


def written(names: Iterable[str], size: int, count: int) -> dict[str, Any]:
    """Tokenizers as JSON, with the numbers that they have for texts."""
    found: dict[str, Any] = {}
    for name in names:
        one = made(name, size)
        pairs = [[text, one.encode(text, add_special_tokens=False).ids] for text in texts(count)]
        found[name] = {"tokenizer": json.loads(one.to_str()), "texts": pairs}
    return found


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    chosen = ("qwen", "roberta", "llama", "first", "unigram", "bert", "suffix", "words")
    text = json.dumps(written(chosen, 420, 25), ensure_ascii=False, separators=(",", ":"))
    GOLDEN.write_text(text + "\n", encoding="utf-8")
