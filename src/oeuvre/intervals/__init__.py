"""Intervals from plain numbers; an estimator's `interval` calls these with what it has carried."""

from oeuvre.intervals.bernstein import bernstein
from oeuvre.intervals.hoeffding import anytime, hoeffding
from oeuvre.intervals.interval import Interval, Side, around
from oeuvre.intervals.normal import holding, normal

__all__ = ["Interval", "Side", "anytime", "around", "bernstein", "hoeffding", "holding", "normal"]
