"""How Sphinx builds these pages: ``make docs``."""

from importlib.metadata import version as installed_version

project = "omhash"
author = "the omhash authors"
release = version = installed_version("omhash")

extensions = [
    "myst_parser",
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build/html"]

# One generated page a module, so that no list of modules can fall behind.
apidoc_modules = [
    {
        "path": "../src/omhash",
        "destination": "_build/api",
        # Bodies of requests, which the service's own documentation tells of.
        "exclude_patterns": ["../src/omhash/service/schemas.py"],
        "separate_modules": True,
        "module_first": True,
        "automodule_options": ["members", "show-inheritance"],
    }
]

html_theme = "furo"
html_title = f"omhash {version}"

autodoc_default_options = {
    # scikit-learn adds this method, and its text refers to pages of scikit-learn.
    "exclude-members": "set_partial_fit_request",
    # A name that a package passes on is described where it is defined, once.
    "ignore-module-all": True,
}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_ivar = True  # or a dataclass's attributes are described twice
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
