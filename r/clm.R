# Cumulative link models: ordinal::clm.
#
# `scale` and `nominal` are NULL or one-sided formulas as text, `weights` NULL or the name of a column; an offset is a term
# of the formula, as ordinal wants it.
fit_clm <- function(formula, columns, link, threshold, scale, nominal, weights) {
  data <- as_frame(columns)
  arguments <- c(list(formula = as_formula(formula), data = quote(data), link = link, threshold = threshold),
                 if (!is.null(scale)) list(scale = as_formula(scale)),
                 if (!is.null(nominal)) list(nominal = as_formula(nominal)),
                 if (!is.null(weights)) list(weights = as.name(weights)))
  stage("fit")
  fit <- do.call(ordinal::clm, arguments)
  stage("inference")
  table <- coef(summary(fit))
  dropped <- is.na(coef(fit))
  own <- ncol(fit$tJac)
  kept <- vapply(fit$aliased[c("alpha", "beta", "zeta")], function(aliased) sum(!as.logical(aliased)), 0)
  alpha <- matrix(fit$alpha[!is.na(fit$alpha)], ncol = own, byrow = TRUE)
  estimates(
    table[!dropped, , drop = FALSE], NA, vcov(fit), own, n_nominal = kept[[1]] - own, n_scale = kept[[3]],
    dropped = names(which(dropped)), rows = kept_rows(fit$model, nrow(data)), loglik = fit$logLik, edf = fit$edf,
    converged = fit$convergence$code == 0L, invalid = any(fit$convergence$code < 0L), singular = FALSE,
    levels = fit$y.levels, cutpoints = as.vector(t(alpha %*% t(fit$tJac))), max_gradient = fit$maxGradient,
    hessian_condition = fit$cond.H, evaluations = fit$niter[["outer"]], random = list(), package = package("ordinal")
  )
}
