"""Write `intervals.json`: expected ends of intervals from an independent computation.

    python tests/golden/generate_intervals.py

Nothing is shared with the library. Everything is computed with mpmath to 50 digits: quantiles by
the inverse error function, weights as the vertex of a parabola, sums over steps from lists, with
the product of what the later steps keep, and the best θ by trying each of a wide part of the grid.
"""

import json
import math
import random
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

mp.dps = 50
TARGET = Path(__file__).with_name("intervals.json")
WINDOW = 50


def tail(level: float, side: str) -> Any:
    return (1 - mpf(level)) / (2 if side == "two" else 1)


def ends(estimate: Any, below: Any, above: Any, side: str) -> list[str]:
    lower = -mp.inf if side == "upper" else mpf(estimate) - below
    upper = mp.inf if side == "lower" else mpf(estimate) + above
    return [mp.nstr(lower, 25), mp.nstr(upper, 25)]


def normal(variance: Any, miss: Any) -> Any:
    return mp.sqrt(2) * mp.erfinv(1 - 2 * miss) * mp.sqrt(variance)


def hoeffding(proxy: Any, miss: Any) -> Any:
    return mp.sqrt(2 * mpf(proxy) * mp.log(1 / miss))


def anytime(proxy: Any, final: Any, ratio: Any, miss: Any) -> Any:
    """Return the distance at which the line of the supermartingale is crossed.

    The process exp(λ M/Γ_t − λ² V_t/(2 Γ_t²)) reaches 1/miss; solved for M, in units of Γ_T = 1.
    """
    slope = mp.sqrt(2 * mp.log(1 / miss) / mpf(final))
    return ratio / slope * (mp.log(1 / miss) + slope**2 * mpf(proxy) / (2 * ratio**2))


def bernstein(realised: Any, limit: Any, reach: Any, miss: Any, ratio: Any) -> Any:
    """Return the least bound over every θ of the window; `ratio` is None for one step."""
    realised, limit, unit = mpf(realised), mpf(limit), mpf(reach) * (ratio or 1)
    found = {}
    for j in range(0 if ratio is None else -WINDOW, WINDOW):
        theta = mpf(2) ** (-mpf(j) / 2) / unit
        if theta * limit > 1 - mpf(10) ** -30:  # 1 itself, and what rounding makes of it
            continue
        weight = mpf(1) / ((j + 1) * (j + 2)) if j >= 0 else mpf(1) / (-j * (1 - j))
        if ratio is not None:
            weight /= 2
        cost = -mp.log(1 - theta * limit) - theta * limit
        found[j] = (mp.log(1 / (miss * weight)) + realised * cost / limit**2) / theta
    best = min(found, key=lambda j: found[j])
    if best in (-WINDOW, WINDOW - 1):
        raise ValueError("The window ends before the best θ.")
    return found[best]


def plain(rng: random.Random) -> list[dict[str, Any]]:
    """Return calls of the functions on plain numbers."""
    cases: list[dict[str, Any]] = []

    def add(name: str, side: str, level: float, given: list[float], *halves: Any) -> None:
        cases.append({"name": name, "side": side, "level": level, "given": given})
        cases[-1]["expected"] = ends(given[0], halves[0], halves[-1], side)

    for level in (0.001, 0.5, 0.8, 0.95, 0.9973, 0.999999):
        for side in ("two", "lower", "upper"):
            miss = tail(level, side)
            at = round(rng.gauss(0.0, 1.0), 4)
            spread = float(f"{10 ** rng.uniform(-8, 2):.4g}")
            add("normal", side, level, [at, spread], normal(spread, miss))
            add("hoeffding", side, level, [at, spread], hoeffding(spread, miss))
            final, log = float(f"{spread / rng.uniform(0.5, 50):.4g}"), round(rng.gauss(0, 3), 3)
            half = anytime(spread, final, mp.exp(mpf(log)), miss)
            add("anytime", side, level, [at, spread, final, log], half)
            reach = float(f"{10 ** rng.uniform(-4, 0):.4g}")
            drop, rise = (round(reach * rng.uniform(0.3, 1.7), 6) for _ in range(2))
            seen = float(f"{reach**2 * 10 ** rng.uniform(-2, 4):.4g}")
            halves = [bernstein(seen, limit, reach, miss, None) for limit in (drop, rise)]
            add("bernstein", side, level, [at, seen, drop, rise, reach], *halves)
            ratio = mp.exp(mpf(log))
            drop, rise = (
                float(f"{float(ratio) * reach * rng.uniform(0.3, 1.7):.5g}") for _ in "ab"
            )
            halves = [bernstein(seen, limit, reach, miss, ratio) for limit in (drop, rise)]
            add("bernstein", side, level, [at, seen, drop, rise, reach, log], *halves)
    return cases


class Course:
    """Weights, bounds and ranges of a sequence of steps; none of them depends on the losses."""

    def __init__(self, case: dict[str, Any], rates: list[Any], sizes: list[int]) -> None:
        b, c = mpf(case["b"]), mpf(case["c"])
        self.sizes, self.b = sizes, b
        self.gamma: list[Any] = []
        self.shares: dict[tuple[int, int], Any] = {}
        self.move: list[Any] = []
        for t, (rate, size) in enumerate(zip(rates, sizes, strict=True), start=1):
            sigma = c * rate
            self.gamma.append(self.weight(case["gamma"], t, sigma, b, size))
            self.move.append((1 - self.gamma[-1]) * sigma if self.gamma[-1] < 1 else mpf(0))

    def weight(self, fixed: Any, t: int, sigma: Any, b: Any, size: int) -> Any:
        """Return the vertex of Equation 2 as a parabola in γ, brought into [0, 1]; or a fixed γ."""
        if t == 1:
            return mpf(1)
        if fixed is not None:
            return mpf(1) / t if fixed == "1/t" else mpf(fixed)
        spread, step, past = b / mp.sqrt(size), sigma / mp.sqrt(size), self.paper(t - 2)
        vertex = (past - step * (spread - step)) / ((spread - step) ** 2 + past)
        return min(mpf(1), max(mpf(0), vertex))

    def start(self, t: int) -> int:
        """Return the last step at which γ was 1; steps count from 0."""
        return max(i for i in range(t + 1) if self.gamma[i] == 1)

    def kept(self, i: int, t: int) -> Any:
        """Return what the steps after i up to t have left of step i."""
        if (i, t) not in self.shares:
            last = self.kept(i, t - 1) * (1 - self.gamma[t]) if i < t else mpf(1)
            self.shares[i, t] = last
        return self.shares[i, t]

    def retained(self, t: int) -> Any:
        return self.kept(self.start(t), t)

    def total(self, t: int, part: Any) -> Any:
        """Return the sum over a segment of (share × part)² / B."""
        return mp.fsum(
            (self.kept(i, t) * part(i)) ** 2 / self.sizes[i] for i in range(self.start(t), t + 1)
        )

    def half(self, i: int) -> Any:
        return self.gamma[i] * self.b / 2 + self.move[i]

    def paper(self, t: int) -> Any:
        return self.total(t, lambda i: self.gamma[i] * self.b + self.move[i])

    def tight(self, t: int) -> Any:
        return self.total(t, self.half)

    def largest(self, t: int, part: Any) -> Any:
        return max(self.kept(i, t) * part(i) for i in range(self.start(t), t + 1))


def moments(case: dict[str, Any], sizes: list[int], estimates: list[Any]) -> list[dict[str, Any]]:
    """Return the moments before each step, of changes and of losses before."""
    zero = dict.fromkeys(("d", "p", "dd", "pp", "dp"), mpf(0))
    found = [dict(zero), dict(zero)]
    for i in range(1, len(estimates)):
        pace = mpf(i if i < 32 else i - i % 32) ** -mpf("0.7")
        old = found[-1]
        p = mpf(case["previous"][i])
        d = mpf(case["losses"][i]) - p
        new = {"d": old["d"] + pace * (d - old["d"]), "p": old["p"] + pace * (p - old["p"])}
        for name in ("dd", "pp", "dp"):
            one, two = (({"d": d, "p": p}[key] - old[key]) for key in name)
            new[name] = (1 - pace) * (old[name] + pace * sizes[i] * one * two)
        found.append(new)
    return found


def stream(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the ends of every kind of interval after some of the steps."""
    steps, horizon = len(case["losses"]), case["horizon"]
    planned = [mpf(t) ** -mpf(case["exponent"]) for t in range(1, max(steps, horizon) + 1)]
    sizes = case["sizes"] or [1] * steps
    rates = [mpf(x) for x in case["rates"]] if case["rates"] else planned[:steps]
    course = Course(case, rates, sizes)
    plan = Course(case, planned[:horizon], [sizes[0]] * horizon)
    final = horizon - 1
    b = mpf(case["b"])
    estimates: list[Any] = []
    for gamma, loss, previous in zip(course.gamma, case["losses"], case["previous"], strict=True):
        last = estimates[-1] - mpf(previous) if estimates else mpf(0)
        estimates.append(mpf(loss) + (1 - gamma) * last)
    past = moments(case, sizes, estimates)
    guess = [
        past[t]["d"] + course.gamma[t] * estimates[t - 1] if t else b / 2 for t in range(steps)
    ]

    def shock(i: int) -> Any:
        return mpf(case["losses"][i]) - (1 - course.gamma[i]) * mpf(case["previous"][i]) - guess[i]

    def fresh(i: int) -> Any:
        g, m = course.gamma[i], past[i]
        return max(mpf(0), m["dd"] + 2 * g * m["dp"] + g**2 * m["pp"]) / sizes[i]

    out = []
    miss = tail(case["level"], "two")
    for t in [at - 1 for at in case["at"]]:
        start = course.start(t)
        realised = mp.fsum((course.kept(i, t) * shock(i)) ** 2 for i in range(start + 1, t + 1))
        seen = realised + (course.kept(start, t) * shock(start)) ** 2
        drop = course.largest(t, lambda i: guess[i] + course.move[i])
        rise = course.largest(t, lambda i: course.gamma[i] * b + course.move[i] - guess[i])
        promised = mp.fsum(course.kept(i, t) ** 2 * fresh(i) for i in range(start + 1, t + 1))
        variance = max(promised, realised)
        variance += course.retained(t) ** 2 / sizes[start] * past[t + 1]["pp"]
        ratio = course.retained(t) / plan.retained(final)
        reach = course.largest(t, course.half)
        ahead = plan.largest(final, plan.half)
        halves = {
            "normal": [normal(variance, miss) if t > 1 else mp.inf],
            "conservative": [normal(course.paper(t), miss)],
            "hoeffding tight": [hoeffding(course.tight(t), miss)],
            "hoeffding paper": [hoeffding(course.paper(t), miss)],
            "anytime tight": [anytime(course.tight(t), plan.tight(final), ratio, miss)],
            "anytime paper": [anytime(course.paper(t), plan.paper(final), ratio, miss)],
            "bernstein": [bernstein(seen, limit, reach, miss, None) for limit in (drop, rise)],
            "bernstein at all steps": [
                bernstein(seen, limit, ahead, miss, ratio) for limit in (drop, rise)
            ],
        }
        expected = {}
        for kind, half in halves.items():
            below, above = half[0], half[-1]
            if ("anytime" in kind or "all" in kind) and start != plan.start(final):
                below = above = b if start == t else mp.inf
            expected[kind] = ends(estimates[t], below, above, "two")
        out.append({"t": t + 1, "larger": "seen" if realised > promised else "promised"})
        out[-1]["ends"] = expected
    return out


def streams(rng: random.Random) -> list[dict[str, Any]]:
    """Return streams of losses and changes within their bounds, and their intervals."""
    cases = []
    restart = [round(0.9 * math.exp(-0.1 * t), 4) if t != 30 else 5.0 for t in range(60)]
    variants: dict[str, dict[str, Any]] = {
        "known": {},
        "static": {"c": 0.0, "level": 0.99},
        "1/t": {"exponent": 1.0, "c": 0.75, "level": 0.8},
        "weights 1/t": {"gamma": "1/t", "c": 0.125},
        "constant weights": {"gamma": 0.125, "horizon": 10},
        "batches": {"sizes": [rng.randint(1, 9) for _ in range(60)]},
        "jumping": {"jumps": 3000, "b": 2.0, "c": 0.4, "exponent": 0.0},
        "late start": {"c": 2.1, "horizon": 12, "at": [1, 3, 4, 5, 6, 20]},
        "restart": {"rates": restart, "at": [10, 30, 31, 32, 60]},
        "horizon after the end": {"b": 1.5, "horizon": 90},
    }
    for name, changes in variants.items():
        case: dict[str, Any] = {
            "name": name,
            "b": 1.0,
            "c": 0.25,
            "exponent": 0.5,
            "gamma": None,
            "rates": None,
            "sizes": None,
            "level": 0.95,
            "horizon": 40,
            "at": [1, 2, 3, 10, 40, 60],
            **changes,
        }
        jumps = case.pop("jumps", 0)  # the loss itself goes up and down at each step
        levels = [0, *(jumps * rng.randint(0, 1) for _ in range(60))]
        rates = case["rates"] or [t ** -case["exponent"] for t in range(1, 61)]
        case["losses"], case["previous"] = [], []
        for i, rate in enumerate(rates):  # in units of 1e-4
            most = math.floor(1e4 * case["c"] * rate)
            loss = rng.randint(0, 10_000)
            before = min(10_000, max(0, loss + round(rng.gauss(200, 1000))))
            loss, before = loss + levels[i + 1], before + levels[i]
            before = min(loss + most, max(loss - most, before))
            case["losses"].append(loss / 10_000)
            case["previous"].append(before / 10_000)
        case["expected"] = stream(case)
        cases.append(case)
    return cases


def main() -> None:
    rng = random.Random(20252)
    document = {"plain": plain(rng), "streams": streams(rng)}
    TARGET.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
