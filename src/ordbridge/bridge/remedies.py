"""What to type when R, one of its packages or rpy2 is missing or does not fit."""

from __future__ import annotations

import re
import shutil

PACKAGES = ("ordinal", "lmerTest", "lme4", "emmeans", "pbkrtest")

APT = "sudo apt-get install r-base-core r-cran-ordinal r-cran-lmertest r-cran-emmeans r-cran-pbkrtest"
CONDA = "conda install -c conda-forge r-base r-ordinal r-lmertest r-emmeans r-pbkrtest"
MACOS = 'brew install r, then in R: install.packages(c("ordinal", "lmerTest", "emmeans", "pbkrtest"))'
RPY2 = "pip install --force-reinstall --no-deps rpy2==3.6.6 rpy2-rinterface==3.6.5"
NEWEST_RPY2 = "pip install --force-reinstall --no-deps rpy2==3.6.7 rpy2-rinterface==3.6.7"
# Which rpy2-rinterface has fitted models on which R: on Debian 12, 13 and testing (docs/howto/install.md).
OLDEST_R = (4, 2)
NEWEST_R = (4, 6)
OLDEST_RINTERFACE = (3, 6)
NEEDS_R_4_5 = (3, 6, 6)
WITHOUT_R = 'everything but engine="r" works without it: engine="fast", designs, plans, reliability, reports'


def for_packages() -> str:
    """Return the commands that install R and its packages, for apt, conda and macOS."""
    return f"{APT} (Debian, Ubuntu); {CONDA} (conda); {MACOS} (macOS)"


def no_r() -> str:
    """Say that there is no R, how to get it, and what works without."""
    return f"there is no R on this machine; install it: {for_packages()}; {WITHOUT_R}"


def version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparing; nothing is before everything.

    Examples
    --------
    >>> version("3.6.5"), version("4.5.0 Patched"), version("")
    ((3, 6, 5), (4, 5, 0), (0,))
    """
    numbers = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else (0,)


def for_versions(rinterface: str, r: str) -> str:
    """Say why this rpy2-rinterface does not run on this R, and what to type; nothing where it does.

    Examples
    --------
    >>> for_versions("3.6.7", "4.2.2")
    'rpy2-rinterface 3.6.7 needs R 4.5 or later, and this is R 4.2.2; type: pip install ...'
    >>> for_versions("3.6.5", "4.6.1")
    ''
    """
    if version(r) < OLDEST_R:
        return f"R 4.2 or later is needed, and this is R {r}; install it: {for_packages()}"
    if version(rinterface) < OLDEST_RINTERFACE:
        return f"rpy2-rinterface 3.6.0 or later is needed, and this is {rinterface}; type: {RPY2}"
    if version(rinterface) >= NEEDS_R_4_5 and version(r) < (4, 5):
        return f"rpy2-rinterface {rinterface} needs R 4.5 or later, and this is R {r}; type: {RPY2}"
    return ""


def for_start(rinterface: str, r: str) -> str:
    """Say what to try where the versions should fit, or have never been tried, and yet R does not start."""
    if version(r)[:2] > NEWEST_R and version(rinterface) < NEEDS_R_4_5:
        return f"R {r} is newer than any that rpy2-rinterface {rinterface} was tried with; type: {NEWEST_RPY2}"
    return f"install rpy2 again, for this R: {RPY2}"


def explain(error: BaseException) -> str:
    """Say in a sentence why rpy2 could not start R, and what to type.

    Examples
    --------
    >>> explain(OSError("undefined symbol: R_getVar"))
    'this rpy2-rinterface needs R 4.5 or later and the R here is older; install the one that fits: pip install ...'
    """
    text = str(error)
    if "R_getVar" in text:
        return f"this rpy2-rinterface needs R 4.5 or later and the R here is older; install the one that fits: {RPY2}"
    if isinstance(error, ModuleNotFoundError) and "rpy2" in text:
        return f"rpy2 is not installed; install it: {RPY2}"
    if shutil.which("R") is None:
        return no_r()
    return f"rpy2 could not start R ({text}); see what is wrong with: ordbridge doctor"
