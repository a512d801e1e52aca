"""The functions of the laws of controllers, which are compiled with the package (flexmb/kernels/build.py).

They read inputs, states and parameters by index; flexmb/controllers/fit.py knows their sizes.
"""

import math
from typing import Any

import numba


def pid(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """States: the integral part, and the filtered input of the derivative part."""
    kp, ki, kd, filter_time, lower, upper = (
        parameters[0],
        parameters[1],
        parameters[2],
        parameters[3],
        parameters[4],
        parameters[5],
    )
    tracking_time, of_error = parameters[6], parameters[7]
    error = inputs[1] - inputs[0]
    others = states[0] + inputs[2]
    if filter_time > 0.0:
        change = ((error if of_error == 1.0 else -inputs[0]) - states[1]) / filter_time
        others += kd * change
        rates[1] = change
    elif kd != 0.0:
        others += kd * (inputs[4] - inputs[3])
    wanted = kp * error + others
    command = min(max(wanted, lower), upper)
    commands[0] = command
    rates[0] = ki * error
    if tracking_time > 0.0 and command != wanted:
        # ki e + (command - wanted) / tracking_time: kp e cancels ki e at the default time, where only rounding would
        # move an integral of zero, which then has no value at the end of a step
        rates[0] = (ki - kp / tracking_time) * error + (command - others) / tracking_time
    elif tracking_time < 0.0 and (command - wanted) * ki * error < 0.0:
        rates[0] *= max(0.0, 1.0 - abs(wanted - command) / parameters[9])


def sampled_pid(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """States: the integral part, the derivative part, the input of the latter at the last sample, and 1 after the first
    sample."""
    kp, ki, kd, filter_time, lower, upper = (
        parameters[0],
        parameters[1],
        parameters[2],
        parameters[3],
        parameters[4],
        parameters[5],
    )
    tracking_time, of_error, h = parameters[6], parameters[7], parameters[8]
    error = inputs[1] - inputs[0]
    integral = states[0] + h * ki * error
    seen = error if of_error == 1.0 else -inputs[0]
    before = states[2] if states[3] == 1.0 else seen
    derivative = (filter_time * states[1] + kd * (seen - before)) / (filter_time + h)
    wanted = kp * error + integral + derivative + inputs[2]
    command = min(max(wanted, lower), upper)
    if tracking_time > 0.0:
        integral += h / tracking_time * (command - wanted)
    elif tracking_time < 0.0 and (command - wanted) * ki * error < 0.0:
        integral = states[0]
        command = min(max(kp * error + integral + derivative + inputs[2], lower), upper)
    commands[0] = command
    rates[0], rates[1], rates[2], rates[3] = integral, derivative, seen, 1.0


def linear(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """`rates = A states + B inputs`, `commands = C states + D inputs` within limits; the parameters are the lower and
    upper limits and the rows of A, B, C and D."""
    n, m, p = len(states), len(inputs), len(commands)
    at = 2 * p
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += parameters[at + k * n + j] * states[j]
        for j in range(m):
            total += parameters[at + n * n + k * m + j] * inputs[j]
        rates[k] = total
    at += n * (n + m)
    for k in range(p):
        total = 0.0
        for j in range(n):
            total += parameters[at + k * n + j] * states[j]
        for j in range(m):
            total += parameters[at + p * n + k * m + j] * inputs[j]
        commands[k] = min(max(total, parameters[k]), parameters[p + k])


@numba.njit
def _value(parameters: Any, n: int, x: float) -> float:
    """The value at `x` of a piecewise cubic through `n` points."""
    k = 0
    while k < n - 2 and x > parameters[k + 1]:
        k += 1
    s, at = x - parameters[k], n + 4 * k
    return ((parameters[at] * s + parameters[at + 1]) * s + parameters[at + 2]) * s + parameters[at + 3]


def curve(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """A piecewise cubic; the parameters are the points (n,) and four coefficients for each of the n-1 pieces."""
    n = (len(parameters) + 4) // 5
    commands[0] = _value(parameters, n, min(max(inputs[0], parameters[0]), parameters[n - 1]))


def periodic_curve(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """The same, repeated after the range of its points."""
    n = (len(parameters) + 4) // 5
    period = parameters[n - 1] - parameters[0]
    turns = math.floor((inputs[0] - parameters[0]) / period)
    commands[0] = _value(parameters, n, inputs[0] - turns * period)


def gain_schedule(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """`commands = -K(s) (x - x_ref)`; the inputs are s, x and x_ref, the parameters the points (n,) and the gains."""
    p, m = len(commands), (len(inputs) - 1) // 2
    n = len(parameters) // (1 + p * m)
    s = min(max(inputs[0], parameters[0]), parameters[n - 1])
    k = 0
    while k < n - 2 and s > parameters[k + 1]:
        k += 1
    weight = (s - parameters[k]) / (parameters[k + 1] - parameters[k])
    for i in range(p):
        total = 0.0
        for j in range(m):
            low, high = parameters[n + (k * p + i) * m + j], parameters[n + ((k + 1) * p + i) * m + j]
            total -= (low + weight * (high - low)) * (inputs[1 + j] - inputs[1 + m + j])
        commands[i] = total


FORMULAS = (pid, sampled_pid, linear, curve, periodic_curve, gain_schedule)
"""The functions of the library of the package."""
