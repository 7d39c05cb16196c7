"""Compile the kernels; `pyproject.toml` says everything else."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = Path("src/oeuvre/_kernels")

extensions = cythonize(
    [
        Extension(
            f"oeuvre._kernels.{source.stem}",
            [source.as_posix()],
            # the compiled and the plain kernels agree to the bit: no contraction, no fast-math
            extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
        )
        for source in sorted(KERNELS.glob("*.py"))
        if source.stem != "__init__"
    ],
    build_dir="build/cython",
    compiler_directives={
        "language_level": 3,
        "annotation_typing": False,
        "auto_pickle": False,  # the estimators pickle through their state
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
    },
)
for extension in extensions:
    extension.optional = True  # without a compiler the same lines run as plain Python

setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count()}})
