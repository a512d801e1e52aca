"""The documentation site: `pip install ".[docs]"`, then `python -m sphinx -W docs build/site`. It needs no network."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import elsewhere  # noqa: E402
import pictures  # noqa: E402

about = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project, release = "flexmb", about["version"]
version = release
author = "The flexmb developers"
project_copyright = author

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "docstrings",
    "pages",
]
root_doc = "index"
exclude_patterns = [
    "_templates",
    "examples",
    "sg_execution_times.rst",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are kept with their output, which tests/whole/test_notebooks.py repeats
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings.py writes them into the tables of parameters
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 72
add_module_names = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
names_elsewhere = elsewhere.NAMES
intersphinx_mapping = elsewhere.write_inventories(HERE.parent / "build" / "inventories")
intersphinx_disabled_reftypes = ["std:doc"]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "subsection_order": [f"examples/{room}" for room in ("parts", "motion", "vibration", "studies")],
    "image_scrapers": ("matplotlib", pictures.written_pictures),
    "reset_modules": ("matplotlib", pictures.plain_warnings),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "nested_sections": False,
    "doc_module": ("fem", "reduction", "flexmb"),
    "backreferences_dir": "gallery/backreferences",
    "plot_gallery": True,
}

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
bibtex_default_style = "plain"

html_math_renderer = "katex"
html_theme = "pydata_sphinx_theme"
html_title = f"flexmb {release}"
html_static_path = ["_static"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": f"flexmb {release}"},
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
if "Repository" in about.get("urls", {}):
    html_theme_options["icon_links"] = [
        {"name": "Repository", "url": about["urls"]["Repository"], "icon": "fa-solid fa-code-branch"}
    ]

copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["config.cache"]
