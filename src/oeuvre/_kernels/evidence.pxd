cimport cython
from libc cimport math

from oeuvre._kernels.checks cimport overflow
from oeuvre._kernels.core cimport Core


cdef int EXACT
cdef double FORGOTTEN, SURE

@cython.locals(most=double)
cpdef double lasting(double moved, double var_d, double pace, double each) noexcept


cdef class EvidenceCore(Core):
    cdef public long long _segments
    cdef public double _gamma, _realised, _promised, _opening, _share, _tight, _drop, _rise, _reach
    cdef public double _surplus, _moved, _last_change
    cdef public double _batch, _pace, _change, _level, _var_d, _var_p, _cov

    cdef void _clear_evidence(self) noexcept

    @cython.locals(
        i=cython.longlong, keep=double, kept=double, move=double, half=double, expected=double,
        shock=double, tight=double, drop=double, rise=double, reach=double, realised=double, promised=double,
        opening=double, share=double, surplus=double, moved=double, fresh=double, change=double, level=double, var_d=double,
        var_p=double, cov=double, root=double, pace=double, left=double, each=double, weight=double,
        off_d=double, off_p=double,
    )
    cdef int _note(
        self, double loss, double previous, double gamma, double sigma, double b, double size
    ) except -1

    @cython.locals(whole=double)
    cpdef double _plug_in(self) except? -1.0


cdef class PairCore:
    cdef public long long _pairs
    cdef public double _drift_first, _drift_second, _seen_first, _seen_second, _cross

    cpdef _clear(self)

    @cython.locals(pace=double, keep=double, keep_other=double, s=double, r=double)
    cpdef _join(self, double first, double second, double gamma, double other)

    @cython.locals(i=Py_ssize_t)
    cpdef _join_many(
        self, double first, double second, const double[::1] firsts, const double[::1] seconds,
        const double[::1] weights, const double[::1] others,
    )
