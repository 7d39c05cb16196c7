"""Runs of real learners with a known truth, for looking and for judging."""
