import numpy


class Box:
    def __init__(self, low, high, shape, dtype):
        self.low, self.high, self.shape, self.dtype = low, high, tuple(shape), numpy.dtype(dtype)

    def __repr__(self):
        return f"Box({self.low}, {self.high}, {self.shape}, {self.dtype})"


class Discrete:
    shape, dtype = (), numpy.dtype(numpy.int64)

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Discrete({self.n})"


class MultiBinary:
    dtype = numpy.dtype(numpy.int8)

    def __init__(self, n):
        self.shape = (n,)


class MultiDiscrete:
    dtype = numpy.dtype(numpy.int64)

    def __init__(self, nvec):
        self.shape = (len(nvec),)


class Text:
    shape, dtype = (), str

    def __init__(self, max_length):
        pass

    def __repr__(self):
        return "Text()"


class Dict:
    def __init__(self, spaces):
        self.spaces = dict(spaces)


class Tuple:
    def __init__(self, spaces):
        self.spaces = tuple(spaces)
