"""Fenster: document-level neural machine translation with window attention."""

from importlib.metadata import version

from fenster.document import Document, ParallelDocument, Segment
from fenster.errors import FensterError

__version__ = version("fenster")
__all__ = ["Document", "FensterError", "ParallelDocument", "Segment", "__version__"]
