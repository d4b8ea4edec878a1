# Cumulative link mixed models: ordinal::clmm.
#
# `start` is NULL, or list(thresholds and coefficients, lower Cholesky factors) as clmm takes it; `weights` is NULL or the
# name of a column.
fit_clmm <- function(formula, variables, bars, columns, link, threshold, nAGQ, start, weights) {
  data <- as_frame(columns)
  check_random(bars, variables, data, fewest_levels = 3)
  formula <- as_formula(formula)
  link <- name_of_link(link, formula)
  arguments <- c(list(formula = formula, data = quote(data), link = link, threshold = threshold, nAGQ = nAGQ),
                 if (!is.null(start)) list(start = start), if (!is.null(weights)) list(weights = as.name(weights)))
  stage("fit")
  fit <- do.call(ordinal::clmm, arguments)
  stage("inference")
  table <- coef(summary(fit))
  covariance <- tryCatch(vcov(fit), error = function(e) matrix(NaN, nrow(table), nrow(table)))
  diagonals <- unlist(lapply(fit$ST, diag))
  X <- model.matrix(fit$terms, fit$model)[, -1, drop = FALSE]
  estimates(
    table, NA, covariance, length(fit$alpha),
    dropped = setdiff(colnames(X), names(fit$beta)), rows = kept_rows(fit$model, nrow(data)), loglik = fit$logLik,
    edf = fit$edf, converged = fit$optRes$convergence == 0L && !anyNA(table),
    # ordinal itself leaves standard deviations below 1e-3 out of the Hessian, as lying on the boundary
    singular = any(diagonals < 1e-3), levels = fit$y.levels, cutpoints = as.vector(fit$Theta),
    max_gradient = max(abs(fit$gradient)), hessian_condition = condition_number(fit$Hessian),
    evaluations = fit$neval, random = clmm_random(fit), far_columns = far_columns(X),
    package = package("ordinal")
  )
}

# Columns whose size is out of proportion to the step of 1e-4 with which clmm takes differences (docs/models.md).
far_columns <- function(X) {
  size <- sqrt(colMeans(X^2))
  spread <- sqrt(colMeans(sweep(X, 2, colMeans(X))^2))
  names(which(size < 0.03 | size > 30 | size > 30 * spread))
}

# The names of the grouping factors are taken from gfList: where all factors have equally many levels, the names of
# VarCorr and ST are in reverse order in ordinal 2022.11-16.
clmm_random <- function(fit) {
  factor_of <- attr(fit$gfList, "assign")
  size <- fit$dims$nlev.re * fit$dims$qi
  last <- cumsum(size)
  variance <- as.matrix(fit$condVar)
  variance <- if (ncol(variance) > 1) diag(variance) else as.vector(variance)
  modes <- as.vector(fit$ranef)
  lapply(seq_along(fit$ST), function(i) {
    here <- seq(last[i] - size[i] + 1, last[i])
    levels <- levels(fit$gfList[[factor_of[i]]])
    random_term(names(fit$gfList)[factor_of[i]], colnames(fit$ST[[i]]), levels, tcrossprod(fit$ST[[i]]),
                modes[here], sqrt(variance[here]))
  })
}
