"""The site: ``sphinx-build -W docs site`` makes it.

Sphinx, because the reference comes from docstrings with links between them, and its search needs no server; MyST,
because the pages are Markdown that reads well without a build and that the tests run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Pullback"
author = copyright = "The Pullback authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "gallery",
    "notebooks",
    "playground",
    "reference",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_ext", "_built", "gallery", "playground"]
suppress_warnings = ["ref.python"]  # several classes have an attribute `shape`
autodoc_typehints = "none"
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True
default_role = "code"
add_module_names = False

html_theme = "furo"
html_title = "Pullback"
html_static_path = ["_static"]
html_extra_path = ["_built"]
html_copy_source = False
html_css_files = ["site.css"]
