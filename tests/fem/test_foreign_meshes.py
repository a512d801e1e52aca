"""Meshes that nobody here made, through the whole road: inspect, reduce, simulate; CalculiX gives the frequencies."""

import gzip
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
import pyvista.examples
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.files.nastran.mesh import read_nastran_mesh
from fem.mesh.raw_mesh import mesh_and_steps
from flexmb.cli.main import app
from flexmb.files import load_body, load_result
from validation import decks as campaign

DECKS = Path("/usr/share/doc/calculix-ccx-test/examples/test")
pytestmark = pytest.mark.foreign


def calculix_deck(name, folder):
    """The deck, with fully integrated hexahedra, as ours are, in place of reduced ones; only its first step, a modal one."""
    packed = DECKS / f"{name}.inp.gz"
    source = packed if packed.exists() else DECKS / f"{name}.inp"
    if shutil.which("ccx") is None or not source.exists():
        pytest.skip("CalculiX and its examples (Debian calculix-ccx, calculix-ccx-test) are not installed")
    data = source.read_bytes()
    text = (gzip.decompress(data) if source == packed else data).decode()
    text = re.sub("C3D20R", "C3D20", text, flags=re.IGNORECASE)
    model = text[: re.search(r"^\*STEP", text, re.IGNORECASE | re.MULTILINE).start()]
    (folder / f"{name}.inp").write_text(model + "*STEP\n*FREQUENCY\n10\n*END STEP\n")
    return folder / f"{name}.inp"


def calculix_frequencies(deck):
    done = subprocess.run(["ccx", deck.stem], cwd=deck.parent, capture_output=True, text=True, timeout=300)
    assert "Job finished" in done.stdout, done.stdout[-2000:]
    rows = [line.split() for line in deck.with_suffix(".dat").read_text().splitlines()]
    return np.array([float(r[3]) for r in rows if len(r) == 5 and r[0].isdigit()][:10])


def released(body, interface):
    """A body on a hinge, released bent in its first mode and turning; two runs over two periods of that mode, with steps
    that differ by a factor of eight. Halves of a step differ by 3.5 to 4.9: the highest of ten modes has few in a period."""
    period, size = 1 / body.frequencies[0], body.mesh.size
    eta = np.eye(body.modes)[0] * 1e-3 * size / body.deflection[0]
    system = flexmb.System()
    handle = system.add(body, eta=eta, angular_velocity=(0.05 * body.frequencies[0], 0, 0))
    system.revolute("hinge", system.ground.at(body.interface(interface).point), handle[interface], axis=(1, 0, 0))
    return [flexmb.simulate(system, 2 * period, step=period / n, newton_tolerance=1e-10) for n in (250, 2000)]


@pytest.mark.parametrize(("name", "held"), [("beamf", "CN7"), ("rotor", "Nfix")])
def test_decks_of_calculix(name, held, tmp_path):
    deck = calculix_deck(name, tmp_path)
    report = CliRunner().invoke(app, ["inspect", str(deck), "--picture", str(tmp_path / "mesh.png")])
    assert report.exit_code == 0, report.output
    assert f"node set '{held}'" in report.output
    assert (tmp_path / "mesh.png").stat().st_size > 10_000
    done = CliRunner().invoke(
        app,
        ["reduce", str(deck), "--material", "210000,0.3,7.8e-9", "--interface", f"root={held}", "--ignore", "BOUNDARY", "--reference-frame", "root", "--modes", "10", "-o", str(tmp_path / "body.h5")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    body = load_body(tmp_path / "body.h5")
    ours = body.frequencies
    np.testing.assert_allclose(ours, calculix_frequencies(deck), rtol=1e-4)
    coarse, fine = released(body, "root")
    errors = [np.abs(r.ledger.residual).max() / r.ledger.elastic.max() for r in (coarse, fine)]
    assert errors[0] / errors[1] == pytest.approx(8**2, rel=0.1), errors


@pytest.mark.long
def test_no_deck_of_calculix_loses_a_keyword(tmp_path):
    """Every deck that can be read names, with its line, everything in it that changes the answer; a part made of it is refused."""
    decks = sorted(DECKS.glob("*.inp")) + sorted(DECKS.glob("*.inp.gz"))
    if not decks:
        pytest.skip("The examples of CalculiX (Debian calculix-ccx-test) are not installed")
    steel, read, refused = fem.Material.isotropic(210000.0, 0.3, 7.8e-9), 0, 0
    for packed in decks:
        data = gzip.decompress(packed.read_bytes()) if packed.suffix == ".gz" else packed.read_bytes()
        path = tmp_path / packed.name.removesuffix(".gz")
        path.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mesh = fem.read_mesh(path)
        except fem.MeshError:
            continue  # without solids, and said so
        read += 1
        assert not campaign.unaccounted(path, mesh), packed.name
        if mesh.unread:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of units
                try:
                    part = fem.Model(mesh, steel)
                except fem.MaterialError:
                    continue  # shells and beams
            with pytest.raises(fem.MeshError, match="says more about the part"):
                reduction.reduce(part, "modal", 6)
            refused += 1
    assert read > 200
    assert refused > 0.8 * read


def test_the_mesh_of_the_pyvista_wheel(tmp_path):
    """Hexahedra without any set: interfaces picked by planes, a model file, a result."""
    mesh = fem.read_mesh(pyvista.examples.hexbeamfile)
    assert fem.check_mesh(mesh).volume == pytest.approx(5.0)
    part = fem.Model(mesh, fem.Material.aluminium()).with_interfaces(root=fem.on_plane((0, 0, 0), (0, 0, 1)))
    quality = reduction.compare_modes(part, reduction.modal(part, modes=8))
    assert quality.relative_errors.max() < 1e-8
    (tmp_path / "model.toml").write_text(f"""
name = "beam of a wheel"
gravity = [0, -9.81, 0]

[simulation]
duration = 0.05
step = 2e-5

[bodies.beam]
kind = "flexible"
mesh = "{pyvista.examples.hexbeamfile}"
material = "aluminium"
interfaces = {{ root = "plane/0,0,0/0,0,1", tip = "nearest/0.5,0.5,5/4" }}
reduction = {{ modes = 6, reference_frame = "root" }}

[[joints]]
name = "hinge"
kind = "revolute"
a = "ground"
b = "beam.root"
axis = [1, 0, 0]
""")
    done = CliRunner().invoke(app, ["run", str(tmp_path / "model.toml"), "-o", str(tmp_path / "result.h5")])
    assert done.exit_code == 0, done.output
    result = load_result(tmp_path / "result.h5")
    assert result.ledger.elastic.max() > 0
    assert np.abs(result.ledger.residual).max() < 1e-4 * result.ledger.elastic.max()


@pytest.mark.skipif("NASTRAN_DECKS" not in os.environ, reason="NASTRAN_DECKS names no folder with decks of Nastran")
def test_decks_of_nastran_that_others_wrote(tmp_path):
    """Every deck of a folder (such as the models of pyNastran) is read or refused with file and line; many become models."""
    made, unclear = 0, []
    for path in sorted(Path(os.environ["NASTRAN_DECKS"]).rglob("*")):
        if path.suffix.lower() not in (".bdf", ".nas", ".dat") or path.stat().st_size > 1.5e6:
            continue
        deck = path if path.suffix.lower() == ".bdf" else path.with_suffix(".bdf")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mesh = mesh_and_steps(read_nastran_mesh(path), deck.stem)[0]
                part = fem.Model(mesh)
                assert np.isfinite(part.K.data).all()
            made += 1
        except fem.FlexmbError as error:
            if not re.search(r"line \d+|no solid cells|no material|no density|no cells", str(error)):
                unclear.append((path.name, str(error)))
    assert made >= 10
    assert unclear == []
