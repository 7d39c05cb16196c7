"""The state of a monitor as plain data, without its model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oeuvre.errors import NotSerializable, StateError
from oeuvre.estimators import Estimator, Quality
from oeuvre.monitor.guards import Guard
from oeuvre.monitor.samples import from_data, to_data
from oeuvre.monitor.values import Batch, Losses, finite
from oeuvre.parameters import boolean, integer

if TYPE_CHECKING:
    from oeuvre.monitor.monitor import Monitor

__all__ = ["read", "restore", "to_dict"]

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
    fields = {*COUNTERS, "tickets", "gap", "guard", "held", "moved", "waiting"}
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
        if moved is not None:
            x, y, previous, label = moved
            seen = Batch(*previous) if isinstance(previous, list) else previous
            moved = x, y, seen, label
            fitting = held is None and (seen is None or (finite(seen) and good(seen)))
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
    return params, estimator, quality, {**state, "held": held, "moved": moved, "waiting": waiting}


def plain(losses: Losses) -> Any:
    """Return losses as data."""
    return list(losses) if isinstance(losses, Batch) else losses


def good(losses: Any) -> bool:
    """Tell whether saved losses are a float, or the mean and the size of a batch."""
    if isinstance(losses, Batch):
        return isinstance(losses.mean, float) and type(losses.size) is int and losses.size > 0
    return isinstance(losses, float)


def restore(monitor: "Monitor", state: Mapping[str, Any]) -> None:
    """Put what `read` found into a fresh monitor."""
    for name in COUNTERS:
        setattr(monitor, name, state[name])
    monitor._tickets, monitor._gap = state["tickets"], state["gap"]
    monitor._held, monitor._moved = state["held"], state["moved"]
    monitor._waiting = state["waiting"]
    monitor._guard = Guard(monitor.learner, state["guard"]) if state["guard"] else None
