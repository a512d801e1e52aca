"""The response of a free body at frequency zero: infinite where a load moves it, and only there."""

import numpy as np

import fem
import reduction
from fem.mesh.structured_meshes import block


def test_rigid_motion_is_infinite_at_frequency_zero():
    """A force along x moves a bar along x, and the middle of its other end neither along y nor around anything; the
    limit of small frequencies has the same signs."""
    part = fem.Model(block("hexahedron", (1.0, 0.2, 0.2), (4, 1, 1)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1")
    found = reduction.frequency_response(part, [0.0, 1.0, 10.0], inputs=["a", "b"])
    total = found.total
    assert not np.isnan(total.real).any()
    assert not np.isnan(total.imag).any()
    row = dict(zip(found.labels, range(len(found.labels)), strict=True))
    assert total[0, row["a Fx"], row["b Fx"]].real == -np.inf
    assert total[0, row["a Fy"], row["b Fx"]] == found.elastic[0, row["a Fy"], row["b Fx"]]
    infinite = np.isinf(total[0])
    assert (np.sign(total[0].real) == np.sign(total[1].real))[infinite].all()
    assert np.abs(total[1][infinite]).min() > 1e3 * np.abs(total[1][~infinite]).max()
    omega = 2 * np.pi * found.frequencies[1:, None, None]
    np.testing.assert_array_equal(total[1:], found.elastic[1:] - found.rigid / omega**2)
