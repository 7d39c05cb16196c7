cimport cython
from libc cimport math

from oeuvre._kernels.checks cimport as_loss, check_unused, too_large
from oeuvre._kernels.core cimport Core

cpdef double smooth(double mean, double value, double weight) noexcept


cdef class AverageCore(Core):
    cdef public double _fading, _alpha
    cdef public double _weight, _mass, _squares

    @cython.locals(mass=double, squares=double, weight=double, estimate=double, keep=double)
    cdef int _advance(self, double loss, double size) except -1

    @cython.locals(cur=double)
    cdef int _take(self, object loss, object previous, object rate, double size) except -1

    @cython.locals(i=Py_ssize_t)
    cpdef _replay(
        self, const double[::1] losses, object previous, object rates, const double[::1] sizes,
        double[::1] estimate, object variance, double[::1] weight,
    )


cdef class WindowCore(AverageCore):
    cdef public long long _length
    cdef public double _round_sum, _round_mass
    cdef public double[::1] _sums, _masses

    @cython.locals(
        at=cython.longlong, i=cython.longlong, value=double, total=double, mass=double
    )
    cdef int _advance(self, double loss, double size) except -1
