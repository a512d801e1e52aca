"""Keys of model files that contradict each other are refused with their place, and the nearest ones are accepted."""

import pandas
import pytest
from model_files import model_of

import flexmb
from flexmb.errors import FileError, ModelFileError
from flexmb.files.results.table_file import write_table

CART = """
[simulation]
duration = 0.1
step = 1e-3

[bodies.cart]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
position = [0, 0, 1]
points = { top = [0, 0, 1], low = [0, 0, -1] }

[[joints]]
name = "rail"
kind = "prismatic"
a = "ground"
b = "cart"
axis = [1, 0, 0]
at = [0, 0, 0]
"""
STEP = "step = 1e-3"
CONTACT = """
[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane", at = [0, 0, -9] }
b = { place = "cart", shape = "sphere", radius = 0.1 }
law = { kind = "power-law", stiffness = 1e3 }
"""
GROUP = """
[[contact_groups]]
name = "heap"
shapes = [{ place = "ground", shape = "plane", at = [0, 0, -9] }, %s]
law = { kind = "power-law", stiffness = 1e3 }
"""
SERVO = (
    '\n[[controllers]]\nname = "servo"\ninputs = { %s = "coordinate:rail" }\noutputs = { command = "effort:rail" }\n'
)
LINEAR = 'law = { kind = "linear", numerator = [1.0], denominator = [1.0, 0.5], inputs = ["x"], %sdiscrete = true }\n'
TABLED = '\n[[motors]]\nname = "m"\njoint = "rail"\neffort = { kind = "table", csv = "a.csv" }\n'
WIND = '\n[[winds]]\nname = "gust"\nbody = "%s"\npoints = [[0, 0, 0], [1, 0, 0]]\ndensity = 1.2\ndiameter = 0.1\nvelocity = [0, 1, 0]\n'
ROD = '\n[[joints]]\nname = "rod"\nkind = "distance"\na = "ground"\nat = [0, 0, 0]\nb = "cart.top"\n'
MOVED = 'motion = { kind = "harmonic", amplitude = 0.0, frequency = 1.0, offset = 2.0 }\n'
EVENT = '\n[[events]]\nname = "stop"\nmeasure = "coordinate:rail"\nabove = 1.0\n'
SLIDER = """
[[joints]]
name = "wire"
kind = "point-on-curve"
a = "%s"
at = [0, 0, 2]
b = "cart.top"
curve = { points = [[0, 0], [0.2, -0.03], [0.4, -0.045], [0.6, -0.05], [0.8, -0.03], [1, 0.04]] }
normal = [0, -1, 0]
"""
BAR = '\n[bodies.bar]\nkind = "flexible"\nmesh = "flexmb:conrod.msh"\nreduction = { method = "modal", modes = 1 }\nmaterial = { youngs_modulus = 1, poissons_ratio = 0.3, density = 1%s }\n'
LAST = "at = [0, 0, 0]\n"

REFUSED = {
    "no length of turning friction": (
        LAST,
        LAST + CONTACT + "slip_speed = 0.1\nturning_friction = { speed = 0.1 }\n",
        "turning_friction has a length of rolling, of spinning, or of both",
        LAST + CONTACT + "friction = 0.1\nslip_speed = 0.1\nturning_friction = { speed = 0.1, spinning = 1e-3 }\n",
    ),
    "a local contact that keeps its volume": (
        LAST,
        LAST + CONTACT + "local = { young = 1e9, poisson = 0.6 }\n",
        "'contacts[1] ('floor').local'",
        LAST + CONTACT,
    ),
    "parameters of a law of the library": (
        LAST,
        LAST + SERVO % "x" + LINEAR % "sample_time = 0.01, " + "parameters = { kp = 1.0 }\n",
        "parameters, initial and sample_time are those of a registered law; give them in its table",
        LAST + SERVO % "x" + LINEAR % "sample_time = 0.01, ",
    ),
    "a discrete system without a time": (
        LAST,
        LAST + SERVO % "x" + LINEAR % "",
        "A discrete system needs a sample_time",
        LAST + SERVO % "x" + LINEAR % "sample_time = 0.02, ",
    ),
    "a scale without a file": (
        LAST,
        LAST + SERVO % "input" + 'law = { kind = "curve", x = [0, 1], y = [0, 1], scale = 2.0 }\n',
        "columns and scale are those of a csv file; none is given",
        LAST + SERVO % "input" + 'law = { kind = "curve", x = [0, 1], y = [0, 1] }\n',
    ),
    "columns without a file": (
        LAST,
        LAST + SERVO % "input" + 'law = { kind = "curve", x = [0, 1], y = [0, 1], columns = [0, 1] }\n',
        "columns and scale are those of a csv file; none is given",
        LAST + SERVO % "input" + 'law = { kind = "curve", x = [0, 2], y = [0, 1] }\n',
    ),
    "an origin of a curve on a body": (
        LAST,
        (LAST + SLIDER % "cart.low"),
        "at = [x, y, z] is the origin of a curve on the ground; here a is on a body.",
        (LAST + SLIDER % "ground"),
    ),
    "an offset without thickness": (
        LAST,
        LAST + BAR % ", offset = 0.5",
        "offset = 0.5 is that of a shell, and its thickness is missing",
        LAST + BAR % ", offset = 0.0",
    ),
    "holes of a circle": (
        LAST,
        LAST + BAR % ", section = { circle = 1.0, holes = [[[0, 0], [1, 0], [0, 1]]] }, y_axis = [0, 1, 0]",
        "holes are those of a polygon, which is missing",
        LAST,
    ),
    "a flexible surface in a group": (
        LAST,
        LAST + GROUP % '{ place = "cart", surface = "top" }',
        "the flexible surface 'top' of 'cart' touches one shape in an entry of [[contacts]].",
        LAST + GROUP % '{ place = "cart", shape = "sphere", radius = 0.1 }',
    ),
    "a place of a place": (
        LAST,
        LAST + GROUP % '{ place = "cart.low", shape = "sphere", radius = 0.1, at = [1, 0, 0] }',
        "at = [x, y, z] is a point of a body or of the ground; 'cart.low' is a point already.",
        LAST + GROUP % '{ place = "cart.low", shape = "sphere", radius = 0.1 }',
    ),
    "wind on an unknown body": (
        LAST,
        LAST + WIND % "crt",
        "no body named 'crt'. Did you mean 'cart'?",
        LAST + WIND % "cart",
    ),
    "a motion with a table that falls": (
        LAST,
        LAST + TABLED.replace("a.csv", "falling.csv"),
        "The table ",
        LAST + TABLED.replace("a.csv", "rising.csv"),
    ),
    "two lengths of a rod": (
        LAST,
        LAST + ROD + "length = 2.0\n" + MOVED,
        "a rod has either length = (a number) or motion = (a function of time)",
        LAST + ROD + "length = 2.0\n",
    ),
    "two sides of an event": (
        LAST,
        LAST + EVENT + "below = -1.0\nend = true\n",
        "an event has either above = (a value of the measure) or below = (one)",
        LAST + EVENT + "end = true\n",
    ),
    "no side of an event": (
        LAST,
        LAST + EVENT.replace("above = 1.0", "") + "end = true\n",
        "an event has either above = (a value of the measure) or below = (one)",
        LAST + EVENT.replace("above", "below") + "end = true\n",
    ),
    "two deeds of an event": (
        LAST,
        LAST + EVENT + 'lock = "rail"\nend = true\n',
        "an event has one of lock, release, end",
        LAST + EVENT + 'lock = "rail"\n',
    ),
    "an option of another method": (
        STEP,
        STEP + '\nmethod = "radau"\nrho_inf = 0.9',
        "method 'radau' has no option 'rho_inf', which belongs to generalised-alpha",
        STEP + '\nmethod = "generalised-alpha"\nrho_inf = 0.9',
    ),
    "an option that a method cannot have": (
        STEP,
        STEP + "\nrho_inf = 1.1",
        "'simulation'",
        STEP + "\nrho_inf = 1.0",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", REFUSED)
def test_keys_that_contradict_each_other_are_refused_and_their_neighbours_are_not(case, tmp_path):
    (tmp_path / "falling.csv").write_text("0, 0\n1, 1\n0.5, 2\n3, 3\n")
    (tmp_path / "rising.csv").write_text("0, 0\n1, 1\n2, 2\n3, 3\n")
    old, new, words, near = REFUSED[case]
    with pytest.raises(ModelFileError) as caught:
        model_of(tmp_path, CART, old, new)
    assert "model.toml" in str(caught.value)
    assert words in str(caught.value)
    model_of(tmp_path, CART, old, near)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ImportError("no pyarrow"), "Parquet files need pandas and pyarrow (pip install pandas pyarrow): no pyarrow."),
        (OSError("disk full"), "Cannot write the table {path}: disk full."),
    ],
)
def test_tables_that_cannot_be_written_say_why(failure, words, tmp_path, monkeypatch):
    result = flexmb.simulate(model_of(tmp_path, CART).system, 2e-3, step=1e-3)
    path = tmp_path / "cart.parquet"
    assert write_table(result, path).exists()

    def refused(*_, **__):
        raise failure

    monkeypatch.setattr(pandas.DataFrame, "to_parquet", refused)
    with pytest.raises(FileError) as caught:
        write_table(result, path)
    assert str(caught.value) == words.format(path=path)
