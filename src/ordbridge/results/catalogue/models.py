"""Findings about fits, tests and intervals."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

MERGE = "Use a linear model, fewer random effects, or merge rare categories."
KINDS: dict[str, FindingKind] = {
    # what R says, in its own words
    "r-warning": FindingKind("warning", "{text}", about="A warning of R while it fitted."),
    "r-message": FindingKind("note", "{text}", about="A message of R while it fitted."),
    # the native engine; where R has a message for the same thing, the sentence is R's
    "rating-gap": FindingKind("note", "no {response} is {gaps}: the categories beside it are treated as neighbours"),
    "hessian-not-a-number": FindingKind(
        "warning", "Model failed to converge: its Hessian is not a number - Rescale variables?"
    ),
    "hessian-degenerate": FindingKind(
        "warning", "Model failed to converge: degenerate Hessian with {n} negative eigenvalues"
    ),
    "gradient-too-large": FindingKind(
        "warning", "Model failed to converge with max|grad| = {gradient:g} (tol = 1e-06)"
    ),
    "thresholds-not-increasing": FindingKind("warning", "not all thresholds are increasing: fit is invalid"),
    "hessian-singular": FindingKind(
        "warning", "Hessian is numerically singular: parameters are not uniquely determined"
    ),
    "large-eigenvalue": FindingKind(
        "warning", "Model is nearly unidentifiable: very large eigenvalue - Rescale variables?"
    ),
    "large-eigenvalue-ratio": FindingKind(
        "warning", "Model is nearly unidentifiable: large eigenvalue ratio - Rescale variables?"
    ),
    "separated": FindingKind("warning", "estimates run away: {level} {how} {rating}(a likelihood without a maximum)"),
    "separated-somewhere": FindingKind(
        "warning", "estimates run away: some categories or levels are separated (a likelihood without a maximum)"
    ),
    "category-never-given": FindingKind(
        "warning",
        "estimates run away: {level} is never rated {categories}, so that its thresholds beside it have no estimate "
        "(a likelihood without a maximum)",
    ),
    "sd-at-zero": FindingKind(
        "note",
        "boundary (singular) fit: {n:of standard deviation} estimated at zero and left out of the Hessian, as "
        "ordinal does",
    ),
    "perfectly-correlated": FindingKind("note", "boundary (singular) fit: random effects are perfectly correlated"),
    "singular": FindingKind("note", "boundary (singular) fit: see help('isSingular')"),
    "not-identified": FindingKind(
        "warning",
        "the data do not identify the model: some combination of the random effects' variances and correlations "
        "leaves the likelihood unchanged.",
        "Simplify the random effects.",
    ),
    "flat-covariances": FindingKind("note", "{n:of direction} of the random effects' covariances cannot be determined"),
    "hessian-not-definite": FindingKind(
        "warning", "the Hessian is not positive definite: standard errors are not to be trusted"
    ),
    "optimiser-failed": FindingKind("warning", "the optimiser did not converge: max|gradient| = {gradient:.2g}"),
    "unsettled-optimum": FindingKind(
        "warning",
        "from another start the search reached a log likelihood of {loglik:.2f} and did not converge: random effects "
        "have no clear mode there.",
        "Use fewer random effects or another link.",
    ),
    "perfect-fit": FindingKind("warning", "essentially perfect fit: summary may be unreliable"),
    "lmer-not-converged": FindingKind("warning", "Model failed to converge with max|grad| = {gradient:g}"),
    "df-unknown": FindingKind(
        "warning", "the degrees of freedom cannot be computed: the deviance is flat in the variances"
    ),
    "intercept-assumed": FindingKind("warning", "an intercept is needed and assumed{where}"),
    "columns-dropped": FindingKind("note", "{text}", about="Aliased columns were dropped, in R's words."),
    # doubts about a fit
    "other-start": FindingKind(
        "note",
        "the optimum of the native engine may be a better start.",
        "Give `start` as fast.",
    ),
    "no-residual-df": FindingKind(
        "warning", "there are as many coefficients as rows: nothing is left for standard errors and tests"
    ),
    "no-standard-error": FindingKind(
        "warning", "some standard errors cannot be computed: the data do not determine these coefficients"
    ),
    "no-likelihood": FindingKind(
        "warning", "the log likelihood is not a number: the model explains the response completely"
    ),
    "laplace-fails": FindingKind(
        "warning",
        "the Laplace approximation does not hold for {off} of the {levels} levels of {group} (standard deviation "
        "{sd:.2g}). Ratings within a level agree too much, or a category is too rare. Estimates and p-values are "
        "wrong with either engine.",
        MERGE,
    ),
    "quadrature-fails": FindingKind(
        "warning",
        "quadrature with {nAGQ} points is off by {error:+.2g} in log likelihood, because ratings within a level of "
        "{group} agree too much (standard deviation {sd:.2g}). Estimates and p-values may be wrong.",
        "Use more points, lmer, or merge rare categories.",
    ),
    "few-levels": FindingKind(
        "note",
        "{who}: the Wald test rejects a true null {how}.",
        "Use `method` bootstrap.",
        about="Too few raters or items for the Wald test that R prints.",
    ),
    "r-stopped-short": FindingKind(
        "warning",
        "R's search stopped at a log likelihood of {loglik:.2f}, where {better:.2f} can be reached: these are not the "
        "maximum likelihood estimates{which}.",
        "Use the native engine.",
    ),
    "r-standard-error": FindingKind(
        "warning",
        "R's standard error of {term}, {theirs:.4g}, is not accurate: the native engine finds {ours:.4g}.",
        "{cause}",
    ),
    "r-standard-error-unchecked": FindingKind(
        "warning",
        "{columns} is on a scale on which R's standard errors can be wrong, and they could not be checked ({reason}).",
        "Subtract the mean and divide by the standard deviation.",
    ),
    "not-converged": FindingKind(
        "error",
        "the fit did not converge: do not trust its numbers.",
        "Leave out random slopes, merge rare categories, or let R start at the native optimum (`start`).",
    ),
    "fit-singular": FindingKind("note", "the fit is singular: a variance is estimated at zero or a correlation at ±1"),
    "rows-dropped": FindingKind("note", "{n:of row} with missing values left out"),
    "aliased": FindingKind("note", "aliased and dropped: {columns}"),
    # tests and intervals
    "refitted-natively": FindingKind("note", "the model was fitted again by the native engine, as all others are"),
    "other-optimum": FindingKind(
        "warning",
        "the native log likelihood is {loglik:.4f} where the fit has {other:.4f}: they are different optima, and this "
        "is about the native one",
    ),
    "draws-failed": FindingKind("note", "{failed} of {draws} draws could not be fitted and are not counted"),
    "stopped-early": FindingKind(
        "note", "stopped after {done} of {draws} draws: p could no longer fall to {level:g}, whatever the others"
    ),
    "native-not-converged": FindingKind("warning", "a native fit of the data did not converge"),
    "smaller-not-converged": FindingKind("warning", "the smaller model did not converge"),
    "no-end": FindingKind("note", "the likelihood of {term} does not fall far enough: the interval has no end"),
    "interactions-left-out": FindingKind(
        "note", "{term} takes part in {higher}, which is left out with it: the test is about all of them"
    ),
    "nominal-tested": FindingKind(
        "note", "{terms} moves every threshold on its own: the test is that it moves none of them"
    ),
    "scale-stays": FindingKind("note", "the scale effects of {terms} stay in both models"),
    "z-instead-of-t": FindingKind(
        "warning", "Satterthwaite's degrees of freedom could not be computed: these are z tests"
    ),
    "means-over-interaction": FindingKind(
        "warning",
        "{factor} interacts with {others}: averages over it may mislead.",
        "Give the other factors as `by`.",
    ),
    "emmeans": FindingKind("note", "{text}", about="A message of R's emmeans."),
}
