"""Speed and memory, each beside its peers in the same run: `make bench`.

Machines are noisy, so every row is timed in turn, many rounds over, and the best round counts;
what matters is the ratio to a peer of the same run. Writes `benchmarks/results.md`.
"""

import math
import platform
import statistics
import subprocess
import sys
import time
import timeit
import tracemalloc
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, drift, evaluate, linear_model, metrics, preprocessing, stats, utils

import oeuvre
from oeuvre._kernels import COMPILED

RESULTS = Path(__file__).with_name("results.md")
ROUNDS, CALLS, PAIRS = 15, 50_000, 200_000
NETWORK_STEPS = 1_000


class PlainOeuvre:
    """The same recursions in plain Python, as one would write them by hand: known b and c.

    The estimate and its bound, and what intervals are made of.
    """

    def __init__(self, b: float, c: float) -> None:
        self.b, self.c = b, c
        self.n, self.estimate, self.bound, self.gamma = 0, 0.0, 0.0, 1.0
        self.tight = self.realised = self.promised = self.share = 0.0
        self.drop = self.rise = self.reach = 0.0
        self.change = self.level = self.var_d = self.var_p = self.cov = 0.0

    def update(self, loss: float, previous: float) -> None:
        """Take one step."""
        self.n += 1
        b = self.b
        if self.n == 1:
            self.estimate, self.bound = loss, b * b
            return
        if not (math.isfinite(loss) and math.isfinite(previous)):
            raise ValueError("not finite")
        sigma = self.c / math.sqrt(self.n)
        gap = b - sigma
        if gap <= 0:
            gamma, self.bound = 1.0, b * b
        elif self.bound <= sigma * gap:
            gamma, self.bound = 0.0, self.bound + sigma * sigma
        else:
            whole = self.bound + gap * gap
            gamma = (self.bound - sigma * gap) / whole
            self.bound = b * b * self.bound / whole
        self.gamma = gamma
        self.note(loss - previous, previous, gamma, sigma)
        self.estimate = loss + (1.0 - gamma) * (self.estimate - previous)

    def note(self, d: float, previous: float, gamma: float, sigma: float) -> None:
        """Carry what intervals are made of."""
        keep = 1.0 - gamma
        kept, move = keep * keep, keep * sigma
        half = 0.5 * gamma * self.b + move
        expected = self.change + gamma * self.estimate
        shock = d - self.change + gamma * (previous - self.estimate)
        self.tight = kept * self.tight + half * half
        self.drop = max(keep * self.drop, expected + move)
        self.rise = max(keep * self.rise, gamma * self.b + move - expected)
        self.reach = max(keep * self.reach, half)
        self.realised = kept * self.realised + shock * shock
        fresh = self.var_d + gamma * (2.0 * self.cov + gamma * self.var_p)
        self.promised = kept * self.promised + max(0.0, fresh)
        self.share *= kept
        pace = self.n**-0.7
        off_d, off_p, left = d - self.change, previous - self.level, 1.0 - pace
        self.change += pace * off_d
        self.level += pace * off_p
        self.var_d = left * (self.var_d + pace * off_d * off_d)
        self.var_p = left * (self.var_p + pace * off_p * off_p)
        self.cov = left * (self.cov + pace * off_d * off_p)

    def replay(self, losses: list[float], previous: list[float]) -> list[tuple[float, ...]]:
        """Take many steps and write down the course."""
        course: list[tuple[float, ...]] = []
        for loss, before in zip(losses, previous, strict=True):
            self.update(loss, before)
            course.append((self.estimate, self.bound, self.gamma))
        return course


def best(subjects: dict[str, tuple[Callable[[], Any], int]]) -> dict[str, float]:
    """Return nanoseconds per call of each subject: the best of many rounds taken in turn."""
    found = dict.fromkeys(subjects, math.inf)
    for _ in range(ROUNDS):
        for name, (run, calls) in subjects.items():
            found[name] = min(found[name], timeit.timeit(run, number=1) / calls * 1e9)
    return found


def pairwise(estimator: oeuvre.Estimator) -> Callable[[], Any]:
    """Return a run of update(loss, previous) + get(), the burn-in being over."""
    rng = np.random.default_rng(0)
    losses = rng.random(100)
    estimator.replay(losses, losses + 0.1 * rng.random(100))

    def run() -> None:
        for _ in range(CALLS):
            estimator.update(0.5, 0.4)
            estimator.get()

    return run


def single(statistic: Any) -> Callable[[], Any]:
    """Return a run of update(loss) + get()."""

    def run() -> None:
        for _ in range(CALLS):
            statistic.update(0.5)
            statistic.get()

    return run


def single_adwin(detector: Any) -> Callable[[], Any]:
    """Return a run of River's ADWIN: update, then look at the mean."""

    def run() -> None:
        for _ in range(CALLS):
            detector.update(0.5)
            _ = detector.estimation

    return run


def empty_call() -> None:
    """Call a C method that does nothing."""
    nothing: deque[int] = deque()
    for _ in range(CALLS):
        nothing.reverse()


def updates() -> list[str]:
    """Time update + get of every estimator beside River's statistics."""
    subjects: dict[str, Callable[[], Any]] = {
        "an empty C call": empty_call,
        "River `stats.Mean`": single(stats.Mean()),
        "River `stats.EWMean`": single(stats.EWMean(0.1)),
        "River `Rolling(Mean, 100)`": single(utils.Rolling(stats.Mean, window_size=100)),
        "River `drift.ADWIN`": single_adwin(drift.ADWIN()),
        "**`Oeuvre`**": pairwise(oeuvre.Oeuvre()),
        "`Oeuvre(b=1, c=1)`": pairwise(oeuvre.Oeuvre(b=1.0, c=1.0)),
        "`Oeuvre(gamma=0.1)`": pairwise(oeuvre.Oeuvre(gamma=0.1)),
        "**`AdaptiveOeuvre`**": pairwise(oeuvre.AdaptiveOeuvre()),
        "`AdaptiveOeuvre(two_gain=True)`": pairwise(oeuvre.AdaptiveOeuvre(two_gain=True)),
        "**`Ensemble`**": pairwise(oeuvre.Ensemble()),
        "`Prequential`": single(oeuvre.Prequential()),
        "`FadingFactor`": single(oeuvre.FadingFactor(0.99)),
        "`ExponentialMovingAverage`": single(oeuvre.ExponentialMovingAverage(0.1)),
        "`SlidingWindow(100)`": single(oeuvre.SlidingWindow(100)),
        "`Adwin`": single(oeuvre.Adwin()),
        "the same as `Oeuvre`, by hand in Python": pairwise_plain(),
    }
    times = best({name: (run, CALLS) for name, run in subjects.items()})
    mean = times["River `stats.Mean`"]
    rows = ["| update + get | ns | ratio to River's `stats.Mean` |", "| --- | ---: | ---: |"]
    rows += [f"| {name} | {ns:.0f} | {ns / mean:.2f} |" for name, ns in times.items()]
    reach = {"Oeuvre": 0.6, "AdaptiveOeuvre": 0.7, "Ensemble": 3}
    ratios = ", ".join(
        f"`{name}` {times[f'**`{name}`**'] / mean:.2f} (to reach: at most {most})"
        for name, most in reach.items()
    )
    return [*rows, "", f"To River's `stats.Mean`: {ratios}."]


def pairwise_plain() -> Callable[[], Any]:
    """Return a run of the hand-written class; its estimate is an attribute."""
    plain = PlainOeuvre(1.0, 1.0)

    def run() -> None:
        for _ in range(CALLS):
            plain.update(0.5, 0.4)
            _ = plain.estimate

    return run


def replays() -> list[str]:
    """Time a replay beside a loop in plain Python that writes down the same."""
    rng = np.random.default_rng(0)
    losses, previous = rng.random((2, PAIRS))
    lists = losses.tolist(), previous.tolist()
    few = 20_000
    short = lists[0][:few], lists[1][:few]
    few_pairs = losses[:few], previous[:few]
    times = best(
        {
            "a loop in plain Python": (lambda: PlainOeuvre(1.0, 1.0).replay(*short), few),
            "`Oeuvre(b=1, c=1).replay`": (
                lambda: oeuvre.Oeuvre(b=1.0, c=1.0).replay(losses, previous),
                PAIRS,
            ),
            "`Oeuvre().replay`": (lambda: oeuvre.Oeuvre().replay(losses, previous), PAIRS),
            "`AdaptiveOeuvre().replay`": (
                lambda: oeuvre.AdaptiveOeuvre().replay(losses, previous),
                PAIRS,
            ),
            "`Ensemble().replay`": (lambda: oeuvre.Ensemble().replay(*few_pairs), few),
        }
    )
    plain = times["a loop in plain Python"]
    rows = ["| replay | ns a pair | times faster |", "| --- | ---: | ---: |"]
    rows += [f"| {name} | {ns:.1f} | {plain / ns:.0f} |" for name, ns in times.items()]
    ratio = plain / times["`Oeuvre(b=1, c=1).replay`"]
    return [*rows, "", f"Replay to the loop: {ratio:.0f} times faster (to reach: at least 40)."]


def monitors() -> list[str]:
    """Time River's loop of predict, update the metric, learn beside a monitor of the same model."""
    stream = 5 * list(datasets.TrumpApproval())

    def model() -> Any:
        return preprocessing.StandardScaler() | linear_model.LinearRegression()

    def plain() -> None:
        learner, metric = model(), metrics.MSE()
        for x, y in stream:
            metric.update(y, learner.predict_one(x))
            learner.learn_one(x, y)

    def by_river() -> None:
        evaluate.progressive_val_score(stream, model(), metrics.MSE())

    def monitored(estimator: Callable[[], oeuvre.Estimator]) -> Callable[[], None]:
        def run() -> None:
            for _ in oeuvre.Monitor.of(model(), "squared", estimator()).run(stream):
                pass

        return run

    subjects: dict[str, Callable[[], Any]] = {
        "River: predict, update `MSE`, learn": plain,
        "River's `progressive_val_score`": by_river,
        "**`Monitor`**": monitored(oeuvre.AdaptiveOeuvre),
        "`Monitor` with `Ensemble`": monitored(oeuvre.Ensemble),
    }
    times = best({name: (run, len(stream)) for name, run in subjects.items()})
    loop = times["River: predict, update `MSE`, learn"]
    rows = ["| scaler and linear regression, TrumpApproval five times over | µs a sample | ratio |"]
    rows += ["| --- | ---: | ---: |"]
    rows += [f"| {name} | {ns / 1e3:.1f} | {ns / loop:.2f} |" for name, ns in times.items()]
    ratio = times["**`Monitor`**"] / loop
    return [*rows, "", f"`Monitor` to River's loop: {ratio:.2f} (to reach: at most 1.5)."]


def networks() -> list[str]:
    """Time a step of a PyTorch training beside the same with a monitor or a validation loss."""
    import torch
    from torch.nn import functional

    from oeuvre.learners.torch import Validation

    generator = torch.Generator().manual_seed(0)
    pictures = torch.rand(NETWORK_STEPS * 128, 784, generator=generator)
    labels = torch.randint(10, (len(pictures),), generator=generator)
    batches = list(zip(pictures.split(128), labels.split(128), strict=True))

    def make() -> tuple[Any, Any]:
        torch.manual_seed(0)
        layers = torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
        model = torch.nn.Sequential(*layers)
        return model, torch.optim.AdamW(model.parameters(), lr=5e-4)

    def training(model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
        def step(x: Any, y: Any) -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return step

    def by_hand() -> Callable[[Any, Any], Any]:
        model, optimizer = make()
        held: list[Any] = []

        def step(x: Any, y: Any) -> tuple[float, float]:
            with torch.no_grad():
                previous = functional.cross_entropy(model(x), y)
            if held:
                optimizer.zero_grad()
                held.pop().backward()
                optimizer.step()
            held.append(functional.cross_entropy(model(x), y))
            return previous.item(), held[0].item()

        return step

    def monitored(**options: Any) -> Callable[[Any, Any], Any]:
        model, optimizer = make()
        return oeuvre.Monitor.of(model, optimizer=optimizer, **options).update

    def validated() -> Callable[[Any, Any], Any]:
        model, optimizer = make()
        Validation(model, [(x[:16], y[:16]) for x, y in batches]).attach(optimizer)
        return training(model, optimizer)

    subjects: dict[str, Callable[[Any, Any], Any]] = {
        "training alone": training(*make()),
        "one more forward pass, by hand": by_hand(),
        "**`Monitor`**": monitored(),
        "`Monitor` with `measure_change`": monitored(measure_change=True),
        "`Validation`, 16 samples a step": validated(),
    }
    found: dict[str, list[float]] = {name: [] for name in subjects}
    for x, y in batches:
        for name, step in subjects.items():
            start = time.perf_counter()
            step(x, y)
            found[name].append((time.perf_counter() - start) * 1e3)
    times = {name: statistics.median(each) for name, each in found.items()}
    alone = times["training alone"]
    rows = ["| MLP 784-128-10, AdamW, batches of 128 | ms a step | ratio |"]
    rows += ["| --- | ---: | ---: |"]
    rows += [f"| {name} | {ms:.2f} | {ms / alone:.2f} |" for name, ms in times.items()]
    ratio = times["**`Monitor`**"] / alone
    said = f"`Monitor` to training alone: {ratio:.2f} (to reach: at most 1.35)."
    return [
        *rows,
        "",
        f"Medians of {NETWORK_STEPS} steps taken in turn. {said}",
    ]


def imports() -> list[str]:
    """Time `import oeuvre` beside `import numpy`, each in a fresh process."""
    found = {"numpy": math.inf, "oeuvre": math.inf}
    for _ in range(ROUNDS):
        for name, before in found.items():
            code = f"import time; t = time.perf_counter(); import {name}; "
            code += "print(time.perf_counter() - t)"
            command = [sys.executable, "-W", "ignore", "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name] = min(before, float(done.stdout) * 1e3)
    rows = ["| import | ms |", "| --- | ---: |"]
    rows += [f"| `{name}` | {ms:.0f} |" for name, ms in found.items()]
    ratio = found["oeuvre"] / found["numpy"]
    return [*rows, "", f"`import oeuvre` to `import numpy`: {ratio:.2f} (to reach: at most 1.3)."]


def memory() -> list[str]:
    """Count the bytes of one estimator after a thousand steps, all that it owns included."""
    rows = ["| memory of one estimator | bytes |", "| --- | ---: |"]
    ones = np.ones(1000)
    for make in (
        oeuvre.Oeuvre,
        oeuvre.AdaptiveOeuvre,
        oeuvre.Ensemble,
        oeuvre.Prequential,
        lambda: oeuvre.SlidingWindow(100),
    ):
        many = [make() for _ in range(2)]  # whatever is made once is there now
        tracemalloc.start()
        many = [make() for _ in range(100)]
        for each in many:
            each.replay(ones, ones)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        rows.append(f"| `{many[0]!r}` | {size / len(many):.0f} |")
    return [*rows, "", "To reach: at most 1,024 for `Oeuvre`, 16,384 for `Ensemble`."]


def main() -> None:
    """Run everything, print it and write it down."""
    kind = "compiled" if COMPILED else "plain"
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench`: Python {platform.python_version()}, {kind} kernels, "
        f"oeuvre {oeuvre.__version__}. Times differ between machines; ratios hold roughly.",
    ]
    for part in (updates, replays, monitors, networks, imports, memory):
        print(f"{part.__doc__}".split("\n", maxsplit=1)[0], flush=True)
        found = part()
        print("\n".join(found) + "\n", flush=True)
        lines += ["", *found]
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
