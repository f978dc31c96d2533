"""Fenster: document-level neural machine translation with window attention."""

from fenster.document import Document, ParallelDocument, Segment
from fenster.errors import FensterError

__version__ = "0.1.0"
__all__ = ["Document", "FensterError", "ParallelDocument", "Segment", "__version__"]
