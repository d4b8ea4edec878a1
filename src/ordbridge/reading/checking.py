"""What is wrong with these ratings, before any model."""

from __future__ import annotations

from typing import Any

from ordbridge.reading.api import read
from ordbridge.reading.check_result import Checks
from ordbridge.reading.coded_ratings import study_of
from ordbridge.reading.flaws import design_flaws, label_flaws, people_flaws, scale_flaws
from ordbridge.results.finding import worst_first

__all__ = ["check"]


def check(data: Any, **reading: Any) -> Checks:
    """Say what is wrong with ratings, before any model.

    Looked for are, among others, duplicated ratings, codes outside the scale, names that differ by case or blanks, one
    system only, items under one system only, participants with constant, alternating, reversed or too fast answers,
    unused categories, criteria in one column, parts without a link, floor and ceiling, separation, too few raters. How
    often clean data raise an alarm, and that every planted flaw is found, is in ``docs/howto/check.md``.

    Parameters
    ----------
    data
        Ratings as :func:`read` returns them, or anything that it takes.
    **reading
        What :func:`read` takes, where ``data`` is not read yet: ``participant``, ``rating``, ``levels``, ``scale``.

    Returns
    -------
    Checks
        Errors make an analysis wrong, warnings may, notes are good to know.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = [f"p{n}" for n in range(12)]
    >>> ratings = [{"participant": p, "item": f"i{k}", "system": "AB"[(n + k) % 2], "rating": 1 + (n * 7 + k * 3) % 5}
    ...            for n, p in enumerate(people) for k in range(12)]
    >>> ratings[5]["rating"] = 99
    >>> found = check(pa.Table.from_pylist(ratings))
    >>> found.errors, found.table["what"][0].as_py(), found.table["rows"][0].as_py()
    (True, '1 rating outside the scale 1 to 5: 99', '6')
    """
    ratings = read(data, **reading)
    study = study_of(ratings)
    found = [*ratings.flaws]
    for flaws in (scale_flaws, label_flaws, design_flaws, people_flaws):
        found += flaws(study)
    return Checks(worst_first(found), ratings)
