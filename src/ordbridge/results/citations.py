"""References in full, for methods paragraphs and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ordbridge import __version__

AMIDEI = (
    "Amidei, J., Piwek, P. & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human "
    "evaluation reliability. INLG 2019, 344–354."
)
BELZ = (
    "Belz, A. & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, "
    "230–235."
)
BRENNAN = "Brennan, R. L. (2001). Generalizability Theory. Springer."
ZOU = "Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods 12, 399–413."
CLOPPER = (
    "Clopper, C. J. & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the "
    "binomial. Biometrika 26, 404–413."
)
MCCULLAGH = (
    "McCullagh, P. (1980). Regression Models for Ordinal Data. Journal of the Royal Statistical Society B 42, 109–142."
)
JUDGES = {
    "alternative": "Calderon, N., Reichart, R. & Dror, R. (2025). The Alternative Annotator Test for LLM-as-a-Judge: "
    "How to Statistically Justify Replacing Human Annotators with LLMs. ACL 2025, 16051–16081.",
    "estimates": "Angelopoulos, A. N., Duchi, J. C. & Zrnic, T. (2023). PPI++: Efficient Prediction-Powered Inference. "
    "arXiv:2311.01453.",
}
SOFTWARE = {
    "ordinal": "Christensen, R. H. B. ordinal: Regression Models for Ordinal Data. R package version {version}. "
    "https://CRAN.R-project.org/package=ordinal",
    "lmerTest": "Kuznetsova, A., Brockhoff, P. B. & Christensen, R. H. B. (2017). lmerTest Package: Tests in Linear "
    "Mixed Effects Models. Journal of Statistical Software 82(13), 1–26, version {version}.",
    "R": "R Core Team. R: A Language and Environment for Statistical Computing, version {version}. "
    "https://www.R-project.org/",
}
COEFFICIENTS = {
    "Cohen's κ": "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological "
    "Measurement 20, 37–46.",
    "Cohen's κ, ": "Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled disagreement "
    "or partial credit. Psychological Bulletin 70, 213–220.",
    "Fleiss' κ": "Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin "
    "76, 378–382.",
    "Conger's κ": "Conger, A. J. (1980). Integration and generalization of kappas for multiple raters. Psychological "
    "Bulletin 88, 322–328.",
    "Davies & Fleiss' κ": "Davies, M. & Fleiss, J. L. (1982). Measuring agreement for multinomial data. Biometrics 38, "
    "1047–1051.",
    "Gwet's AC": "Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high "
    "agreement. British Journal of Mathematical and Statistical Psychology 61, 29–48.",
    "Krippendorff's α": "Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of "
    "Pennsylvania.",
    "Goodman & Kruskal's γ": "Goodman, L. A. & Kruskal, W. H. (1954). Measures of association for cross "
    "classifications. Journal of the American Statistical Association 49, 732–764.",
    "Kendall's τ-b": "Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33, 239–251.",
    "Spearman's ρ": "Spearman, C. (1904). The proof and measurement of association between two things. American "
    "Journal of Psychology 15, 72–101.",
    "Kendall's W": "Kendall, M. G. & Babington Smith, B. (1939). The problem of m rankings. Annals of Mathematical "
    "Statistics 10, 275–287.",
    "Cronbach's α": "Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika 16, "
    "297–334.",
    "Pearson's r": "Pearson, K. (1895). Note on regression and inheritance in the case of two parents. Proceedings of "
    "the Royal Society of London 58, 240–242.",
    "ICC": "Shrout, P. E. & Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater reliability. "
    "Psychological Bulletin 86, 420–428.",
}


def software(versions: Mapping[str, str], engine: str) -> str:
    """Say which software fitted, with its versions.

    Examples
    --------
    >>> software({"R": "4.2.2", "ordinal": "2022.11.16"}, "r").partition(",")[0]
    'ordinal 2022.11.16 in R 4.2.2'
    """
    if engine == "fast":
        return f"the native engine of ordbridge {__version__}"
    if not versions:  # a run without any fit yet
        return f"R through ordbridge {__version__}"
    packages = " and ".join(f"{name} {number}" for name, number in versions.items() if name != "R")
    return f"{packages} in R {versions['R']}, through ordbridge {__version__}"


def of_software(versions: Mapping[str, str]) -> list[str]:
    """Return the references of R and its packages, with the versions that were used.

    Examples
    --------
    >>> of_software({"R": "4.2.2"})[0][-41:]
    'version 4.2.2. https://www.R-project.org/'
    """
    return [text.format(version=versions[name]) for name, text in SOFTWARE.items() if name in versions]


def of_coefficients(names: Iterable[str]) -> list[str]:
    """Return the references of coefficients of agreement and correlation, each once, by their names in tables.

    Examples
    --------
    >>> [text[:20] for text in of_coefficients(["Cohen's κ", "Cohen's κ, linear weights"])]
    ['Cohen, J. (1960). A ', 'Cohen, J. (1968). We']
    """
    longest = [max((start for start in COEFFICIENTS if name.startswith(start)), key=len, default="") for name in names]
    return [COEFFICIENTS[start] for start in dict.fromkeys(longest) if start]


def of_judges(result: Any) -> list[str]:
    """Return the references of the parts that an analysis of a judge has."""
    return [reference for part, reference in JUDGES.items() if getattr(result, part) is not None]
