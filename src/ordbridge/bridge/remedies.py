"""What to type when R, one of its packages or rpy2 is missing or does not fit."""

from __future__ import annotations

import shutil

__all__ = ["PACKAGES", "explain", "for_packages"]

PACKAGES = ("ordinal", "lmerTest", "lme4", "emmeans", "pbkrtest")

APT = "sudo apt-get install r-base-core r-cran-ordinal r-cran-lmertest r-cran-emmeans r-cran-pbkrtest"
CONDA = "conda install -c conda-forge r-base r-ordinal r-lmertest r-emmeans r-pbkrtest"
MACOS = 'brew install r, then in R: install.packages(c("ordinal", "lmerTest", "emmeans", "pbkrtest"))'
RPY2 = "pip install --force-reinstall --no-deps rpy2==3.6.6 rpy2-rinterface==3.6.5"


def for_packages() -> str:
    """Return the commands that install R and its packages, for apt, conda and macOS."""
    return f"{APT} (Debian, Ubuntu); {CONDA} (conda); {MACOS} (macOS)"


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
        return f"there is no R on this machine; install it: {for_packages()}"
    return f"rpy2 could not start R ({text}); see what is wrong with: ordbridge doctor"
