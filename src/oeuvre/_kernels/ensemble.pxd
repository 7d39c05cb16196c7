cimport cython
from libc cimport math

from oeuvre._kernels.adaptive cimport AdaptiveCore
from oeuvre._kernels.averages cimport WindowCore
from oeuvre._kernels.checks cimport as_loss, as_previous, as_rate, too_large_to_square
from oeuvre._kernels.core cimport Core

cdef int FIRM, PATIENCE, SETTLED
cdef double INFINITE, LEARNING, SHARE, CLIP, REACH, MEMORY, LEAST_PACE, LARGEST, SILENT, MOST


cdef class EnsembleCore(Core):
    cdef public list _members, _calls
    cdef public bint _guarded, _foreign
    cdef public AdaptiveCore _anchor
    cdef public WindowCore _recent
    cdef public Py_ssize_t _size, _batches
    cdef public long long _horizon, _scored, _streak, _batch, _filled, _inside
    cdef public double _noise
    cdef public double[::1] _prior, _weights, _past, _sums

    @cython.locals(
        size=Py_ssize_t, k=Py_ssize_t, patient=bint, best=double, error=double, said=double, value=double,
        noise=double, pace=double, total=double, pull=double, weight=double,
    )
    cdef int _judge(self, double target, Py_ssize_t row) except -1

    @cython.locals(k=Py_ssize_t, j=Py_ssize_t, start=Py_ssize_t, first=Py_ssize_t)
    cdef void _next_batch(self) noexcept

    @cython.locals(
        n=cython.longlong, row=Py_ssize_t, blend=double, k=Py_ssize_t, value=double,
        core=Core,
    )
    cdef int _advance(self, double loss, double previous, double rate, double size) except -1

    cdef int _take(self, double loss, double previous, double rate, double size) except -1

    @cython.locals(cur=double, prev=double)
    cpdef _update_batch(self, object loss, object previous, object rate, double size)

    @cython.locals(gap=double, anchor=AdaptiveCore)
    cpdef double _spread(self) except? -1.0

    @cython.locals(blend=double, value=double, k=Py_ssize_t, core=Core)
    cpdef double _newest(self) except? -1.0

    @cython.locals(i=Py_ssize_t)
    cpdef _replay(
        self, const double[::1] losses, const double[::1] previous, const double[::1] rates,
        const double[::1] sizes, double[::1] estimate, double[::1] variance, double[::1] weight,
    )
