"""Makes the pictures of the README from the demo: `python docs/make_images.py` (about half a minute)."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from flexmb import demo, view
from flexmb.compare import Comparison

HERE = Path(__file__).parent / "images"


def poster(comparison: Comparison, folder: Path) -> None:
    """One picture: mesh, moving mechanism, joint force rigid against flexible, energy ledger."""
    view.picture_result(
        comparison.flexible, folder / "moving.png", index=int(0.79 * len(comparison.t)), magnification=200
    )
    figure, axes = plt.subplots(2, 2, figsize=(14, 8.2), layout="constrained")
    for axis, name, title in (
        (axes[0, 0], "mesh.png", "FE mesh with named surfaces"),
        (axes[0, 1], "moving.png", "in the mechanism (deformation x 200)"),
    ):
        axis.imshow(plt.imread(folder / name))
        axis.set_axis_off()
        axis.set_title(title)
    t = comparison.t * 1e3
    for result, colour, width, label in (
        (comparison.rigid, view.GREY, 2.5, "rigid"),
        (comparison.flexible, view.BLUE, 0.9, "flexible"),
    ):
        axes[1, 0].plot(
            t, np.linalg.norm(result.reaction("crank pin")[:, :3], axis=1) / 1e3, color=colour, lw=width, label=label
        )
    axes[1, 0].set(title="force in the crank pin", xlabel="time [ms]", ylabel="force [kN]", xlim=(t[0], t[-1]))
    axes[1, 0].legend(frameon=False, loc="upper left")
    ledger = comparison.flexible.ledger
    for values, colour, label in (
        (ledger.kinetic, view.BLUE, "kinetic"),
        (ledger.elastic, view.ORANGE, "elastic"),
        (np.abs(ledger.residual), view.INK, "|residual|"),
    ):
        axes[1, 1].semilogy(t[1:], values[1:], color=colour, lw=1, label=label)
    axes[1, 1].set(title="energy ledger", xlabel="time [ms]", ylabel="energy [J]", xlim=(t[0], t[-1]), ylim=(1e-7, 1e4))
    axes[1, 1].legend(frameon=False, loc="upper left", ncols=3)
    figure.savefig(HERE / "demo.png", dpi=85)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        HERE.mkdir(exist_ok=True)
        poster(demo.run(folder), Path(folder))
