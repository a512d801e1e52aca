"""Makes the pictures of the README and the pages here: `python docs/make_images.py` (about three minutes)."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import flexmb
from flexmb import demo
from flexmb.analyses.compare import Comparison
from flexmb.plots import axes as colours
from flexmb.plots import pictures
from validation import reduction_methods

HERE = Path(__file__).parent / "images"


def poster(comparison: Comparison, folder: Path) -> None:
    """One picture: mesh, moving mechanism, joint force rigid against flexible, energy ledger."""
    pictures.picture_result(
        comparison.flexible, folder / "moving.png", index=int(0.79 * len(comparison.t)), magnification=200, labels=True
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
        (comparison.rigid, colours.GREY, 2.5, "rigid"),
        (comparison.flexible, colours.BLUE, 0.9, "flexible"),
    ):
        axes[1, 0].plot(
            t, np.linalg.norm(result.reaction("crank pin")[:, :3], axis=1) / 1e3, color=colour, lw=width, label=label
        )
    axes[1, 0].set(title="force in the crank pin", xlabel="time [ms]", ylabel="force [kN]", xlim=(t[0], t[-1]))
    axes[1, 0].legend(frameon=False, loc="upper left")
    ledger = comparison.flexible.ledger
    for values, colour, label in (
        (ledger.kinetic, colours.BLUE, "kinetic"),
        (ledger.elastic, colours.ORANGE, "elastic"),
        (np.abs(ledger.residual), colours.INK, "|residual|"),
    ):
        axes[1, 1].semilogy(t[1:], values[1:], color=colour, lw=1, label=label)
    axes[1, 1].set(title="energy ledger", xlabel="time [ms]", ylabel="energy [J]", xlim=(t[0], t[-1]), ylim=(1e-7, 1e4))
    axes[1, 1].legend(frameon=False, loc="upper left", ncols=3)
    figure.savefig(HERE / "demo.png", dpi=85)


def animation(comparison: Comparison) -> None:
    """One turn of the demo's crank, with the stress of the rod; the last picture leads back to the first."""
    flexible = comparison.flexible
    turn = flexmb.simulate(
        demo.build(),
        0.02,
        step=demo.STEP,
        output_step=2e-4,
        initial_state=flexible.state(int(np.searchsorted(flexible.t, 0.06))),
    )
    pictures.animate(turn, HERE / "demo.webp", frames=60, magnification=60, stress=True, labels=True)


def rotor() -> None:
    """Stability of a rotor over its speed and the damping beside it."""
    from flexmb.files.models.model_file import load_model
    from flexmb.linear import stability_map
    from flexmb.plots.linear_plots import plot_stability

    def turning(speed, seal):
        changes = {"joints.bearing.drive.speed": speed, "bushings.seal.damping": [seal, seal, 0, 0, 0, 0]}
        return load_model(HERE.parent / "examples" / "rotor.toml", changes).system

    speeds, seals = np.linspace(5, 60, 34), np.linspace(0, 6, 19)
    chart = stability_map(turning, speeds, seals, ("speed (rad/s)", "damping of the seal (N s/m)"), moving=True)
    plot_stability(chart, HERE / "stability.png")


def precision() -> None:
    """Work and precision of both integrators for the demo's mechanism."""
    from flexmb.analyses.work_precision import work_precision
    from flexmb.plots.precision_plots import plot_work_precision

    settings = [{"step": h} for h in (2e-5, 1e-5, 5e-6, 2e-6, 1e-6)]
    settings += [{"method": "radau", "tolerance": tolerance} for tolerance in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)]
    runs = work_precision(demo.build(), 0.02, lambda r: r.position("rod.small"), settings, output_step=1e-3)
    plot_work_precision(runs, HERE / "precision.png")


SHOWN = {
    "modal": colours.GREY, "Craig-Bampton": colours.ORANGE, "Craig-Chang": colours.GREEN, "Krylov": colours.BLUE, "Gramian": "#a23b72",
    "Gramian, not static": colours.INK,
}  # fmt: skip


def methods() -> None:
    """Relative error over the band of reduction methods at the same size, on three parts."""
    study = reduction_methods.study()
    figure, axes = plt.subplots(1, len(study), figsize=(15, 5.2), sharey=True, layout="constrained")
    for axis, (part, errors) in zip(axes, study.items(), strict=True):
        for name, colour in SHOWN.items():
            axis.semilogy(errors[name].frequencies, errors[name].relative, color=colour, lw=1.3, label=name)
        axis.set(title=part, xlabel="frequency [Hz]", ylim=(1e-9, 20), xlim=(0, errors["modal"].frequencies[-1]))
        axis.grid(alpha=0.25)
    axes[0].set_ylabel(f"relative error, {reduction_methods.COORDINATES} coordinates")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(SHOWN))
    figure.savefig(HERE / "reduction-methods.png", dpi=85)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        HERE.mkdir(exist_ok=True)
        comparison = demo.run(folder)
        poster(comparison, Path(folder))
        animation(comparison)
    methods()
    precision()
    rotor()
