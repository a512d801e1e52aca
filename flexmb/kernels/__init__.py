"""The compiled inner loop: flat arrays in, flat arrays out, no allocation that grows with time.

`data` the arrays a mechanism compiles to, `bodies` the equations of one body, `rows` the scalar equations of
joints and force elements, `solve` the linear algebra of a Newton step, `step` the generalised-alpha loop.
A function is compiled as a whole with all that it calls, so that every level of calls repeats the work of those below: large ones with one caller or two, and the smallest, are `inline="always"`, which takes a quarter off the
first compilation (`python -m benchmarks start-up`). Those with `fastmath` are not, because it would be lost, nor `factor_bodies`, which runs slower so (by a tenth of `solve_rows`).
The readable reference is `flexmb.bodies.dynamics`; the tests compare the two.
"""
