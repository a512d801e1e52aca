"""Failures of the runs of a study are told, with the variant; what has no identity has no checkpoint."""

import threading

import pytest
from mechanisms import double_pendulum
from refusals import refused

import flexmb
from flexmb.errors import IntegratorError, StudyError
from flexmb.study import direct_gradient, gradient


def failing(k):
    if k > 1.0:
        raise ValueError("out of range")
    return {"square": k**2}


def test_a_gradient_names_the_variant_that_failed():
    refused(
        StudyError,
        "A run for the sensitivities failed at {'k': 1.001}: ValueError: out of range",
        gradient, failing, {"k": 1.0}, threads=True,
    )  # fmt: skip
    assert abs(gradient(failing, {"k": 0.9}, threads=True).of("square")[0] - 1.8) < 1e-9


def test_a_model_that_returns_a_mechanism_needs_a_duration():
    variants = [{"gravity": 9.81}]
    refused(
        StudyError,
        "All 1 variants failed; the first, {'gravity': 9.81}: The model function returned a mechanism: give the duration of "
        "the simulation.",
        flexmb.parameter_study, double_pendulum, variants, threads=True,
    )  # fmt: skip
    assert flexmb.parameter_study(double_pendulum, variants, 0.01, step=0.01, threads=True).failed == ()


def test_what_has_no_identity_has_no_checkpoint(tmp_path):
    lock = threading.Lock()

    def guarded(k):
        with lock:
            return {"square": k**2}

    refused(
        StudyError,
        "The model of a study with a checkpoint refers to an object of type lock, which has no identity by its content "
        "(cannot pickle '_thread.lock' object). Create it inside the function, or omit checkpoint=.",
        flexmb.parameter_study, guarded, [{"k": 1.0}], threads=True, checkpoint=tmp_path / "kept.jsonl",
    )  # fmt: skip
    assert flexmb.parameter_study(guarded, [{"k": 3.0}], threads=True).measure("square")[0] == 9.0


def test_derivatives_along_a_run_need_memory_for_all_its_steps():
    def model(gravity):
        return double_pendulum(gravity)

    with pytest.raises(
        IntegratorError,
        match=r"^The 99999999\d\d steps of 'double pendulum' need [6-9]\.\d+e\+03 GB of memory for derivatives; \S+ GB are free\. Use "
        r"longer steps or a shorter duration\.$",
    ):
        direct_gradient(model, {"gravity": 9.81}, 1e4, step=1e-6, output_step=1e4)
