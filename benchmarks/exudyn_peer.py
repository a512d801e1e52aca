"""What every comparison with exudyn needs (extra `peers`)."""

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np


def left_out(benchmark: str) -> bool:
    """Whether exudyn is missing; said on the error output."""
    missing = find_spec("exudyn") is None
    if missing:
        print(f"{benchmark}: exudyn is left out (pip install '.[peers]')", file=sys.stderr)
    return missing


def interface_of(points: np.ndarray, K: Any, M: Any) -> Any:
    """exudyn's preprocessor, given nodes and matrices."""
    from exudyn.FEM import FEMinterface

    made = FEMinterface()
    made.nodes = {"Position": np.array(points)}
    made.massMatrix, made.stiffnessMatrix = M.tocsr(), K.tocsr()
    return made


def craig_bampton(made: Any, interfaces: list[np.ndarray], modes: int) -> None:
    """Its Craig-Bampton basis with rigid interfaces."""
    from exudyn.FEM import HCBstaticModeSelection

    nodes = [interface.tolist() for interface in interfaces]
    made.ComputeHurtyCraigBamptonModes(nodes, modes, computationMode=HCBstaticModeSelection.RBE2, timerTreshold=10**9)


def solve(mbs: Any, duration: float, step: float, stored: float, sparse: bool = False) -> float:
    """CPU seconds of an assembled system's generalised-alpha run; sensors are stored every `stored`."""
    import exudyn

    settings = exudyn.SimulationSettings()
    stepping = settings.timeIntegration
    stepping.numberOfSteps, stepping.endTime = round(duration / step), duration
    stepping.newton.useModifiedNewton = True
    stepping.verboseMode = 0
    stepping.generalizedAlpha.spectralRadius = 0.9
    if sparse:
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = stored
    start = time.process_time()
    try:
        mbs.SolveDynamic(settings)
    except Exception as error:  # divergence is a result: what was stored until then is there
        print(str(error)[:200], file=sys.stderr)
    return time.process_time() - start
