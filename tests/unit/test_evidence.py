"""What the intervals are made of, beside direct sums over all steps from stored lists."""

import math
from typing import Any

import numpy as np
import pytest

from oeuvre import Estimator, Oeuvre, intervals, rates
from oeuvre.errors import NotAvailable
from tests.conftest import Pairs, snapshot

STEPS = 100
EXACT = 32


def stream(steps: int = STEPS, seed: int = 0, jumps: float = 0.0) -> Pairs:
    """Losses that fall, or that jump up and down, and those of the model before."""
    rng = np.random.default_rng(seed)
    z = rng.random(steps)
    falls = 0.4 + 0.6 * np.exp(-0.02 * np.arange(steps + 1))
    falls += jumps * np.random.default_rng(seed + 1).integers(0, 2, steps + 1)
    wobble = 0.05 * rng.normal(size=steps)
    return np.clip(z * falls[1:] + wobble, 0.0, 1.0), z * falls[:-1]


def restarting(at: int) -> list[float]:
    """Rates of 1/√t with one so large that the estimate starts anew."""
    return [9.0 if t == at else t**-0.5 for t in range(1, STEPS + 1)]


SIZES = [int(x) for x in np.random.default_rng(1).integers(1, 30, STEPS)]
SETTINGS: dict[str, dict[str, Any]] = {
    "known": {"b": 1.0, "c": 0.3},
    "1/t": {"rate": "1/t", "b": 1.5, "c": 0.7},
    "static": {"b": 1.0, "c": 0.0},
    "weights 1/t": {"b": 1.0, "c": 0.2, "gamma": "1/t"},
    "weights sigma": {"b": 1.0, "c": 0.4, "gamma": "2*sigma"},
    "constant weights": {"b": 1.0, "c": 0.2, "gamma": 0.15},
    "large rate": {"rate": "constant", "b": 1.0, "c": 0.9},
    "jumping": {"b": 1.0, "c": 0.5, "jumps": 0.6},
    "jumping, batches": {"b": 1.0, "c": 0.5, "jumps": 0.3, "sizes": SIZES},
    "restart": {"b": 1.0, "c": 0.3, "rates": restarting(40)},
    "restart at once": {"b": 1.0, "c": 0.3, "rates": restarting(2)},
    "batches": {"b": 1.0, "c": 0.3, "sizes": SIZES},
    "batches, restart": {"b": 1.0, "c": 0.3, "sizes": SIZES, "rates": restarting(60)},
    "batches, constant weights": {"b": 1.0, "c": 0.3, "sizes": SIZES, "gamma": 0.1},
    "estimated": {"burn_in": 20},
    "estimated, batches": {"burn_in": 20, "sizes": SIZES},
}


def pace_of(i: int) -> float:
    """Return by how much the i-th pair moves the moments."""
    return float((i if i < EXACT else i - i % EXACT) ** -0.7)


class Direct:
    """Every sum again, from lists: no recursion, but products of what each later step keeps."""

    def __init__(self, case: dict[str, Any], pairs: Pairs, weight: Any, estimate: Any) -> None:
        self.losses, self.previous = pairs
        self.gamma, self.estimate = weight, estimate
        self.sizes = case.get("sizes") or [1] * STEPS
        self.b = case.get("b", 2.0)
        exponent = 1.0 if case.get("rate") == "1/t" else 0.0 if "rate" in case else 0.5
        pace = case.get("rates") or [t**-exponent for t in range(1, STEPS + 1)]
        self.sigma = [case.get("c", math.nan) * each for each in pace]
        steps = range(STEPS)
        self.moments: list[dict[str, float]] = []
        for t in range(STEPS + 1):
            self.moments.append(self.moments_before(t))
        self.expected = [
            self.moments[t]["change"] + self.gamma[t] * estimate[t - 1] if t else 0.5 * self.b
            for t in steps
        ]
        self.move = [(1 - self.gamma[t]) * self.sigma[t] if self.gamma[t] < 1 else 0 for t in steps]

    def moments_before(self, t: int) -> dict[str, float]:
        """Return the moments of the pairs before step t; the first step has no pair."""
        left, weights = 1.0, {}
        for i in range(t - 1, 0, -1):
            pace = pace_of(i)
            weights[i] = left * pace, left * pace * (1.0 - pace)
            left *= 1.0 - pace
        change, level = (
            math.fsum(weights[i][0] * values[i] for i in weights)
            for values in (self.losses - self.previous, self.previous)
        )
        found = {"change": change, "level": level, "var_d": 0.0, "var_p": 0.0, "cov": 0.0}
        for i, (_, each) in weights.items():
            d, p = self.apart(i), self.previous[i] - self.moments[i]["level"] if i > 1 else 0.0
            for name, product in (("var_d", d * d), ("var_p", p * p), ("cov", d * p)):
                found[name] += self.sizes[i] * each * product
        return found

    def apart(self, i: int) -> float:
        """Return how far a change was from the mean one; that of the first pair was expected."""
        change = float(self.losses[i] - self.previous[i])
        return change - self.moments[i]["change"] if i > 1 else 0.0

    def kept(self, i: int, t: int) -> float:
        """Return Γ_t/Γ_i."""
        return math.prod(1.0 - float(g) for g in self.gamma[i + 1 : t + 1])

    def looked(self, i: int) -> float:
        """Return u_i."""
        return float(self.losses[i] - (1.0 - self.gamma[i]) * self.previous[i])

    def shock(self, i: int) -> float:
        """Return u_i − û_i."""
        return self.looked(i) - float(self.expected[i])

    def fresh(self, i: int) -> float:
        """Return what the moments promise of step i."""
        m, gamma = self.moments[i], self.gamma[i]
        whole = m["var_d"] + 2 * gamma * m["cov"] + gamma**2 * m["var_p"]
        return float(max(0.0, whole) / self.sizes[i])

    def at(self, t: int) -> dict[str, float]:
        """Return all of the evidence after step t, counted from 0."""
        start = max(i for i in range(t + 1) if self.gamma[i] == 1.0)
        steps, later = range(start, t + 1), range(start + 1, t + 1)
        low = [-move for move in self.move]
        high = [self.gamma[i] * self.b + self.move[i] for i in range(STEPS)]
        half = [0.5 * (high[i] - low[i]) for i in range(STEPS)]
        first = self.kept(start, t) ** 2
        slack = 1e-9 * self.b
        beyond = (
            i + 1 for i in range(t + 1) if not low[i] - slack <= self.looked(i) <= high[i] + slack
        )
        return {
            "realised": math.fsum((self.kept(i, t) * self.shock(i)) ** 2 for i in later),
            "promised": math.fsum(self.kept(i, t) ** 2 * self.fresh(i) for i in later),
            "opening": first * self.shock(start) ** 2,
            "share": first / self.sizes[start],
            "tight": math.fsum((self.kept(i, t) * half[i]) ** 2 / self.sizes[i] for i in steps),
            "drop": max(0.0, *(self.kept(i, t) * (self.expected[i] - low[i]) for i in steps)),
            "rise": max(0.0, *(self.kept(i, t) * (high[i] - self.expected[i]) for i in steps)),
            "reach": max(self.kept(i, t) * half[i] for i in steps),
            "started": start + 1,
            "outside": next(beyond, 0),
            **self.moments[t + 1],
        }


def made(case: dict[str, Any]) -> Oeuvre:
    return Oeuvre(**{key: case[key] for key in case if key not in ("rates", "sizes", "jumps")})


@pytest.mark.parametrize("name", SETTINGS)
def test_every_part_is_the_sum_it_stands_for(name: str) -> None:
    case = SETTINGS[name]
    pairs = stream(jumps=case.get("jumps", 0.0))
    whole = made(case)
    given: dict[str, Any] = {key: case.get(key) for key in ("rates", "sizes")}
    course = whole.replay(*pairs, **given)
    direct = Direct(case, pairs, course.weight, course.estimate)
    known = "b" in case
    est = made(case)
    for t in range(STEPS):
        step = {key: values and values[t : t + 1] for key, values in given.items()}
        est.replay(pairs[0][t : t + 1], pairs[1][t : t + 1], **step)
        if t % 7 and t not in (1, 2, 31, 32, 33, 38, 39, 40, 59, 60, STEPS - 1):
            continue
        state = snapshot(est)
        for part, value in direct.at(t).items():
            if known or part not in ("tight", "drop", "rise", "reach", "outside"):
                assert state[part] == pytest.approx(value, rel=1e-10, abs=1e-14), (t, part)
    assert snapshot(est) == snapshot(whole)


def test_the_settings_reach_every_case() -> None:
    """A weight of 0, starts, losses beyond their bounds, and no two sums always the larger."""
    zero, started, outside, seen, apart = set(), set(), set(), set(), 0.0
    for name, case in SETTINGS.items():
        est = made(case)
        pairs = stream(jumps=case.get("jumps", 0.0))
        course = est.replay(*pairs, rates=case.get("rates"), sizes=case.get("sizes"))
        zero.add(0.0 in course.weight)
        state = snapshot(est)
        started.add(state["started"])
        seen.add(state["realised"] > state["promised"])
        if "estimated" not in name:
            outside.add(state["outside"])
            apart = max(apart, abs(state["drop"] / state["rise"] - 1.0))
    assert zero == seen == {False, True}
    assert {1, 2, 20, 40, 60} <= started
    assert 0 in outside
    assert len(outside) > 3
    assert apart > 0.5


def test_each_step_of_weight_one_is_a_start() -> None:
    est = Oeuvre(b=1.0, c=0.3, gamma=1.0)
    losses, previous = stream(20)
    est.replay(losses, previous)
    assert snapshot(est)["started"] == 20
    assert snapshot(est)["share"] == 1.0
    assert snapshot(est)["tight"] == 0.25
    est = Oeuvre(b=1.0, c=0.3)
    assert snapshot(est)["started"] == 0
    rates_given = [9.0, 9.0, 0.1, 0.1, 9.0, 9.0, 0.1]
    counted = []
    for t, rate in enumerate(rates_given):
        est.update(losses[t], previous[t], rate=rate)
        counted.append(snapshot(est)["started"])
    assert counted == [1, 2, 2, 2, 5, 6, 6]
    est.reset()
    assert snapshot(est)["started"] == 0


@pytest.mark.parametrize(("seed", "larger"), [(2, "promised"), (0, "realised")])
def test_the_normal_interval_is_made_of_the_larger_sum_and_a_share(seed: int, larger: str) -> None:
    est = Oeuvre(b=1.0, c=0.3, gamma="1/t")
    for loss, previous in zip(*stream(seed=seed, jumps=0.6), strict=True):
        est.update(loss, previous)
        state = snapshot(est)
        variance = max(state["promised"], state["realised"]) + state["share"] * state["var_p"]
        if est.n > 2:
            assert est.interval(0.9) == intervals.normal(est.get(), variance, 0.9)
    other = {"promised": "realised", "realised": "promised"}[larger]
    assert state[larger] > state[other] > 0.0


# Beyond the bounds

RANGED: dict[str, dict[str, Any]] = {
    "hoeffding": {"kind": "hoeffding"},
    "anytime": {"kind": "anytime", "horizon": 10},
    "bernstein": {"kind": "bernstein"},
    "bernstein at all steps": {"kind": "bernstein", "horizon": 10},
}


def fed_with(losses: list[float], previous: list[float], **options: Any) -> Oeuvre:
    est = Oeuvre(**{"rate": "constant", "b": 2.0, "c": 0.25, "gamma": 0.5, **options})
    est.replay(losses, previous)
    return est


@pytest.mark.parametrize(
    ("losses", "previous", "step"),
    [
        ([1.0, 1.0, 1.0], [1.0, 1.25, 0.75], 0),
        ([0.0, 2.0, 0.0], [0.0, 2.0, 0.0], 0),
        ([-0.1, 1.0, 1.0], [1.0, 1.0, 1.0], 1),
        ([2.1, 1.0, 1.0], [1.0, 1.0, 1.0], 1),
        ([-1e-9, 1.0, 2.0 + 1e-9], [1.0, 1.0, 2.0 + 1e-9], 0),  # 1e-9 b is rounding
        ([-3e-9, 1.0, 1.0], [1.0, 1.0, 1.0], 1),
        # u = ℓ − ℓ'/2 lies from −0.125 to 1.125
        ([1.0, 0.25, 1.0], [1.0, 0.75, 1.0], 0),
        ([1.0, 0.25, 1.0], [1.0, 0.751, 1.0], 2),
        ([1.0, 1.0, 2.0], [1.0, 1.0, 1.75], 0),
        ([1.0, 1.0, 2.0], [1.0, 1.0, 1.749], 3),
        ([1.0, -0.2, 3.0], [1.0, 1.0, 1.0], 2),  # the first of two
        ([1.0, 1.0, -0.2], [9.0, 1.0, -0.2], 0),  # the model before the first has no say
    ],
)
def test_the_first_step_beyond_the_bounds_is_known(
    losses: list[float], previous: list[float], step: int
) -> None:
    est = fed_with(losses, previous)
    again = Estimator.from_dict(est.to_dict())
    assert snapshot(est)["outside"] == snapshot(again)["outside"] == step
    for each in (est, again):
        for options in RANGED.values():
            if step:
                message = f"kind '{options['kind']}' needs losses in .* those of step {step} "
                with pytest.raises(NotAvailable, match=message):
                    each.interval(**options)
            else:
                each.interval(**options)
        for kind in ("normal", "conservative"):
            assert math.isfinite(each.interval(kind=kind).width)
    est.reset()
    est.update(1.0)
    assert snapshot(est)["outside"] == 0
    assert all(math.isfinite(est.interval(**options).width) for options in RANGED.values())


def test_a_start_asks_only_for_a_loss_within_its_range() -> None:
    """A weight of 1 leaves nothing of the model before, however far the loss has moved."""
    est = fed_with([1.0, 0.0, 2.0], [1.0, 2.0, 0.0], gamma=1.0)
    assert snapshot(est)["outside"] == 0
    est.update(-0.1, 0.0)
    assert snapshot(est)["outside"] == 4


def test_bounds_that_are_estimated_are_not_broken() -> None:
    est = Oeuvre(burn_in=10)
    losses, _ = stream()
    est.replay(5.0 - 9.0 * losses, 5.0 - 9.0 * losses[::-1])
    for options in RANGED.values():
        with pytest.raises(NotAvailable, match="needs 'b' and 'c' to be given"):
            est.interval(**options)
    for kind in ("normal", "conservative"):
        assert math.isfinite(est.interval(kind=kind).width)


@pytest.mark.parametrize("gamma", [None, "1/t"])
def test_noise_in_the_change_is_in_the_normal_interval(gamma: str | None) -> None:
    """A loss that falls steadily, and changes full of noise: intervals of 95 % must hold.

    Over 2,000 seeds 95 % of them did. That less than 88 % of 200 do then has a probability below
    one in ten thousand.
    """
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z, noise = rng.random(400), 0.05 * rng.normal(size=400)
        falls = 0.4 + 0.6 * np.exp(-0.02 * np.arange(401))
        est = Oeuvre(b=1.0, c=0.3, gamma=gamma)
        est.replay(z * falls[1:] + noise, z * falls[:-1])
        held += 0.5 * falls[-1] in est.interval(0.95)
    assert held >= 0.88 * 200


def test_a_first_step_is_forgotten_at_last_and_nothing_else_with_it() -> None:
    est = Oeuvre(b=1.0, c=0.1, gamma=0.25)
    losses, previous = stream(1000)
    est.replay(losses[:100], previous[:100])
    assert snapshot(est)["share"] == pytest.approx(0.75**198, rel=1e-12)
    est.replay(losses[100:], previous[100:])
    state = snapshot(est)
    assert state["share"] == state["opening"] == 0.0
    assert state["promised"] > 0.0
    assert state["realised"] > 0.0
    # (0.25 b/2 + 0.75 σ)² / (1 − 0.75²), σ hardly moving any more
    half = 0.125 + 0.075 / math.sqrt(1000)
    assert state["tight"] == pytest.approx(half**2 / (1 - 0.75**2), rel=1e-2)
    assert state["reach"] == pytest.approx(half, rel=1e-2)


def test_the_promise_agrees_with_what_the_steps_show() -> None:
    """Both estimate one variance, that of a mean.

    Over 200 seeds their ratio was 0.998 ± 0.002 and the promise 0.998 ± 0.010 of the truth; at five
    of these spreads, false alarms are below one in a million.
    """
    z = np.random.default_rng(5).normal(size=20_000)
    est = Oeuvre(rates.Power(1.0), b=3.0, c=0.0)
    est.replay(1.0 + z, 1.0 + z)
    state = snapshot(est)
    assert state["promised"] == pytest.approx(state["realised"], rel=0.012)
    assert state["promised"] == pytest.approx(1.0 / est.n, rel=0.055)
