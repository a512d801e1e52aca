"""The compiled inner loop: flat arrays in, flat arrays out, no allocation that grows with time.

`data` the arrays a mechanism compiles to, `bodies` the equations of one body, `rows` the scalar equations of
joints and force elements, `solve` the linear algebra of a Newton step, `step` the generalised-alpha loop.
The readable reference is `flexmb.dynamics`; the tests compare the two.
"""
