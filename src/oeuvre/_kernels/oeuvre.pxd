cimport cython
from libc cimport math

from oeuvre._kernels.checks cimport as_loss, as_previous, as_rate, overflow
from oeuvre._kernels.evidence cimport EvidenceCore

cdef int OPTIMAL, HARMONIC, SIGMA, CONSTANT
cdef double START_B, START_C, FLOOR, SMALL

cpdef double combine(double loss, double previous, double estimate, double gamma) noexcept

@cython.locals(keep=double, mixed=double)
cpdef double bound_step(double bound, double sigma, double b, double gamma) noexcept

@cython.locals(keep=double, kept=double, moved=double, each=double)
cpdef (double, double, double) bound_terms(
    double p, double q, double r, double gamma, double rate, double size
) noexcept

@cython.locals(gap=double, whole=double)
cpdef (double, double) optimal_step(double bound, double sigma, double b) noexcept

cpdef double fixed_weight(int mode, double value, long long t, double sigma) noexcept

cpdef (double, long long) retain(double retained, long long folds, double gamma) noexcept

cpdef double power_rate(double exponent, long long t) noexcept

cpdef bint settled(long long n, long long burn_in, int mode, long long values) noexcept

cpdef double batch_scale(double size) noexcept

@cython.locals(delta=double)
cpdef (double, double) add_moment(
    double mass, double mean, double spread, double value, double size
) noexcept


@cython.locals(number=double)
cdef double quick(object value, str name) except? -1.0


cdef class OeuvreCore(EvidenceCore):
    cdef public object _schedule
    cdef public double _power, _value, _known_b, _known_c
    cdef public int _mode
    cdef public long long _burn_in, _values, _folds
    cdef public double _bound, _retained, _b, _c
    cdef public double _mass, _change_mean, _change_spread, _loss_mean, _loss_spread
    cdef public double _p, _q, _r

    cdef double _rate_now(self, object rate) except? -1.0

    @cython.locals(
        scale=double, sigma=double, gamma=double, bound=double, estimate=double
    )
    cdef int _advance(
        self, double loss, double previous, double rate, double size
    ) except -1

    @cython.locals(
        t=cython.longlong, values=cython.longlong, burning=bint, scale=double, sigma=double, b=double, c=double, gamma=double,
        bound=double, estimate=double, mass=double, change_mean=double, change_spread=double,
        loss_mean=double, loss_spread=double, p=double, q=double, r=double,
    )
    cdef int _advance_unsettled(
        self, double loss, double previous, double rate, double size
    ) except -1

    cdef void _keep(self, double estimate, double bound) noexcept

    @cython.locals(_=cython.longlong)
    cpdef _run_ahead(self, long long steps, double size)

    @cython.locals(i=Py_ssize_t, rate=double)
    cpdef _replay(
        self, const double[::1] losses, const double[::1] previous, const double[::1] rates,
        const double[::1] sizes, double[::1] estimate, double[::1] variance, double[::1] weight,
    )
