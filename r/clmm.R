# Cumulative link mixed models: ordinal::clmm.
#
# `start` is NULL, or list(thresholds and coefficients, lower Cholesky factors) as clmm takes it.
fit_clmm <- function(formula, variables, bars, columns, link, threshold, nAGQ, start) {
  data <- as_frame(columns)
  check_random(bars, variables, data, fewest_levels = 3)
  formula <- as_formula(formula)
  stage("fit")
  fit <- if (is.null(start)) {
    ordinal::clmm(formula, data = data, link = link, threshold = threshold, nAGQ = nAGQ)
  } else {
    ordinal::clmm(formula, data = data, link = link, threshold = threshold, nAGQ = nAGQ, start = start)
  }
  stage("inference")
  table <- coef(summary(fit))
  covariance <- tryCatch(vcov(fit), error = function(e) matrix(NaN, nrow(table), nrow(table)))
  diagonals <- unlist(lapply(fit$ST, diag))
  all_columns <- colnames(model.matrix(fit$terms, fit$model))[-1]
  estimates(
    table, NA, covariance, length(fit$alpha),
    dropped = setdiff(all_columns, names(fit$beta)), rows = kept_rows(fit$model, nrow(data)), loglik = fit$logLik,
    edf = fit$edf, converged = fit$optRes$convergence == 0L && !anyNA(table),
    # ordinal itself leaves standard deviations below 1e-3 out of the Hessian, as lying on the boundary
    singular = any(diagonals < 1e-3), levels = fit$y.levels, cutpoints = as.vector(fit$Theta),
    max_gradient = max(abs(fit$gradient)), hessian_condition = condition_number(fit$Hessian),
    evaluations = fit$neval, random = clmm_random(fit), package = package("ordinal")
  )
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
