cimport cython
from libc cimport math

from oeuvre._kernels.checks cimport overflow
from oeuvre._kernels.core cimport Core


cdef int EXACT
cdef double INFINITE, LARGEST, MEMORY, SLACK, FORGOTTEN


cdef class EvidenceCore(Core):
    cdef public long long _started, _outside
    cdef public double _gamma, _realised, _promised, _opening, _share, _tight, _drop, _rise, _reach
    cdef public double _batch, _pace, _change, _level, _var_d, _var_p, _cov

    cdef void _clear_evidence(self) noexcept

    @cython.locals(
        i=cython.longlong, keep=double, kept=double, each=double, expected=double, shock=double,
        realised=double, promised=double, opening=double, share=double, fresh=double,
        change=double, level=double, var_d=double, var_p=double, cov=double, pace=double,
        left=double, weight=double, off_d=double, off_p=double, move=double,
        half=double, high=double, tight=double, u=double,
    )
    cdef int _note(
        self, double loss, double previous, double gamma, double sigma, double b, double size,
        bint known,
    ) except -1

    cpdef double _plug_in(self) except? -1.0
