"""The edits of the mutation campaign (`python -m tests.mutants`): what is made wrong, where, and which tests reach it."""

from tests.mutants import Edit

HOSTILE, FAULTS = "tests/whole/test_hostile_input.py", "tests/whole/test_faults.py"
KEPT = "tests/flexmb/study/test_study.py"
BODIES = "tests/flexmb/files/test_damaged_files.py tests/flexmb/files/test_interchange.py"
FILES = "tests/flexmb/files/test_files.py tests/flexmb/files/test_damaged_files.py"
READ, WRITE = "fem/user_files/reading.py", "fem/user_files/writing.py"
TREE, SOUND = "flexmb/files/storage/tree.py", "flexmb/files/storage/sound.py"
MARKET, VTK = "fem/files/matrix_files.py", "fem/files/vtk_files.py"
TIMES, LEDGER = "flexmb/simulation/times.py", "flexmb/results/ledger.py"
ELEMENTS, DAMAGED = "flexmb/files/storage/sound_elements.py", "tests/flexmb/files/test_damaged_elements.py"
SAMPLING, BETWEEN = "flexmb/simulation/sampling.py", "tests/flexmb/simulation/test_sampling_times.py"
FIT, CONTROLS = "flexmb/controllers/fit.py", "flexmb/files/results/control_tree.py"
ALGEBRA = "flexmb/kernels/base/algebra.py"

EDITS = (
    # what may be read
    Edit("depth of included files unlimited", READ, "if len(inside) >= DEEPEST:", "if len(inside) >= 10**9:", f"{HOSTILE} -k included"),
    Edit("number of included files unlimited", READ, "if self._count > MOST_FILES:", "if False:", f"{HOSTILE} -k included"),
    Edit("a file that includes itself", READ, "if found in inside:", "if path in inside:", "tests/fem/test_decks.py tests/fem/test_mesh_files.py"),
    Edit("folders above count as inside", READ, "found.is_relative_to(self._folder)", "found.is_relative_to(self._folder.parent)", f"{HOSTILE} -k decks_outside"),
    Edit("links are not followed", READ, "if path.resolve().is_relative_to(folder.resolve())", "if path.absolute().is_relative_to(folder.absolute())", f"{HOSTILE} -k tables_outside"),
    Edit("devices are files", READ, "if not stat.S_ISREG(mode):", "if stat.S_ISDIR(mode):", f"{HOSTILE} -k devices"),
    Edit("sizes in other units", READ, "    if size > limit:", "    if size > 1e6 * limit:", f"{HOSTILE} -k huge"),
    Edit("line of a wrong byte", READ, '.count(b"\\n") + 1', '.count(b"\\n")', "tests/flexmb/files/test_model_file.py -k cannot_be_read"),
    # what is written
    Edit("process numbers of other hosts are judged", WRITE, "return host == machine() and process", "return process", f"{FAULTS} -k other_hosts"),
    Edit("living processes are orphans", WRITE, "not psutil.pid_exists(int(process))", "psutil.pid_exists(int(process))", f"{FAULTS} -k 'other_hosts or unfinished'"),
    Edit("a failed file stays", WRITE, "part.unlink(missing_ok=True)", "pass", f"{FAULTS} -k whole_or"),
    Edit("links are replaced", WRITE, "path = path.resolve()", "path = path.absolute()", f"{FAULTS} -k whole_or"),
    Edit("orphans of other files go", WRITE, 'f".{path.name}.", f".part{ending}"', 'f".", f".part{ending}"', f"{FAULTS} -k unfinished"),
    # containers
    Edit("links inside HDF5 are followed", TREE, "if label in group and not isinstance(", "if label in group and not label and not isinstance(", f"{HOSTILE} -k hdf5"),
    Edit("external data of HDF5 are read", TREE, "if item.is_virtual or item.external:", "if item.is_virtual:", f"{HOSTILE} -k hdf5"),
    Edit("virtual data of HDF5 are read", TREE, "if item.is_virtual or item.external:", "if item.external:", f"{HOSTILE} -k hdf5"),
    Edit("claims of HDF5 are believed", TREE, "if item.nbytes > LONGEST_RATIO * size:", "if item.nbytes > 1e99 * size:", f"{HOSTILE} -k hdf5"),
    Edit("groups without end", TREE, "    if depth > DEEPEST:", "    if depth > 10**9:", f"{HOSTILE} -k hdf5"),
    Edit("the checksum is not compared", TREE, "    if _checksum(tree) != expected:", "    if False:", FILES),
    Edit("markers before the first", SOUND, 'type(value) is int and low <= value < high,', 'type(value) is int and value < high,', FILES),
    Edit("markers beyond the last", SOUND, 'type(value) is int and low <= value < high,', 'type(value) is int and low <= value <= high,', FILES),
    Edit("numbers that are not finite", SOUND, "require(not finite or np.isfinite(value).all()", "require(True or np.isfinite(value).all()", FILES),
    Edit("axes of any length", SOUND, "np.abs(marker.axes.T @ marker.axes - np.eye(3)).max() < UNIT", "np.abs(marker.axes.T @ marker.axes - np.eye(3)).max() < 1e9", FILES),
    # matrices and meshes of other programs
    Edit("bytes that are no ASCII", MARKET, 'text = content.decode("ascii")', 'text = content.decode("latin-1")', f"{HOSTILE} -k market"),
    Edit("matrices beyond their entries", MARKET, "if entries > there or (not dense", "if False and (not dense", f"{HOSTILE} -k market"),
    Edit("entries on one side are not mirrored", "fem/files/matrix_record.py", "sp.csr_matrix(A + opposite - both)", "sp.csr_matrix(A + opposite)", "tests/fem/test_foreign_matrices.py"),
    Edit("cells of points that are not there", VTK, "if nodes.size and not (nodes.min() >= 0 and nodes.max() < len(points)):", "if False:", f"{HOSTILE} -k not_there"),
    Edit("GENERATE without its last number", "fem/files/abaqus/deck.py", "range(numbers[0], numbers[1] + 1,", "range(numbers[0], numbers[1],", "tests/fem/test_decks.py tests/fem/test_mesh_files.py"),
    Edit("GENERATE counted per line", "fem/files/abaqus/deck.py", "deck.generated += max(", "deck.generated = max(", f"{HOSTILE} -k generated"),
    # time
    Edit("steps without limit", TIMES, "if size is not None and duration > MOST_STEPS * size:", "if False:", f"{HOSTILE} -k 'steps or endless'"),
    Edit("the end is not stored", TIMES, "return duration * np.append(np.arange(0, steps, stride), steps) / steps", "return duration * np.arange(0, steps, stride) / steps", "tests/flexmb/simulation/test_simulation.py"),
    Edit("the heat of dampers is missing from the balance", LEDGER, "+ self.modal_heat + self.damper_heat + self.impacts -", "+ self.modal_heat + self.impacts -", "tests/flexmb/results/test_verdict.py tests/flexmb/simulation/test_simulation.py"),
    Edit("the work of loads has another sign", LEDGER, "- self.driver_work - self.load_work", "- self.driver_work + self.load_work", "tests/flexmb/results/test_verdict.py tests/flexmb/simulation/test_simulation.py"),
    Edit("blocks of steps overlap", "flexmb/integrators/alpha_run.py", "self._advance(h, min(LONGEST_RUN, steps - first))", "self._advance(h, min(LONGEST_RUN, steps))", f"{HOSTILE} -k many_steps"),
    # studies
    Edit("a checkpoint has two users", "flexmb/study/kept.py", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", f"{FAULTS} -k two_studies"),
    Edit("damaged rows are believed", "flexmb/study/kept.py", 'if row.pop("check") == _check(row) and', 'if row.pop("check") and', KEPT),
    Edit("workers have all threads", "flexmb/study/workers.py", "with threadpool_limits(1):", "with threadpool_limits(None):", f"{FAULTS} -k one_thread", equivalent="the environment of the processes of this machine limits their libraries already; the limit serves executors of users"),
    Edit("modules of the user are not sent", "flexmb/study/workers.py", "            with _by_value(_own_modules()):", "            with _by_value([]):", f"{FAULTS} -k modules_beside"),
    Edit("solutions in use are removed", "fem/linear_algebra/factorisations/solution_cache.py", "fcntl.LOCK_SH | fcntl.LOCK_NB", "fcntl.LOCK_UN", f"{FAULTS} -k another_process"),
    Edit("damaged solutions are believed", "fem/linear_algebra/factorisations/solution_cache.py", "with suppress(OSError, ValueError, EOFError):", "with suppress(OSError):", f"{FAULTS} -k damaged_solutions"),
    # physics
    Edit("third branch of the quaternion", ALGEBRA, "axis = (R[2], R[5], R[8] + 1.0)", "axis = (R[2], R[5], R[8] - 1.0)", "tests/flexmb/spatial/test_half_turns.py"),
    Edit("the envelope of stresses is that of the last piece", "flexmb/results/stress.py", "np.maximum(envelope, found.max(axis=1), out=envelope)", "envelope[:] = found.max(axis=1)", "tests/flexmb/results/test_stress.py -k envelope"),
    Edit("modes carry any mass", SOUND, "carried.max(initial=0.0) < 1 + DEFINITE", "carried.max(initial=0.0) < 1e9", FILES),
    # elements of result files
    Edit("rows of elements anywhere", ELEMENTS, "own == tuple(range(own[0], own[0] + 6))", "len(own) > 0", f"{DAMAGED} -k 'rows of an element'"),
    Edit("numbers of contact laws of any sign", ELEMENTS, "p[k] > 0 or (k in NOT_NEGATIVE and p[k] == 0)", "True", f"{DAMAGED} -k 'stiffness or slip or exponent'"),
    Edit("markers of groups anywhere", ELEMENTS, 'require_index(k, 0, len(m.markers), f"a marker of {what}")\n    require_kinds(', 'k in m.markers\n    require_kinds(', f"{DAMAGED} -k 'marker of a group'"),
    Edit("any number of contact points", ELEMENTS, "contact.points == points_of_pair(a, b),", "True,", f"{DAMAGED} -k 'too many points'"),
    Edit("points of contacts in any mode", ELEMENTS, "np.isin(modes, range(OPEN, STICKS + 1)).all(),", "True,", f"{DAMAGED} -k 'no mode'"),
    Edit("friction of another joint", ELEMENTS, "len(own) == 1 and m.rows[own[0]].kind == expected and", "len(own) == 1 and", f"{DAMAGED} -k friction"),
    Edit("lines of bodies that are not there", ELEMENTS, 'require_index(line.body, 0, len(m.bodies), f"the body of {what}")', "pass", f"{DAMAGED} -k 'a line of'"),
    Edit("signals of markers that are not there", ELEMENTS, 'require_index(k, 0, len(m.markers), f"a marker of {what}")\n        for k in signal.axes:', 'pass\n        for k in signal.axes:', f"{DAMAGED} -k 'signal of'"),
    Edit("commands that are not there", ELEMENTS, 'require_index(signal.index, 0, count, f"the index of {what}")', "pass", f"{DAMAGED} -k 'no command'"),
    Edit("laws of the library of any size", CONTROLS, "        require_fit(library, law,", "        str((library, law),", f"{DAMAGED} -k 'library or linear or curve'"),
    Edit("linear laws of any size", FIT, "fits = count == 2 * nu + (nz + nu) * (nz + ni)", "fits = True", f"{DAMAGED} -k fit"),
    Edit("PID laws without their filter", FIT, "fits = values[_FILTER] > 0 or values[_KD] == 0", "fits = True", f"{DAMAGED} -k filters"),
    Edit("PID laws with a filter that is not theirs", FIT, "fits = values[_FILTER] == 0", "fits = True", f"{DAMAGED} -k filters"),
    Edit("curves of any size", FIT, "fits = (ni, nu, nz) == (1, 1, 0) and count == 5 * len(points) - 4", "fits = True", f"{DAMAGED} -k fit"),
    # samples
    Edit("between samples the end of the step", SAMPLING, "return self._whole(self._run.to(target)) if target > self._began else self.now()", "self._run.to(target)\n        return self.now()", f"{BETWEEN} -k radau"),
    Edit("states of samples are rounded", SAMPLING, "states=np.where(self._own, self._held, s.states))", "states=s.states)", f"{BETWEEN} -k bdf"),
    Edit("the work before the last sample is lost", SAMPLING, "s._replace(work=s.work + self._work, states=", "s._replace(work=s.work, states=", "tests/flexmb/controllers/test_controllers.py"),
    Edit("durations whose square vanishes", TIMES, "    if duration < SHORTEST:", "    if False:", f"{HOSTILE} -k vanishes"),
    Edit("formats of Harwell-Boeing files", "fem/files/ansys_matrices.py", "OverflowError, SyntaxError)", "OverflowError)", "tests/fem/test_foreign_matrices.py -k harwell"),
    Edit("workers watch their new parent", "flexmb/study/workers.py", 'return os.getppid() == client if os.name == "posix" else', "return", f"{FAULTS} -k killed_while"),
)  # fmt: skip
