"""The studies, and how all example files are written into a folder."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ordbridge.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

STUDIES = {
    "summaries": "4 systems on a scale from 1 to 5: 8 workers, 40 documents, 640 ratings",
    "judged": "people's ratings of the first 20 documents, a model's of all 40: 480 ratings",
    "dialogue": "3 systems on two sliders from 0 to 100: 10 people, 24 contexts, 720 ratings",
    "preferences": "3 systems in pairs, ties allowed: 6 judges, 40 prompts, 240 comparisons",
}
"""What is in each of the studies."""


def summaries() -> pd.DataFrame:
    """Return a study of summaries on a 5-point scale: four systems, 40 documents, 8 workers, 640 ratings.

    Each document was rated by 4 of the 8 workers, who saw all four systems. Worker ``w08`` is stricter than the others.

    **Provenance**: simulated from a cumulative probit model by ``benchmarks/make_datasets.py``; nobody rated anything,
    and the names of the systems are only names. The truth is human > abstractive > extractive > lead. Ordbridge's
    licence.

    Returns
    -------
    pandas.DataFrame
        worker_id, doc, system, rating.

    Examples
    --------
    >>> import ordbridge as ob
    >>> study = ob.datasets.summaries()
    >>> study.shape, list(study.columns)
    ((640, 4), ['worker_id', 'doc', 'system', 'rating'])
    """
    return _study("summaries")


def judged() -> pd.DataFrame:
    """Return the ratings of the first 20 documents in :func:`summaries`, and those of a judge for all 40 documents.

    **Provenance**: simulated by ``benchmarks/make_datasets.py`` from the means of people's ratings; no model was asked.
    The judge favours abstractive summaries by half a point. Ordbridge's licence.

    Returns
    -------
    pandas.DataFrame
        worker_id, doc, system, rating, kind (``human`` or ``judge``).

    Examples
    --------
    >>> import ordbridge as ob
    >>> ob.datasets.judged()["kind"].value_counts().to_dict()
    {'human': 320, 'judge': 160}
    """
    return _study("judged")


def dialogue() -> pd.DataFrame:
    """Return a study of replies with sliders: three systems, fluency and relevance, 24 contexts, 10 people.

    Each context was rated by 5 of the 10 people, who saw all three systems; 720 ratings from 0 to 100.

    **Provenance**: simulated from a linear model, cut off at 0 and 100, by ``benchmarks/make_datasets.py``. The truth:
    neural and retrieval are about equally fluent, retrieval is least relevant. Ordbridge's licence.

    Returns
    -------
    pandas.DataFrame
        participant, item, system, fluency, relevance.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ob.datasets.dialogue().groupby("system")["relevance"].mean().round().to_dict()
    {'neural': 77.0, 'retrieval': 53.0, 'rules': 69.0}
    """
    return _study("dialogue")


def preferences() -> pd.DataFrame:
    """Return comparisons of two texts: three systems, 40 prompts, 6 judges, 240 comparisons, some of them ties.

    **Provenance**: simulated from a Bradley–Terry model with ties, tastes of judges and an advantage of what stands
    first, by ``benchmarks/make_datasets.py``. The truth is large > medium > small. Ordbridge's licence.

    Returns
    -------
    pandas.DataFrame
        judge, prompt, system_a, system_b, winner (a system, or ``tie``).

    Examples
    --------
    >>> import ordbridge as ob
    >>> ob.datasets.preferences()["winner"].value_counts().to_dict()["small"] < 60
    True
    """
    return _study("preferences")


def path(name: str) -> Path:
    """Return the CSV file of a study, which comes with the package.

    Parameters
    ----------
    name
        ``"summaries"``, ``"judged"``, ``"dialogue"`` or ``"preferences"``.

    Examples
    --------
    >>> path("summaries").name
    'summaries.csv'
    """
    if name not in STUDIES:
        raise InputError(f"there is no dataset {name!r}; there are {', '.join(STUDIES)}")
    return Path(__file__).parent / f"{name}.csv"


def write(folder: str | PathLike[str]) -> list[Path]:
    """Write these studies, and one more in the nine kinds of file of the tutorial, into a folder.

    Files of these names that are there already are written again. The workbook needs openpyxl, and is left out without.

    Parameters
    ----------
    folder
        Is made where it is missing.

    Returns
    -------
    list of pathlib.Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write(folder)
    >>> [file.name for file in files][:3]
    ['summaries.csv', 'judged.csv', 'dialogue.csv']
    """
    from ordbridge.datasets import formats

    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; name a folder")
    target.mkdir(parents=True, exist_ok=True)
    written = [Path(shutil.copy(path(name), target / f"{name}.csv")) for name in STUDIES]
    without = () if find_spec("openpyxl") else ("workbook",)
    for file, options in formats.write_all(target, without).values():
        written += [file, *(Path(word) for word in options if not word.startswith("-"))]
    return written


def _study(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(path(name))
