"""What may be asked of an estimator: the arguments of its `interval`, checked."""

from typing import Any

from oeuvre.intervals.interval import tail
from oeuvre.parameters import integer, invalid

__all__ = ["KINDS", "LONGEST", "check_options", "check_question"]

KINDS = ("normal", "conservative", "hoeffding", "anytime", "bernstein")
LONGEST = 10**8
"""The largest horizon: the schedule is run ahead so far."""


def check_question(level: Any, kind: Any, side: Any) -> None:
    """Raise InvalidParameter if no interval could be meant."""
    tail("interval", level, side)
    if not (isinstance(kind, str) and kind in KINDS):
        raise invalid("interval", "kind", "one of " + ", ".join(map(repr, KINDS)), kind)


def check_options(kind: str, horizon: Any, proxy: Any) -> None:
    """Raise InvalidParameter if an option is wrong, missing, or of no use to this kind."""
    if not (isinstance(proxy, str) and proxy in ("tight", "paper")):
        raise invalid("interval", "proxy", "'tight' or 'paper'", proxy)
    if proxy == "paper" and kind not in ("hoeffding", "anytime"):
        raise invalid("interval", "proxy", f"'tight' for the kind {kind!r}", proxy)
    if horizon is None:
        if kind == "anytime":
            raise invalid("interval", "horizon", "given for the kind 'anytime'", None)
        return
    if kind not in ("anytime", "bernstein"):
        hint = " ('anytime' is the one for all steps)" if kind == "hoeffding" else ""
        raise invalid("interval", "horizon", f"None for the kind {kind!r}{hint}", horizon)
    if integer("interval", "horizon", horizon, 1) > LONGEST:
        raise invalid("interval", "horizon", f"at most {LONGEST}", horizon)
