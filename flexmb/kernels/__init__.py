"""The compiled kernels: functions of arrays without allocations that grow with time.

`base/data` defines the arrays of a compiled mechanism, `equations/bodies` the equations of one body, `equations/rows`
the scalar equations of joints and force elements, `steps/solve` the linear algebra of a Newton step and `steps/step`
the loop of generalised-alpha. The readable reference is `flexmb.bodies.dynamics`; the tests compare the two.

A kernel is compiled together with all functions that it calls, so that every level of calls repeats the work of those
below. Large functions with one or two callers, and the smallest functions, are `inline="always"`, which shortens the
first compilation by a quarter (`python -m benchmarks start-up`). Functions with `fastmath` are not inlined, because
they would lose it, nor is `factor_bodies`, because its callers would be slower by a tenth.
"""
