"""How many epochs, states a step and what learning rate some states are fitted with."""

import pytest

from rnnlens.probe.recipe import FitConfig, Recipe


@pytest.mark.parametrize(
    ("pairs", "width", "from_prior", "epochs", "batch", "rate"),
    [
        (800_000, 300, False, 4, 8192, 1e-3),  # a corpus of a million words
        (800_000, 600, False, 4, 8192, 1e-3),
        (160_000, 128, False, 4, 2496, 2.34375e-3),
        (29_000, 24, False, 3, 448, 1.25e-2),  # a small run
        (29_000, 24, True, 14, 448, 5e-3),  # the way from the labels' frequencies is longer
        (1_000, 24, False, 60, 64, 1.25e-2),
        (160_000, 128, True, 4, 2496, 5e-3),
    ],
)
def test_few_states_and_narrow_kinds_have_a_recipe_of_their_own(
    pairs, width, from_prior, epochs, batch, rate
):
    recipe = Recipe.of(FitConfig(), pairs, width, from_prior=from_prior)
    assert (recipe.epochs, recipe.batch) == (epochs, batch)
    assert recipe.rate == pytest.approx(rate)


def test_what_is_asked_for_is_taken_as_it_is():
    config = FitConfig(epochs=7, batch=128, learning_rate=0.02, states=5000)
    recipe = Recipe.of(config, 29_000, 24, from_prior=False)
    assert recipe == Recipe(states=5000, batch=128, epochs=7, rate=0.02)
    assert recipe.steps == 7 * 5000 // 128
    assert Recipe.of(config, 29_000, 24, from_prior=True).rate == 0.02


def test_the_rate_rises_and_falls():
    recipe = Recipe(states=1000, batch=10, epochs=1, rate=0.5)
    rates = [recipe.rate_at(step) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.5, rel=0.05)
    assert rates.index(max(rates)) == 9
    assert rates[0] < 0.06
    assert rates[-1] == pytest.approx(0)
