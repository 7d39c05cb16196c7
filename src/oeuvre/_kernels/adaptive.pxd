cimport cython
from libc cimport math

from oeuvre._kernels.checks cimport (
    as_loss, as_previous, as_rate, overflow, too_large_to_square
)
from oeuvre._kernels.core cimport Core

cdef int ENOUGH
cdef double INFINITE, MEMORY, NEGLIGIBLE, ROUNDING, FORGOTTEN, LARGEST, SLACK, ALARM, CLIP

cpdef double forget(double mean, double value, double pace) noexcept

@cython.locals(keep=double, apart=double, fresh=double)
cpdef double spread_ratio(
    double ratio, double beta, double gamma, double rd, double rc, double size
) noexcept

cpdef double one_gain(double ratio, double rc, double size, double least) noexcept

@cython.locals(
    a=double, b=double, c=double, u=double, v=double, determinant=double, beta=double,
    gamma=double, whole=double, edge=double, best=double, value=double,
)
cpdef (double, double) two_gains(
    double ratio, double lag, double rd, double rc, double drift, double size, double least
) noexcept


cdef class AdaptiveCore(Core):
    cdef public object _detector
    cdef public bint _two_gain, _cusum
    cdef public long long _pairs, _restarts
    cdef public double _samples, _beta, _gamma, _ratio, _lag, _pace
    cdef public double _change, _level, _var_d, _var_p, _cov, _long_p
    cdef public double _realised, _kept, _up, _down

    cdef void _start(self, double loss, double size) noexcept

    cdef int _advance(self, double loss, double previous, double size) except -1

    @cython.locals(
        i=cython.longlong, alarm=bint, d=double, innovation=double, var_p=double, var_d=double,
        samples=double, beta=double, gamma=double, ratio=double, lag=double, up=double,
        down=double, rd=double, rc=double, noise=double, drift=double, z=double, keep=double,
        estimate=double, shock=double, realised=double, change=double, level=double, cov=double, long_p=double,
        pace=double, off_d=double, off_p=double, kept=double,
    )
    cdef int _advance_pair(self, double loss, double previous, double size) except -1

    @cython.locals(seen=double)
    cpdef double _spread(self) except? -1.0

    @cython.locals(cur=double, prev=double)
    cpdef _update_batch(self, object loss, object previous, object rate, double size)

    @cython.locals(i=Py_ssize_t)
    cpdef _replay(
        self, const double[::1] losses, const double[::1] previous, object rates,
        const double[::1] sizes, double[::1] estimate, double[::1] variance, double[::1] weight,
    )
