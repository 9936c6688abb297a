"""The documentation site: `make docs`."""

import builtins
import sys
from pathlib import Path
from typing import Any

import rnnlens

sys.path.insert(0, str(Path(__file__).parent))  # the directives that are ours

project, author = "rnnlens", "The rnnlens developers"
project_copyright = author
version = release = rnnlens.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "_commands", "_lens"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
highlight_language = "text"
smartquotes = False  # they would make -- of a flag a dash
default_role = "literal"  # docstrings have `code` in single backticks

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
nitpicky = True
# Types of others have no page here: builtins and what other packages define.
_OTHERS = "annotated_types|collections|contextlib|numpy|pathlib|torch|matplotlib|pandas|re|typing"
# Nor have the contracts of docs/architecture.md, which stand behind what people import.
_BEHIND = "reading.reading.Reading|reading.encoding.Palette"
nitpick_ignore_regex = [("py:.*", rf"({_OTHERS})\..*"), ("py:.*", rf"rnnlens\.({_BEHIND})")]
nitpick_ignore = [
    ("py:class", name)
    for name in (*dir(builtins), "Path", "Figure", "Tensor", "pd.DataFrame", "pa.Table")
]
# Made by the package, or described by their fields: their constructors say nothing more.
_MADE = set(
    "UserModel Sentence Lens Grid States State Score Trace Readout Kind Edge ByKind Comparison "
    "Continued Written Followed Turns Turn TurnRow Decision Ablated Used Against Stateful "
    "Disagreement DisagreedSentence End Found Hit Said Near Evaluation Memory Observer "
    "Lab Accuracy Published SuiteAccuracy ByParadigm KindValue Scored UnitEffect Units UnitTrace "
    "Direction Directions Erased Erasures HalfLives KindLife UnitLives Formula Item Suite".split()
)

html_theme = "furo"
html_title = f"rnnlens {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def _without_constructor(
    _app: Any, what: str, name: str, _obj: Any, _options: Any, signature: Any, returned: Any
) -> tuple[Any, Any]:
    """Classes that users are given have no signature."""
    made = what == "class" and name.rpartition(".")[2] in _MADE
    return ("", None) if made else (signature, returned)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _without_constructor)
