"""What is measured of a result when nothing else is asked for."""

import numpy as np

from flexmb.result import Result


def peaks(result: Result) -> dict[str, float]:
    """Largest values over time: forces and moments of all joints, deflections of all interfaces of flexible bodies, energies, and the energy residual."""
    measured: dict[str, float] = {}
    for joint in result.mechanism.joints:
        reaction = result.reaction(joint.name)
        measured[f"force in {joint.name}"] = _longest(reaction[:, :3])
        measured[f"moment in {joint.name}"] = _longest(reaction[:, 3:])
    for body in result.mechanism.bodies:
        for interface in body.interfaces if body.is_flexible else ():
            name = f"{body.name}.{interface}"
            measured[f"deflection of {name}"] = _longest(result.deflection(name))
    ledger = result.ledger
    measured["kinetic energy"] = float(ledger.kinetic.max())
    measured["elastic energy"] = float(ledger.elastic.max())
    measured["energy residual"] = float(np.abs(ledger.residual).max())
    return measured


def _longest(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())
