"""Studies to try things with, and files of every kind: all simulated, so that anybody may use and pass them on.

``benchmarks/make_datasets.py`` made them and has the truth that an analysis should find again. They are under
ordbridge's licence. Published ratings that can be downloaded are in :mod:`ordbridge.reading.published`.
"""

from ordbridge.datasets.studies import STUDIES, dialogue, judged, path, preferences, summaries, write

__all__ = ["STUDIES", "dialogue", "judged", "path", "preferences", "summaries", "write"]
