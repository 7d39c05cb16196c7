cimport cython
from libc cimport math

cpdef double to_float(object value) except? -1.0

@cython.locals(number=double)
cpdef double as_loss(object value, str name) except? -1.0

cpdef double as_previous(object value, long long n, double loss, bint required) except? -1.0

@cython.locals(number=double)
cpdef double as_rate(object value) except? -1.0

cpdef object check_unused(object previous, object rate, long long n, double loss)

cpdef object too_large(double loss)

cpdef object too_large_to_square(double loss, double previous)

cpdef object not_enough_data()

cpdef object overflow(double loss, double previous, double rate)

@cython.locals(total=double, i=Py_ssize_t)
cpdef double batch_mean(const double[::1] values, Py_ssize_t start, Py_ssize_t stop) noexcept

@cython.locals(start=Py_ssize_t, stop=Py_ssize_t, i=Py_ssize_t)
cpdef object batch_means(const double[::1] values, const double[::1] sizes, double[::1] means)
