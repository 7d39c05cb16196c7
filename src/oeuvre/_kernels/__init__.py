"""Every recursion, written once: compiled where a compiler was at hand, plain Python elsewhere."""

import warnings

from oeuvre._kernels import oeuvre as _oeuvre

__all__ = ["COMPILED"]

COMPILED: bool = not str(_oeuvre.__file__).endswith(".py")
"""True if the kernels are compiled; both kinds give the same floats."""

if not COMPILED:
    warnings.warn(
        "oeuvre runs without its compiled kernels: same results, many times slower. "
        "Installing it again with a C compiler at hand builds them (in a checkout: make demo).",
        RuntimeWarning,
        stacklevel=2,
    )
