"""Learners: the two methods that a monitor calls, and adapters that give them to a model.

Each adapter is one module, named after its library and imported only when it is used.
"""

from oeuvre.learners.protocol import Learner, learner_of

__all__ = ["Learner", "learner_of"]
