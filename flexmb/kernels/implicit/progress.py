"""What the compiled steps of Radau IIA and of backward differentiation tell Python, and what they remember."""

TOO_OLD = 20
"""Number of steps after which the matrix is factorised again."""

REACHED, ATTEND, CHANGE, CROWDED, FAILED, DIVERGED, TOO_FAST, START = range(8)
"""Outcomes of `radau_steps` and `bdf_steps`:

- `REACHED`: the time is reached.
- `ATTEND`: the functions of time and the derivatives of the states of force elements are needed for the next attempt of
  a step.
- `CHANGE`: a function of time changes its character.
- `CROWDED`: the arrays of the factors are too small.
- `FAILED`: the iteration of a step has failed, and a smaller one is next.
- `DIVERGED`: steps become too small.
- `TOO_FAST`: a fixed step of backward differentiation turns a body too far.
- `START`: another method is to compute the next of the first steps of backward differentiation.
"""

(
    T, SIZE, PLANNED, BEGIN, LENGTH, FACTORED, AGE, MOST, REFUSED, TAKEN, REJECTED, ITERATIONS, SMALLEST, LARGEST,
    FIXED, TOLERANCE, SAME, FACTORISATIONS, WANTED, ORDER, GOOD, COUNT, USED,
) = range(23)  # fmt: skip
ENTRIES = USED + 1
"""Entries of `last` in `RadauState` and `BDFState`, and their number:

- `T`, `SIZE`: the end of the last step, and the size of the next one from the error control.
- `PLANNED`: the size of the present attempt; 0 if none is planned. `WANTED`: whether it needs a new matrix.
- `BEGIN`, `LENGTH`: beginning and size of the last step of Radau IIA; the size is 0 if there is none.
- `FACTORED`, `AGE`: the step size, or the coefficient of the step, to which the factors belong, and the number of steps
  with them.
- `MOST`: the largest number of independent joint equations so far.
- `REFUSED`: the number of rejected attempts of the present step.
- `TAKEN`, `REJECTED`, `ITERATIONS`, `SMALLEST`, `LARGEST`, `FACTORISATIONS`: statistics.
- `FIXED`: 1 for fixed steps. `TOLERANCE`: of the error. `SAME`: difference of times that are taken as equal.
- `ORDER`, `GOOD`: the order of backward differentiation, and the number of steps since it has changed.
- `COUNT`: the number of known configurations. `USED`: the order of the last step.
"""
