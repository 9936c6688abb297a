"""Tokenizers of the libraries `tokenizers` and `transformers`, told by what they can do: nothing of
theirs is imported here.

What such a tokenizer says of itself as JSON becomes `Pieces`, part by part; a part that is not
known is named. It is then asked to split some texts beside the library's own, and where the two
differ it is not kept.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rnnlens.base.files import checked
from rnnlens.corpus.pieces.pattern import UnknownPartError
from rnnlens.corpus.pieces.tokenizer import Added, Pieces, Step, Style

Part = Mapping[str, Any]
_BLANK = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SIGNS = r"[!-/:-@\[-`{-~\p{P}]"
_CHINESE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd\p{Cf}\p{Co}]"
#: What reading a part ends in that is not as such parts are.
_DAMAGED = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)


def pieces_of(text: str) -> Pieces:
    """A tokenizer from its JSON; raises UnknownPartError where a part of it is not known."""
    try:
        value = json.loads(text)
        model = _object(value, "model")
        added = [_object(one, "added token") for one in value.get("added_tokens") or ()]
        tokens, inside = _tokens(model, added)
        plain = tuple(_plain(value.get("normalizer")))
        steps = tuple(_steps(value.get("pre_tokenizer")))
        numbers = {token: number for number, token in enumerate(tokens) if token}
        return checked(Pieces(
            style=_style(value, plain, steps), tokens=tuple(tokens), plain=plain, steps=steps,
            added=tuple(_added(one, inside) for one in added), **_model(model, tokens, numbers),
        ))  # fmt: skip
    except json.JSONDecodeError as error:
        raise UnknownPartError(f"what is no JSON ({error})") from error
    except _DAMAGED as error:
        said = " ".join(str(error).split())[:200]
        raise UnknownPartError(f"{type(error).__name__}: {said}") from error


def _object(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) and name in value else value
    if not isinstance(found, dict):
        raise UnknownPartError(f"a {name} that is {type(found).__name__}")
    return found


def _named(part: Part, known: Sequence[str], what: str) -> str:
    """The type of a part; an error where it has more than is known of it."""
    name = str(part.get("type"))
    if more := [key for key in part if key not in ("type", *known)]:
        raise UnknownPartError(f"the {what} {name} with {more[0]!r}")
    return name


def _sequence(part: Part | None, inner: str) -> list[Part]:
    """The parts that a part stands for."""
    if part is None:
        return []
    if part.get("type") == "Sequence":
        return [one for some in part[inner] for one in _sequence(some, inner)]
    return [part]


_PLAIN_KEYS = {
    "NFC": (), "NFD": (), "NFKC": (), "NFKD": (), "Lowercase": (), "StripAccents": (),
    "Strip": ("strip_left", "strip_right"), "Replace": ("pattern", "content"),
    "Prepend": ("prepend",), "Precompiled": ("precompiled_charsmap",),
    "BertNormalizer": ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"),
    "Nmt": (), "ByteLevel": (),
}  # fmt: skip


def _plain(part: Part | None) -> list[Step]:
    steps: list[Step] = []
    for one in _sequence(part, "normalizers"):
        name = _named(one, _PLAIN_KEYS.get(str(one.get("type")), ()), "normalizer")
        match name:
            case "NFC" | "NFD" | "NFKC" | "NFKD":
                steps.append(Step("normal", name))
            case "Lowercase":
                steps.append(Step("lower"))
            case "StripAccents":
                steps.append(Step("replace", pattern=r"\p{M}"))
            case "Strip":
                ends = [(one["strip_left"], rf"(?<![\s\S]){_BLANK}+"),
                        (one["strip_right"], rf"{_BLANK}+(?![\s\S])")]  # fmt: skip
                steps += [Step("replace", pattern=end) for wanted, end in ends if wanted]
            case "Replace":
                steps.append(Step("replace", one["content"], _pattern(one["pattern"])))
            case "Prepend":
                steps.append(Step("front", one["prepend"], always=True))
            case "BertNormalizer":
                steps += _bert(one)
            case "Precompiled" if not one.get("precompiled_charsmap"):
                pass
            case _:
                raise UnknownPartError(f"the normalizer {name}")
    return steps


def _bert(part: Part) -> list[Step]:
    steps: list[Step] = []
    if part["clean_text"]:
        steps += [Step("replace", "", _CONTROL), Step("replace", " ", _BLANK)]
    if part["handle_chinese_chars"]:
        steps.append(Step("apart", pattern=_CHINESE))
    if part["strip_accents"] or (part["strip_accents"] is None and part["lowercase"]):
        steps += [Step("normal", "NFD"), Step("replace", pattern=r"\p{Mn}")]
    return [*steps, Step("lower")] if part["lowercase"] else steps


_STEP_KEYS = {
    "ByteLevel": ("add_prefix_space", "trim_offsets", "use_regex"),
    "Metaspace": ("replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"),
    "Whitespace": (), "WhitespaceSplit": (), "BertPreTokenizer": (), "Punctuation": ("behavior",),
    "Digits": ("individual_digits",), "Split": ("pattern", "behavior", "invert"),
    "CharDelimiterSplit": ("delimiter",),
}  # fmt: skip
_HOW = {
    "Removed": "removed", "Isolated": "isolated", "Contiguous": "contiguous",
    "MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next",
}  # fmt: skip


def _steps(part: Part | None) -> list[Step]:
    steps: list[Step] = []
    for one in _sequence(part, "pretokenizers"):
        name = _named(one, _STEP_KEYS.get(str(one.get("type")), ()), "pre-tokenizer")
        if name not in _MAKERS:
            raise UnknownPartError(f"the pre-tokenizer {name}")
        steps += _MAKERS[name](one)
    return steps


_EACH: Any = {True: "isolated", False: "contiguous"}


def _how(part: Part) -> Any:
    behaviour = part.get("behavior", "Isolated")
    if behaviour not in _HOW:
        raise UnknownPartError(f"the behavior {behaviour!r}")
    return _HOW[behaviour]


def _metaspace(part: Part) -> list[Step]:
    sign = part["replacement"]
    steps = [Step("replace", sign, " ")]
    scheme = part.get("prepend_scheme", "always" if part.get("add_prefix_space", True) else "never")
    if scheme not in ("always", "first", "never"):
        raise UnknownPartError(f"the prepend_scheme {scheme!r}")
    if scheme != "never":
        steps.append(Step("front", sign, first=scheme == "first"))
    if part.get("split", True):
        steps.append(Step("split", pattern=_literal(sign), how="merged_with_next"))
    return steps


def _byte_level(part: Part) -> list[Step]:
    front = [Step("front", " ")] if part.get("add_prefix_space") else []
    cut = [Step("split", pattern=_GPT2)] if part.get("use_regex", True) else []
    return [*front, *cut, Step("bytes")]


def _split(part: Part) -> list[Step]:
    pattern, inverted = _pattern(part["pattern"]), bool(part.get("invert", False))
    return [Step("split", pattern=pattern, how=_how(part), inverted=inverted)]


_WORDS = rf"[{_WORD}]+|[^{_WORD}\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
_AT_BLANKS = Step("split", pattern=_BLANK, how="removed")
_MAKERS: dict[str, Callable[[Part], list[Step]]] = {
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "Whitespace": lambda _: [Step("split", pattern=_WORDS, how="removed", inverted=True)],
    "WhitespaceSplit": lambda _: [_AT_BLANKS],
    "BertPreTokenizer": lambda _: [_AT_BLANKS, Step("split", pattern=_SIGNS)],
    "Punctuation": lambda part: [Step("split", pattern=_SIGNS, how=_how(part))],
    "Digits": lambda part: [
        Step("split", pattern=r"\p{N}", how=_EACH[bool(part["individual_digits"])])
    ],
    "Split": _split,
    "CharDelimiterSplit": lambda part: [
        Step("split", pattern=_literal(part["delimiter"]), how="removed")
    ],
}


def _pattern(part: Any) -> str:
    """What a part looks for, a text or a regular expression."""
    if isinstance(part, dict) and len(part) == 1:
        if isinstance(written := part.get("Regex"), str):
            return written
        if isinstance(written := part.get("String"), str):
            return _literal(written)
    raise UnknownPartError(f"the pattern {part!r:.60}")


def _literal(text: str) -> str:
    return "".join(c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02x}" for c in text)


def _tokens(model: Part, added: Sequence[Part]) -> tuple[list[str], set[int]]:
    """The tokens by their numbers, and which of these the model itself has."""
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):
        numbers = {str(token): number for number, (token, _) in enumerate(vocabulary)}
    elif isinstance(vocabulary, dict):
        numbers = {str(token): int(number) for token, number in vocabulary.items()}
    else:
        raise UnknownPartError("a model without vocab")
    inside = {*numbers.values()}
    every = {**numbers, **{str(one["content"]): int(one["id"]) for one in added}}
    highest = max(every.values(), default=-1)
    if min(every.values(), default=0) < 0 or highest > 2 * len(every) + 100_000:
        raise UnknownPartError(f"tokens with numbers up to {highest:,}")
    tokens = [""] * (highest + 1)
    for token, number in every.items():
        tokens[number] = token
    return tokens, inside


def _added(part: Part, inside: set[int]) -> Added:
    known = ("id", "content", "special", "lstrip", "rstrip", "single_word", "normalized")
    _named(part, known, "added token")
    number = int(part["id"])
    special, left, right, alone, normal = (bool(part.get(key)) for key in known[2:])
    return Added(number, part["content"], special, left, right, alone, normal, number in inside)


_MODEL_KEYS = {
    "BPE": ("vocab", "merges", "unk_token", "dropout", "byte_fallback", "fuse_unk",
            "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"),
    "WordPiece": ("vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    "Unigram": ("vocab", "unk_id", "byte_fallback"),
    "WordLevel": ("vocab", "unk_token"),
}  # fmt: skip


def _model(part: Part, tokens: list[str], numbers: Mapping[str, int]) -> dict[str, Any]:
    sort = part.get("type") or _sort_of(part)
    name = _named({**part, "type": sort}, _MODEL_KEYS.get(str(sort), ()), "model")
    unknown = numbers.get(part.get("unk_token") or "")
    if name == "BPE":
        if part.get("dropout"):
            raise UnknownPartError("dropout, which splits a text another way each time")
        pairs = [one.split(" ") if isinstance(one, str) else one for one in part["merges"]]
        return {
            "model": "bpe", "unknown": unknown, "letters": bool(part.get("byte_fallback")),
            "fused": bool(part.get("fuse_unk")), "whole": bool(part.get("ignore_merges")),
            "prefix": part.get("continuing_subword_prefix") or "",
            "suffix": part.get("end_of_word_suffix") or "",
            "merges": tuple((numbers[a], numbers[b]) for a, b in pairs),
        }  # fmt: skip
    if name == "Unigram":
        scores = dict(part["vocab"])
        return {
            "model": "unigram", "unknown": part.get("unk_id"), "fused": True,
            "letters": bool(part.get("byte_fallback")),
            "scores": tuple(float(scores.get(token, 0.0)) for token in tokens),
        }  # fmt: skip
    if name == "WordPiece":
        return {
            "model": "wordpiece", "unknown": unknown, "prefix": part["continuing_subword_prefix"],
            "most": part["max_input_chars_per_word"],
        }  # fmt: skip
    if name == "WordLevel":
        return {"model": "wordlevel", "unknown": unknown}
    raise UnknownPartError(f"the model {name}")


def _sort_of(part: Part) -> str:
    """The type of a model that does not name it, as older files do."""
    if "merges" in part:
        return "BPE"
    if isinstance(part.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in part else "WordLevel"


_DECODERS = (
    "ByteLevel", "Metaspace", "WordPiece", "BPEDecoder", "Replace", "ByteFallback", "Fuse", "Strip",
    "CTC",
)  # fmt: skip


def _style(value: Part, plain: Sequence[Step], steps: Sequence[Step]) -> Style:
    """How pieces tell where words begin."""
    decoders = [str(one.get("type")) for one in _sequence(value.get("decoder"), "decoders")]
    if unknown := [name for name in decoders if name not in _DECODERS]:
        raise UnknownPartError(f"the decoder {unknown[0]}")
    if any(step.do == "bytes" for step in steps):
        return "bytes"
    signs = any("\u2581" in step.text for step in (*plain, *steps))
    return "spaces" if signs or "Metaspace" in decoders else "words"


#: Texts that a tokenizer and its library's own must split alike, before it is kept.
TRIED = (
    "The quick brown fox jumps over the lazy dog.", " Don't  you'll it's  1234567 3.14 ,;!? ...",
    "café naïve Ångström straße İstanbul ﬁne ①",
    "  two  blanks \t tab\nline\r\n\n end ",
    "日本語のテキスト 한국어 中文。",
    "नमस्ते สวัสดี مرحبا",
    "emoji 😀\U0001f469\u200d\U0001f4bb \u2764\ufe0f",
    "def f(x):\n    return {x|1} # \\n \"q\" 'z'",
    "HELLO world a1b2c3 x_y-z foo@bar.com https://a.b/c?d=e",
    "▁the Ġx ##ing <0x41> \x00\x07\x1f\x7f\xa0\u3000.",
    "A", " ", "\n", "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "e\u0301 a\u0308",
)  # fmt: skip


def written_as_json(tokenizer: Any) -> str:
    """What a library's tokenizer says of itself; an error where it says nothing."""
    for one in (tokenizer, getattr(tokenizer, "backend_tokenizer", None), _converted(tokenizer)):
        write = getattr(one, "to_str", None)
        if callable(write):
            return str(write())
    raise UnknownPartError(f"a {type(tokenizer).__name__}, which does not say what it does")


def _converted(tokenizer: Any) -> Any:
    """A tokenizer of `transformers` that is written in Python, as its library converts it."""
    found = sys.modules.get("transformers.convert_slow_tokenizer")
    convert = getattr(found, "convert_slow_tokenizer", None)
    try:
        return convert(tokenizer) if convert else None
    except Exception:  # noqa: BLE001 - theirs: it cannot
        return None


def encoder_of(tokenizer: Any) -> Callable[[str], list[int]]:
    """The library's own way from a text to numbers, without what it puts around."""

    def encode(text: str) -> list[int]:
        found = tokenizer.encode(text, add_special_tokens=False)
        return [int(number) for number in getattr(found, "ids", found)]

    return encode
