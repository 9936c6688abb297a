"""A user's own code: what a saved lens may be told to get its module from."""

from tests.lens.test_open import WORDS, LanguageModel

import rnnlens

MODEL = LanguageModel()


def changed(scale=1.0, **more):
    made = rnnlens.UserModel(LanguageModel(), WORDS, **more)
    made.module.scale = scale
    return made


def same():
    return LanguageModel(), WORDS


def shared():
    return MODEL, WORDS


def larger():
    return LanguageModel(12), WORDS


def shy():
    return changed(scale=2.0)


def doubled():
    return changed(words=lambda text: [word for word in text.split() for _ in range(2)])
