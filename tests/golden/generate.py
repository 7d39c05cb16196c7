"""Write `vectors.json`: expected results from an independent computation.

    python tests/golden/generate.py

Nothing is shared with the library. The paper's estimator is computed with mpmath to 50 digits:
the weight is the vertex of the parabola that Equation 2 is in γ, brought into [0, 1]; burn-in
variances come from stored lists by the two-pass formula. The averages are computed with exact
fractions from their definitions as weighted sums of all past losses. The estimator with adaptive
weights keeps lists of all it has seen and minimises its quadratic over a triangle, inside and along
each edge; the blend of averages starts from their exact values.
"""

import json
import math
import random
from fractions import Fraction
from functools import cache
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


def triangle(h: tuple[Any, Any, Any], r: tuple[Any, Any], least: Any) -> tuple[Any, Any]:
    """Minimise h0 β² + 2 h1 βγ + h2 γ² − 2 (r0 β + r1 γ) over least ≤ γ ≤ β ≤ 1."""
    determinant = h[0] * h[2] - h[1] ** 2
    if determinant > 0:
        beta = (r[0] * h[2] - r[1] * h[1]) / determinant
        gamma = (r[1] * h[0] - r[0] * h[1]) / determinant
        if least <= gamma <= beta <= 1:
            return beta, gamma

    def value(x: tuple[Any, Any]) -> Any:
        form = h[0] * x[0] ** 2 + 2 * h[1] * x[0] * x[1] + h[2] * x[1] ** 2
        return form - 2 * (r[0] * x[0] + r[1] * x[1])

    one = mpf(1)
    corners = [(least, least), (one, one), (one, least)]
    points = []
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        way = (end[0] - start[0], end[1] - start[1])
        slope = way[0] * (r[0] - h[0] * start[0] - h[1] * start[1])
        slope += way[1] * (r[1] - h[1] * start[0] - h[2] * start[1])
        curve = h[0] * way[0] ** 2 + 2 * h[1] * way[0] * way[1] + h[2] * way[1] ** 2
        at = min(one, max(mpf(0), slope / curve)) if curve > 0 else mpf(0)
        points.append((start[0] + at * way[0], start[1] + at * way[1]))
    return min(points, key=value)


@cache
def forgets(i: int) -> Any:
    """Return by how much the i-th pair moves the moments."""
    return mpf(i) ** -mpf("0.7")


class Moments:
    """Means of a stream that forgets, and products of distances from them, out of lists."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any]] = []  # (change, previous loss)
        self.apart: list[tuple[Any, Any, Any]] = []  # (size, distances from the means before)

    def add(self, size: Any, change: Any, previous: Any) -> None:
        means = [self.mean(column) for column in (0, 1)]
        self.apart.append((size, change - means[0], previous - means[1]))
        self.rows.append((change, previous))

    def weights(self) -> list[tuple[Any, Any]]:
        """Return of each row what is left of its pace, and the pace."""
        left, found = mpf(1), []
        for i in range(len(self.rows), 0, -1):
            pace = forgets(i)
            found.append((left * pace, pace))
            left *= 1 - pace
        return found[::-1]

    def mean(self, column: int) -> Any:
        return mp.fsum(
            w * row[column] for (w, _), row in zip(self.weights(), self.rows, strict=True)
        )

    def product(self, first: int, second: int) -> Any:
        """Return the variance or covariance of one sample."""
        return mp.fsum(
            w * (1 - pace) * row[0] * row[1 + first] * row[1 + second]
            for (w, pace), row in zip(self.weights(), self.apart, strict=True)
        )


def adaptive(case: dict[str, Any]) -> dict[str, list[str]]:
    """Weights from moments: the gains minimise variance plus squared lag."""
    out: dict[str, list[str]] = {"estimate": [], "variance": [], "weight": [], "beta": []}
    moments = Moments()
    total = estimate = beta = gamma = q = lag = seen = kept = change = innovation = mean = mpf(0)
    step_q = step_lag = mpf(0)
    sums = (mpf(0), mpf(0))
    for cur, prev, size in zip(
        map(mpf, case["losses"]),
        map(mpf, case["previous"]),
        case["sizes"] or [1] * len(case["losses"]),
        strict=True,
    ):
        up = down = mpf(0)
        if total > 0:
            change, innovation = cur - prev, prev - estimate
            pairs = len(moments.rows)
            mean = moments.mean(0)
            least = size / (total + size)
            beta, gamma, step_lag, step_q = mpf(1), least, mpf(0), 1 / (total + size)
            if pairs >= 2:
                var_p = moments.product(1, 1)
                rd, rc = moments.product(0, 0) / var_p, moments.product(0, 1) / var_p
                pace = forgets(pairs)
                noise = rd * pairs / total * pace / (2 - pace)
                m = mp.sqrt(max(mpf(0), mean**2 / var_p - noise))
                if case["two_gain"]:
                    mixed = rc / size + m * lag
                    beta, gamma = triangle(
                        (rd / size + m**2, mixed, q + mpf(1) / size + lag**2),
                        (m * (lag + m), q + lag * (lag + m)),
                        least,
                    )
                    step_lag = (1 - gamma) * lag + (1 - beta) * m
                else:
                    gamma = min(mpf(1), max(least, (size * q - rc) / (size * q + 1)))
                step_q = (1 - gamma) ** 2 * q
                step_q += (beta**2 * rd + 2 * beta * gamma * rc + gamma**2) / size
                if case["drift"]:
                    long_p = mp.fsum(s * p**2 for s, _, p in moments.apart[1:]) / pairs
                    z = innovation / mp.sqrt(max(var_p, long_p) * (mpf(1) / size + q))
                    z = min(mpf(3), max(mpf(-3), z))
                    up = max(mpf(0), sums[0] + z - mpf("0.25"))
                    down = max(mpf(0), sums[1] - z - mpf("0.25"))
        if total == 0 or max(up, down) > 25:
            moments = Moments()
            estimate, total = cur, mpf(size)
            beta = gamma = mpf(1)
            q, lag, seen, kept, sums = 1 / total, mpf(0), mpf(0), 1 / total, (mpf(0), mpf(0))
        else:
            shock = beta * (change - mean) + gamma * innovation
            estimate += beta * change + gamma * innovation
            seen = (1 - gamma) ** 2 * seen + shock**2
            kept *= (1 - gamma) ** 2
            q, lag, sums = step_q, step_lag, (up, down)
            moments.add(mpf(size), change, prev)
            total += size
        variance = mp.inf
        if len(moments.rows) >= 2:
            var_p = moments.product(1, 1)
            variance = max(q * var_p, seen + kept * var_p) + lag**2 * var_p
        for name, value in (
            ("estimate", estimate),
            ("variance", variance),
            ("weight", gamma),
            ("beta", beta),
        ):
            out[name].append(mp.nstr(value, 25))
    return out


def blend(case: dict[str, Any]) -> dict[str, list[str]]:
    """Blend averages, weighted by how well they predict the next values of `previous`."""
    said = [
        [mpf(x) for x in average({**case, "kind": kind, "parameter": parameter})]
        for kind, parameter in case["members"]
    ]
    prior = [mpf(x) / mpf(sum(case["prior"])) for x in case["prior"]]
    weights, noise, streak = list(prior), mpf(0), 0
    blended: list[Any] = []
    out: dict[str, list[str]] = {"estimate": []}
    horizon = case["horizon"]
    sizes = case["sizes"] or [1] * len(case["losses"])
    for t in range(len(case["losses"])):
        if t >= horizon:
            window = range(t - horizon + 1, t + 1)
            looks = mp.fsum(sizes[i] * mpf(case["previous"][i]) for i in window)
            target = looks / sum(sizes[i] for i in window)
            past = blended[t - horizon]
            value = horizon * (past - target) ** 2
            scored = t - horizon + 1
            streak = streak + 1 if value > 3 * noise else 0
            if scored > 10 and noise > 0 and streak <= 3 * horizon:
                if value > 25 * noise:
                    target = past + (target - past) * mp.sqrt(25 * noise / value)
                value = min(value, 3 * noise)
            pace = max(mpf("0.01"), mpf(scored) ** -mpf("0.8"))
            noise += pace * (value - noise)
            squares = [(each[t - horizon] - target) ** 2 for each in said]
            raised = [
                w * mp.exp(-mpf("0.2") * (square - min(squares)) / noise)
                for w, square in zip(weights, squares, strict=True)
            ]
            weights = [
                (1 - mpf("0.0002")) * w / mp.fsum(raised) + mpf("0.0002") * p
                for w, p in zip(raised, prior, strict=True)
            ]
        blended.append(mp.fsum(w * each[t] for w, each in zip(weights, said, strict=True)))
        out["estimate"].append(mp.nstr(blended[-1], 25))
    out["weights"] = [mp.nstr(w, 25) for w in weights]
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
    adaptives = []
    for two_gain in (False, True):
        variants: dict[str, dict[str, Any]] = {
            "plain": {},
            "batches": {"sizes": [rng.randint(1, 9) for _ in range(60)]},
            "learning": {"fall": 0.05},
            "learning, batches": {"fall": 0.05, "sizes": [1, 5, 2, 40, 1, 3] * 10},
            "drift": {"drift": "cusum", "jump": 4.0},
        }
        for name, changes in variants.items():
            case = {"name": name, "two_gain": two_gain, "drift": None, "sizes": None, **changes}
            jump, fall = case.pop("jump", 0.0), case.pop("fall", 0.0)
            scales = [1 + (3 * math.exp(-fall * i) if fall else 0) for i in range(61)]
            noise = floats(rng, 60)
            shifts = [jump * (i > 30) for i in range(60)]
            case["losses"] = [
                round(x * scales[i + 1] + shifts[i] + rng.gauss(0, 0.02 if jump else 0.1), 4)
                for i, x in enumerate(noise)
            ]
            case["previous"] = [round(x * scales[i] + shifts[i], 4) for i, x in enumerate(noise)]
            case["expected"] = adaptive(case)
            adaptives.append(case)
    blends = []
    for horizon in (1, 4):
        for batches in (False, True):
            case = {
                "members": [
                    ("Prequential", None),
                    ("SlidingWindow", 7),
                    ("FadingFactor", 0.875),
                    ("ExponentialMovingAverage", 0.5),
                ],
                "prior": [1, 2, 4, 1],
                "horizon": horizon,
                "sizes": [rng.randint(1, 12) for _ in range(60)] if batches else None,
            }
            case["losses"] = [
                x + 3 * (i > 35) + 9 * (i == 20) for i, x in enumerate(floats(rng, 60))
            ]
            case["previous"] = [round(x + rng.gauss(0, 0.2), 4) for x in case["losses"]]
            case["expected"] = blend(case)
            blends.append(case)
    document = {
        "estimators": estimators,
        "averages": averages,
        "adaptives": adaptives,
        "blends": blends,
    }
    TARGET.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
