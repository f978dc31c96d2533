"""Many results in one page: the paper's tables with our figures, tests between systems, plots and examples."""

from fenster.evaluate.report.collect import Collection, collect
from fenster.evaluate.report.page import write_report

__all__ = ["Collection", "collect", "write_report"]
