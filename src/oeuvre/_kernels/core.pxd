from oeuvre._kernels.checks cimport not_enough_data


cdef class Core:
    cdef public dict _params
    cdef public long long _n
    cdef public double _estimate

    cdef int _step(self, double loss, double previous, double rate, double size) except -1

    cpdef double _newest(self) except? -1.0
