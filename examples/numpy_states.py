"""An echo state network in plain NumPy: its states are recorded, and looked through without it.

Nothing is trained here: the network's weights are random, and the question is what its states know
of nested brackets all the same. Any other loop, in JAX or of a simulator, is recorded so.
"""

import tempfile

import numpy as np

import rnnlens

SIGNS = "([])."
DEPTHS = ["none", "one", "two", "three"]
chance = np.random.default_rng(0)


def brackets(depth: int = 0) -> str:
    """Some nested brackets."""
    inside = ""
    while depth < 3 and chance.random() < 0.6:
        pair = "()" if chance.random() < 0.5 else "[]"
        inside += pair[0] + brackets(depth + 1) + pair[1]
    return inside


texts = [brackets() + "." for _ in range(600)]
embedding = chance.normal(size=(len(SIGNS), 80))
carry = chance.normal(size=(80, 80))
carry *= 0.95 / np.abs(np.linalg.eigvals(carry)).max()  # so that what was read fades slowly

with tempfile.TemporaryDirectory() as folder:
    with rnnlens.record(folder) as recorder:
        for text in texts[recorder.count :]:  # after a crash it goes on where it was
            read = embedding[[SIGNS.index(sign) for sign in text]]
            h, states = np.zeros(80), []
            for x in read:
                h = np.tanh(x + carry @ h)
                states.append(h)
            depths = np.cumsum([(s in "([") - (s in ")]") for s in text])
            targets = {"depth": [DEPTHS[depth] for depth in depths]}
            recorder.add({"x": read, "h": np.array(states)}, list(text), targets)

    lens = rnnlens.from_states(folder, semantic="depth,output", epochs=30)
    for score in lens.evaluate():
        print(
            f"{score.semantic:<7} {score.kind:<2} right in {score.accuracy:.0%} of {score.pairs:,}"
        )
    number = next(k for k, text in enumerate(texts) if text.startswith("([("))
    print(lens(f"#{number}", "depth")["h"][2])
