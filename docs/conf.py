"""How the site is built: `python3 dev.py docs`."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "benchmarks"), str(HERE)]
# Examples and commands draw to files, and matrices here are small.
os.environ["MPLBACKEND"] = "agg"
# The same pictures wherever the site is built.
os.environ.pop("COUNTERPOISE_DATA", None)
for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

from make_pictures import make_pictures  # noqa: E402
from reading_order import SECTIONS, by_reading_order  # noqa: E402

import counterpoise  # noqa: E402

project = "counterpoise"
author = "The counterpoise developers"
copyright = author
release = version = counterpoise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    # Of this folder:
    "command_line",
    "linked_names",
    "mathml",
    "plain_docstrings",
    "reference_pages",
    "results_page",
    "shown_output",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results", "gallery/**/*.ipynb", "gallery/**/*.py"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
default_role = "code"
# Two hyphens are an option, and straight quotes can be copied.
smartquotes = False

# What numpydoc would list of a class, `reference_pages` does.
numpydoc_show_class_members = False
autodoc_typehints = "none"
# Beside the page of a class its methods go without the name of the class.
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"counterpoise {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
# A page opened from disk may not fetch others to quote them.
html_show_search_summary = False
html_show_sourcelink = False
html_copy_source = False
# The gallery is its own way around; the theme cannot name what folds in its sidebar.
# Pages that have none below them would have an empty one.
_ALONE = [path.stem for path in HERE.glob("*.md")]
html_sidebars = {"gallery/**": [], **{name: [] for name in _ALONE}}
# The theme complains where nothing is said.
html_context = {"default_mode": "auto"}
html_theme_options = {
    "collapse_navigation": True,
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    # It starts a cluster and draws nothing: `scale` names it.
    "ignore_pattern": "boosting_on_dask",
    "subsection_order": SECTIONS,
    "within_subsection_order": by_reading_order,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "min_reported_time": 5,
    "matplotlib_animations": False,
    "doc_module": ("counterpoise",),
    "backreferences_dir": None,
}

copybutton_exclude = ".linenos, .gp, .go"


def setup(app):
    """Make the pictures of the pages before they are read."""
    app.connect("builder-inited", lambda _: make_pictures())
