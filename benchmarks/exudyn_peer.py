"""What every comparison with exudyn needs (extra `peers`)."""

import sys
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
