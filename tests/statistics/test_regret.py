"""The price of not knowing which member is best."""

import math

import numpy as np
import pytest

from oeuvre import Ensemble, Estimator, FadingFactor

LEARNING, SHARE = 0.2, 2e-4
MEMBERS: tuple[Estimator, ...] = tuple(FadingFactor(1 - 2.0**-k) for k in range(1, 9))


def regret(losses: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float, int]:
    """Return by how much the blend's squared errors exceed the best member's, the noise, the best.

    Squared errors are those of predicting the next value, summed over all steps.
    """
    blend = Ensemble(MEMBERS, horizon=1)
    said = blend.replay(losses, losses).estimate
    fresh = losses[1:]
    errors = [
        float(np.sum((member.clone().replay(losses).estimate[:-1] - fresh) ** 2))
        for member in MEMBERS
    ]
    best = int(np.argmin(errors))
    own = float(np.sum((said[:-1] - fresh) ** 2))
    return own - errors[best], blend._get_state()["noise"], best


@pytest.mark.parametrize("moving", [0.0, 0.02, 0.2])
def test_the_blend_costs_no_more_than_its_bound(moving: float) -> None:
    """Regret ≤ (noise/η) (log(1/prior) + α n): squared errors are exp-concave while they are small.

    A level that stands still, wanders slowly or fast, under bounded noise. The bound is that of a
    constant noise level, taken here as the one at the end. No chance is involved but the seeds':
    it holds in each of 60 runs.
    """
    steps = 3000
    for seed in range(20):
        rng = np.random.default_rng(seed)
        level = np.cumsum(rng.choice([-1.0, 1.0], steps)) * moving
        losses = level + rng.uniform(-1.0, 1.0, steps)
        excess, noise, _ = regret(losses)
        bound = noise / LEARNING * (math.log(len(MEMBERS)) + SHARE * steps)
        assert excess <= bound


def test_the_best_member_depends_on_the_stream() -> None:
    """So that the bound above is about something."""
    rng = np.random.default_rng(0)
    noise = rng.uniform(-1.0, 1.0, 3000)
    walk = np.cumsum(rng.choice([-1.0, 1.0], 3000))
    found = [regret(noise + moving * walk)[2] for moving in (0.0, 0.02, 0.2)]
    assert found[0] > found[1] > found[2]
