"""The state of a monitor as plain data, without its model."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oeuvre.errors import MonitorWarning, NotSerializable, StateError
from oeuvre.estimators import Estimator, Quality
from oeuvre.monitor.guards import Guard, same
from oeuvre.monitor.samples import from_data, to_data
from oeuvre.monitor.values import Batch, Losses, finite
from oeuvre.parameters import boolean, integer

if TYPE_CHECKING:
    from oeuvre.monitor.monitor import Monitor

__all__ = ["check_model", "read", "restore", "to_dict"]

COUNTERS = ("skipped", "unseen", "expired")


def to_dict(monitor: "Monitor") -> dict[str, Any]:
    """Return everything but the model of a monitor as plain data."""
    if monitor._behind is not None:
        raise NotSerializable(
            "In the mode 'snapshot' a monitor keeps a copy of the model, which is not data. "
            "Pickle the monitor where you trust the file, or use the mode 'lag'."
        )
    moved = monitor._moved
    return {
        "kind": "Monitor",
        "version": 1,
        "params": dict(monitor._params),
        "estimator": monitor.estimator.to_dict(),
        "quality": None if monitor.quality is None else monitor.quality.to_dict(),
        "state": {
            **{name: getattr(monitor, name) for name in COUNTERS},
            "tickets": monitor._tickets,
            "gap": monitor._gap,
            "guard": 0 if monitor._guard is None else monitor._guard.left,
            "held": to_data(monitor._held),
            "last": plain(monitor._last),
            "moved": to_data(None if moved is None else (*moved[:2], plain(moved[2]), moved[3])),
            "waiting": [[ticket, to_data(x)] for ticket, x in monitor._waiting.items()],
        },
    }


def read(
    document: Mapping[str, Any],
) -> tuple[dict[str, Any], Estimator, Quality | None, dict[str, Any]]:
    """Return parameters, estimator, quality and the rest of a saved monitor; or a StateError."""
    keys = {"kind", "version", "params", "estimator", "quality", "state"}
    if not isinstance(document, Mapping) or set(document) != keys:
        raise StateError(f"A saved Monitor must be a mapping with the keys {sorted(keys)}.")
    if document["kind"] != "Monitor" or document["version"] != 1:
        raise StateError("A saved Monitor must be of version 1, of this version of oeuvre.")
    params, state = document["params"], document["state"]
    names = {"mode", "skip", "quality", "guard", "limit"}
    fields = {*COUNTERS, "tickets", "gap", "guard", "held", "last", "moved", "waiting"}
    try:
        fitting = set(params) == names and set(state) == fields
        fitting = fitting and params["mode"] in ("lag", "snapshot")
        if not fitting:
            raise StateError("The entries of this saved Monitor do not fit.")
        for name in ("skip", "quality"):
            boolean("Monitor", name, params[name])
        limit = integer("Monitor", "limit", params["limit"], 1)
        integer("Monitor", "guard", params["guard"], 0)
        for name in (*COUNTERS, "tickets", "guard"):
            integer("Monitor", name, state[name], 0)
        boolean("Monitor", "gap", state["gap"])
        held, moved = from_data(state["held"]), from_data(state["moved"])
        waiting = {integer("Monitor", "ticket", t, 1): from_data(x) for t, x in state["waiting"]}
        last = as_saved(state["last"])
        if moved is not None:
            x, y, previous, label = moved
            moved = x, y, as_saved(previous), label
            fitting = held is None
        fitting = fitting and (held is None or (isinstance(held, tuple) and len(held) == 2))
        fitting = fitting and (params["mode"] == "lag" or (held is None and moved is None))
        fitting = fitting and len(waiting) == len(state["waiting"]) <= limit
        fitting = fitting and max(waiting, default=0) <= state["tickets"]
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise StateError(f"The entries of this saved Monitor do not fit: {error}") from error
    if not fitting:
        raise StateError("The entries of this saved Monitor do not fit each other.")
    estimator = Estimator.from_dict(document["estimator"])
    quality = Quality.from_dict(document["quality"]) if params["quality"] else None
    samples = {"held": held, "last": last, "moved": moved, "waiting": waiting}
    return params, estimator, quality, {**state, **samples}


def plain(losses: Losses) -> Any:
    """Return losses as data."""
    return list(losses) if isinstance(losses, Batch) else losses


def as_saved(data: Any) -> Losses:
    """Undo `plain`, or raise StateError."""
    losses: Any = Batch(*data) if isinstance(data, list) else data
    mean, size = losses if isinstance(losses, Batch) else (losses, 1)
    if losses is not None and not (isinstance(mean, float) and type(size) is int and size > 0):
        raise StateError(f"A loss in this saved Monitor cannot be {data!r:.80}.")
    if not finite(losses):
        raise StateError("A loss in this saved Monitor must be finite.")
    return losses  # type: ignore[no-any-return]


def check_model(monitor: "Monitor", found: Losses) -> None:
    """Warn if the sample held back does not cost what it did when the monitor was saved."""
    if not same(monitor._last, found):
        warnings.warn(
            f"The sample held back cost {plain(monitor._last)} when this monitor was saved, and "
            f"costs {plain(found)} now: the model, or the loss, is another one. Save the model at "
            "the same step as its monitor, and give both again.",
            MonitorWarning,
            stacklevel=3,
        )


def restore(monitor: "Monitor", state: Mapping[str, Any]) -> None:
    """Put what `read` found into a fresh monitor."""
    for name in COUNTERS:
        setattr(monitor, name, state[name])
    monitor._tickets, monitor._gap = state["tickets"], state["gap"]
    monitor._held, monitor._last = state["held"], state["last"]
    monitor._moved = state["moved"]
    monitor._waiting = state["waiting"]
    monitor._guard = Guard(monitor.learner, state["guard"]) if state["guard"] else None
