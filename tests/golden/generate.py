"""Write `vectors.json`: expected results from an independent computation.

    python tests/golden/generate.py

Nothing is shared with the library. The paper's estimator is computed with mpmath to 50 digits:
the weight is the vertex of the parabola that Equation 2 is in γ, brought into [0, 1]; burn-in
variances come from stored lists by the two-pass formula. The averages are computed with exact
fractions from their definitions as weighted sums of all past losses.
"""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

mp.dps = 50
TARGET = Path(__file__).with_name("vectors.json")


def floats(rng: random.Random, count: int) -> list[float]:
    return [round(rng.gauss(0.8, 0.6), 4) for _ in range(count)]


def parabola(bound: Any, sigma: Any, b: Any) -> Any:
    """Minimise a γ² + d γ + e, which is Equation 2 written out, over [0, 1]."""
    a = (b - sigma) ** 2 + bound
    d = 2 * sigma * (b - sigma) - 2 * bound
    return min(mpf(1), max(mpf(0), -d / (2 * a)))


def estimator(case: dict[str, Any]) -> dict[str, list[str]]:
    """Algorithm 1, or the same with known constants or fixed weights."""
    known = case["b"] is not None
    b = mpf(case["b"]) if known else mpf(2)
    c = mpf(case["c"]) if known else mpf(1)
    sizes = case["sizes"] or [1] * len(case["losses"])
    history: list[tuple[Any, Any, Any]] = []  # (size, scaled change, loss) of the burn-in
    steps: list[tuple[Any, Any, Any]] = []  # (size, weight, rate) of every step
    estimate = bound = mpf(0)
    out: dict[str, list[str]] = {"estimate": [], "variance": [], "weight": []}
    for t, (cur, prev, size) in enumerate(
        zip(map(mpf, case["losses"]), map(mpf, case["previous"]), sizes, strict=True), start=1
    ):
        rate = mpf(case["rates"][t - 1]) if case["rates"] else mpf(t) ** -mpf(case["exponent"])
        root = mp.sqrt(size)
        guess = not known and len(history) < 2
        b_step = b if guess else b / root
        sigma = (c if guess else c / root) * rate
        fixed = case["gamma"]
        by_sigma = isinstance(fixed, str) and "sigma" in fixed
        if t == 1 or (t == case["burn_in"] and not known and (fixed is None or by_sigma)):
            gamma, bound = mpf(1), b_step**2
        else:
            if fixed is None:
                gamma = parabola(bound, sigma, b_step)
            elif fixed == "1/t":
                gamma = mpf(1) / t
            elif by_sigma:
                gamma = min(mpf(1), mpf(fixed.removesuffix("*sigma")) * sigma)
            else:
                gamma = mpf(fixed)
            bound = (gamma * b_step + (1 - gamma) * sigma) ** 2 + (1 - gamma) ** 2 * bound
        estimate = cur + (1 - gamma) * (estimate - prev)
        steps.append((size, gamma, rate))
        if not known and 1 < t < case["burn_in"] and rate > 0:
            history.append((size, (cur - prev) / rate, cur))
            if len(history) >= 2:
                c, b = (deviation([(h[0], h[i]) for h in history]) for i in (1, 2))
        if fixed is not None and (known or len(history) >= 2):
            # all of Equation 2 again, with today's constants
            bound = mpf(0)
            for batch, weight, pace in steps:
                mixed = (weight * b + (1 - weight) * c * pace) / mp.sqrt(batch)
                bound = mixed**2 + (1 - weight) ** 2 * bound
        for name, value in (("estimate", estimate), ("variance", bound), ("weight", gamma)):
            out[name].append(mp.nstr(value, 25))
    return out


def deviation(values: list[tuple[Any, Any]]) -> Any:
    """Standard deviation of one sample, from means of batches weighted by their sizes."""
    total = sum(size for size, _ in values)
    centre = sum(size * value for size, value in values) / total
    spread = sum(size * (value - centre) ** 2 for size, value in values)
    return mp.sqrt(max(mpf("1e-12") * total, spread) / len(values))


def average(case: dict[str, Any]) -> list[str]:
    """Return Σ w x / Σ w over all past samples."""
    losses = [Fraction(x) for x in case["losses"]]
    sizes = case["sizes"] or [1] * len(losses)
    parameter = Fraction(case["parameter"]) if case["parameter"] is not None else None
    out = []
    for t in range(1, len(losses) + 1):
        weights = [Fraction(0)] * t
        for i in range(t):
            age = t - 1 - i
            if case["kind"] == "Prequential":
                weights[i] = Fraction(sizes[i])
            elif case["kind"] == "SlidingWindow":
                weights[i] = Fraction(sizes[i]) if age < case["parameter"] else Fraction(0)
            elif case["kind"] == "FadingFactor" and parameter is not None:
                weights[i] = sizes[i] * parameter**age
            elif parameter is not None:
                weights[i] = (1 - parameter) ** age * (1 if i == 0 else parameter)
        total = sum((w * x for w, x in zip(weights, losses, strict=False)), Fraction(0))
        mean = total / sum(weights, Fraction(0))
        out.append(mp.nstr(mpf(mean.numerator) / mean.denominator, 25))
    return out


def main() -> None:
    rng = random.Random(20251)
    estimators = []
    cases: dict[str, dict[str, Any]] = {
        "paper": {},
        "paper 1/t": {"exponent": 1.0},
        "paper power": {"exponent": 0.7, "burn_in": 5},
        "known": {"b": 1.25, "c": 0.5},
        "known, large rate": {"b": 0.75, "c": 1.5, "exponent": 0.0},
        "known, static": {"b": 1.0, "c": 0.0},
        "rates": {"rates": [round(rng.random() * (i % 7 > 0), 3) for i in range(60)]},
        "restarting rates": {
            "b": 1.0,
            "c": 1.0,
            "rates": [round(0.5 * 0.7 ** (i % 20), 6) for i in range(60)],
        },
        "batches": {"sizes": [rng.randint(1, 40) for _ in range(60)]},
        "known batches": {"b": 1.5, "c": 0.25, "sizes": [rng.randint(1, 9) for _ in range(60)]},
        "weights 1/t": {"gamma": "1/t"},
        "weights sigma": {"gamma": "0.5*sigma", "exponent": 1.0},
        "weights constant": {"gamma": 0.0625, "sizes": [rng.randint(1, 9) for _ in range(60)]},
        "weights sigma, known": {"gamma": "2*sigma", "b": 1.0, "c": 0.375},
        "mixed sizes": {"sizes": [1, 50, 1, 2, 1, 40] * 10},
        "weights 1/t, mixed sizes": {"gamma": "1/t", "sizes": [1, 50, 1, 2, 1, 40] * 10},
        "weights constant, mixed sizes": {"gamma": 0.25, "sizes": [50, 1, 9, 1, 1, 40] * 10},
        "weights sigma, mixed sizes": {"gamma": "0.5*sigma", "sizes": [1, 9, 50, 1, 1, 4] * 10},
        "warm-up, mixed sizes": {
            "burn_in": 10,
            "rates": [0.0] * 20 + [0.25] * 40,
            "sizes": [1, 50, 7] * 20,
        },
        "warm-up, weights 1/t": {
            "gamma": "1/t",
            "rates": [0.0] * 12 + [0.25] * 48,
            "sizes": [1, 50, 7] * 20,
        },
    }
    for name, changes in cases.items():
        case: dict[str, Any] = {
            "name": name,
            "exponent": 0.5,
            "b": None,
            "c": None,
            "burn_in": 30,
            "gamma": None,
            "rates": None,
            "sizes": None,
            **changes,
        }
        case["losses"] = floats(rng, 60)
        case["previous"] = [round(x + rng.gauss(0, 0.2), 4) for x in case["losses"]]
        case["expected"] = estimator(case)
        estimators.append(case)
    averages = []
    for kind, parameter in (
        ("Prequential", None),
        ("SlidingWindow", 7),
        ("FadingFactor", 0.875),
        ("ExponentialMovingAverage", 0.125),
    ):
        for batches in (False, True):
            sizes = [rng.randint(1, 12) for _ in range(30)] if batches else None
            entry: dict[str, Any] = {
                "kind": kind,
                "parameter": parameter,
                "losses": floats(rng, 30),
                "sizes": sizes,
            }
            entry["expected"] = average(entry)
            averages.append(entry)
    document = {"estimators": estimators, "averages": averages}
    TARGET.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
