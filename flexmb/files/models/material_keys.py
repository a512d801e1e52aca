"""The keys of materials of a model file, of shells and layups too, and the records that they stand for."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

import fem
from fem.errors import unknown_name
from fem.mesh.unread import materials_of_file
from flexmb.errors import MechanismError
from flexmb.files.models.key_types import Direction, Keys, Positive, Vector, refusal, sort_of


class IsotropicKeys(Keys):
    """An isotropic material."""

    youngs_modulus: Positive
    poissons_ratio: float
    density: Positive


class OrthotropicKeys(Keys):
    """An orthotropic material: moduli along its axes x, y, z; ratios and shear moduli xy, yz, zx."""

    youngs_moduli: Vector
    poissons_ratios: Vector
    shear_moduli: Vector
    density: Positive


class CylinderKeys(Keys):
    """The axis of a cylinder around which a material turns: radial, tangential and axial directions."""

    point: Vector
    direction: Direction


class SolidKeys(OrthotropicKeys):
    """An orthotropic material of solids, with fixed axes or those of a cylinder."""

    x_axis: Direction | None = None
    y_axis: Direction | None = None
    cylinder: CylinderKeys | None = None

    @model_validator(mode="after")
    def _one_kind_of_axes(self) -> Self:
        if (self.x_axis is None) != (self.y_axis is None) or (self.cylinder is not None and self.x_axis is not None):
            raise refusal("axes of a material are x_axis and y_axis, or a cylinder")
        return self

    def made(self) -> fem.Material:
        """The material. Raises `MaterialError` for constants that no material has, and axes along each other."""
        found = _ply_material(self)
        if self.x_axis is not None and self.y_axis is not None:
            x, y = self.x_axis, self.y_axis
            return found.turned((x[0], x[1], x[2]), (y[0], y[1], y[2]))
        if self.cylinder is not None:
            a, b = self.cylinder.point, self.cylinder.direction
            axes = fem.CylindricalAxes((a[0], a[1], a[2]), (b[0], b[1], b[2]))
            return fem.Material(found.name, found.elasticity, found.density, axes)
        return found


Corner = Annotated[list[float], Field(min_length=2, max_length=2)]


class SectionKeys(Keys):
    """A cross-section of beams: one of the shapes of `fem.Section`, a polygon with holes (`fem.drawn_section`), or its
    constants, with that of `warping` where it is known."""

    rectangle: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    circle: Positive | None = None
    tube: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = None
    box: Annotated[list[Positive], Field(min_length=3, max_length=3)] | None = None
    polygon: Annotated[list[Corner], Field(min_length=3)] | None = None
    holes: Annotated[list[Annotated[list[Corner], Field(min_length=3)]], Field(default_factory=list)]
    area: Positive | None = None
    Iy: Positive | None = None
    Iz: Positive | None = None
    J: Positive | None = None
    warping: Positive | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        given = {key for key in SectionKeys.model_fields if getattr(self, key) is not None}
        given -= {"holes", "warping"}
        constants = {"area", "Iy", "Iz", "J"} & given
        shapes = given - constants
        if len(shapes) + bool(constants) != 1 or len(constants) not in (0, 4):
            found = ", ".join(sorted(given)) or "nothing"
            raise refusal(
                f"a section is one of rectangle, circle, tube, box, polygon, or area, Iy, Iz and J; found {found}"
            )
        if self.holes and self.polygon is None:
            raise refusal("holes are those of a polygon, which is missing")
        if self.warping is not None and not constants:
            raise refusal("warping is given with area, Iy, Iz and J; a polygon has its own, and the other shapes none")
        return self

    def made(self) -> fem.Section:
        """The section. Raises `MaterialError` for sizes that do not fit together, and `MeshError` for a polygon that
        cannot be meshed."""
        if self.rectangle is not None:
            return fem.Section.rectangle(*self.rectangle)
        if self.circle is not None:
            return fem.Section.circle(self.circle)
        if self.tube is not None:
            return fem.Section.tube(*self.tube)
        if self.box is not None:
            return fem.Section.box(*self.box)
        if self.polygon is not None:
            return fem.drawn_section(self.polygon, self.holes)
        constants = (self.area or 0.0, self.Iy or 0.0, self.Iz or 0.0, self.J or 0.0)
        return fem.Section(*constants, warping=self.warping or 0.0)


class MaterialKeys(IsotropicKeys):
    """An isotropic material, of a shell where it has a thickness, of beams where it has a section."""

    thickness: Positive | None = None
    offset: float = 0.0
    section: SectionKeys | None = None
    y_axis: Direction | None = None
    torsion: Literal["saint-venant", "vlasov"] | None = None

    @model_validator(mode="after")
    def _of_shells_and_beams(self) -> Self:
        if self.offset and self.thickness is None:
            raise refusal(f"offset = {self.offset} is that of a shell, and its thickness is missing")
        if self.y_axis is not None and self.section is None:
            raise refusal(f"y_axis = {self.y_axis} is that of beams, and their section is missing")
        if self.torsion is not None and self.section is None:
            raise refusal(f"torsion = {self.torsion!r} is that of beams, and their section is missing")
        if self.section is not None and self.thickness is not None:
            raise refusal("a material has a section (of beams) or a thickness (of shells), not both")
        return self


def _sort_of_ply(value: Any) -> str:
    if isinstance(value, dict):
        return "<orthotropic>" if (value.keys() & OrthotropicKeys.model_fields) - {"density"} else "<isotropic>"
    return sort_of(value)


PlyMaterial = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[IsotropicKeys, Tag("<isotropic>")]
    | Annotated[OrthotropicKeys, Tag("<orthotropic>")],
    Discriminator(
        _sort_of_ply,
        custom_error_type="material",
        custom_error_message='expected "steel", "aluminium", or { youngs_modulus = ..., ... } or '
        "{ youngs_moduli = [...], poissons_ratios = [...], shear_moduli = [...], density = ... }",
    ),
]


class PlyKeys(Keys):
    """A layer: its angle, in degrees, is from the shell's `x_axis`."""

    material: PlyMaterial
    thickness: Positive
    angle: float = 0.0


class LayupKeys(Keys):
    """A shell of plies from the bottom to the top."""

    plies: list[PlyKeys]
    x_axis: Direction | None = None
    offset: float = 0.0


def _sort_of_material(value: Any) -> str:
    if isinstance(value, dict) and "plies" in value:
        return "<layup>"
    if isinstance(value, dict) and value.keys() & (SolidKeys.model_fields.keys() - MaterialKeys.model_fields.keys()):
        return "<solid>"
    constants = isinstance(value, dict) and (not value or value.keys() & MaterialKeys.model_fields)
    return "<constants>" if constants else sort_of(value)


_MATERIAL = (
    'expected "steel", "aluminium" (":mm" behind it for mm, t, s), '
    "{ youngs_modulus = ..., poissons_ratio = ..., density = ... }, or { plies = [...] }"
)
Material = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[MaterialKeys, Tag("<constants>")]
    | Annotated[SolidKeys, Tag("<solid>")]
    | Annotated[LayupKeys, Tag("<layup>")],
    Discriminator(_sort_of_material, custom_error_type="material", custom_error_message=_MATERIAL),
]
Materials = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[MaterialKeys, Tag("<constants>")]
    | Annotated[SolidKeys, Tag("<solid>")]
    | Annotated[LayupKeys, Tag("<layup>")]
    | Annotated[dict[str, Material], Tag("<table>")],
    Discriminator(
        _sort_of_material,
        custom_error_type="material",
        custom_error_message=_MATERIAL + ", or a table of these, one for each cell set",
    ),
]


def named_materials(keys: Any) -> list[str]:
    """The names of materials of the library, such as "steel:mm", in keys of `Materials`."""
    if isinstance(keys, dict):
        return [name for value in keys.values() for name in named_materials(value)]
    if isinstance(keys, LayupKeys):
        return [ply.material for ply in keys.plies if isinstance(ply.material, str)]
    return [keys] if isinstance(keys, str) and keys != "file" else []


def written_materials(keys: Any) -> list[fem.Material]:
    """The materials whose constants keys of `Materials` write out, with errors as in `material_of`."""
    if isinstance(keys, dict):
        return [material for value in keys.values() for material in written_materials(value)]
    if isinstance(keys, LayupKeys):
        return [material for ply in keys.plies for material in written_materials(ply.material)]
    return [_ply_material(keys)] if isinstance(keys, (IsotropicKeys, OrthotropicKeys)) else []


def constants_of_file(mesh: fem.Mesh) -> list[fem.Material]:
    """The materials that the file of a mesh gives to its cells, but for sections and shells of a given stiffness."""
    made = materials_of_file(mesh)[0]
    sections = [m for m in made if isinstance(m, fem.Shell | fem.Beam | fem.Truss)]
    whole = [m.material for m in sections if not isinstance(m, fem.Shell) or m.stiffness is None]
    return [*(m for m in made if isinstance(m, fem.Material)), *whole]


def material_of(keys: str | MaterialKeys | SolidKeys | LayupKeys | None) -> fem.Material | fem.Shell | fem.Beam:
    """The record that keys of `Material` stand for. Raises `MechanismError` for an unknown name, `MaterialError` for
    sizes of a section that do not fit together."""
    if isinstance(keys, LayupKeys):
        plies = [fem.Ply(_ply_material(ply.material), ply.thickness, ply.angle) for ply in keys.plies]
        x = keys.x_axis
        return fem.Shell.layup(plies, None if x is None else (x[0], x[1], x[2]), keys.offset)
    if isinstance(keys, SolidKeys):
        return keys.made()
    if not isinstance(keys, MaterialKeys):
        return _ply_material(str(keys))
    made = _ply_material(keys)
    if keys.section is not None:
        y = keys.y_axis
        axis = None if y is None else (y[0], y[1], y[2])
        return fem.Beam(made, keys.section.made(), axis, torsion=keys.torsion or "saint-venant")
    return made if keys.thickness is None else fem.Shell(made, keys.thickness, keys.offset)


def _ply_material(keys: str | IsotropicKeys | OrthotropicKeys) -> fem.Material:
    if isinstance(keys, IsotropicKeys):
        return fem.Material.isotropic(keys.youngs_modulus, keys.poissons_ratio, keys.density)
    if isinstance(keys, OrthotropicKeys):
        E, nu, G = ((v[0], v[1], v[2]) for v in (keys.youngs_moduli, keys.poissons_ratios, keys.shear_moduli))
        return fem.Material.orthotropic(E, nu, G, keys.density)
    name, _, units = keys.partition(":")
    makers = {"steel": fem.Material.steel, "aluminium": fem.Material.aluminium}
    if name not in makers:
        constants = "{ youngs_modulus = ..., poissons_ratio = ..., density = ... }"
        raise MechanismError(f"{unknown_name('material', name, makers)} Or write its constants: {constants}.")
    return makers[name](units=units or "m")
