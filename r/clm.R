# Cumulative link models: ordinal::clm.
fit_clm <- function(formula, columns, link, threshold) {
  data <- as_frame(columns)
  formula <- as_formula(formula)
  stage("fit")
  fit <- ordinal::clm(formula, data = data, link = link, threshold = threshold)
  stage("inference")
  table <- coef(summary(fit))
  dropped <- is.na(coef(fit))
  estimates(
    table[!dropped, , drop = FALSE], NA, vcov(fit), length(fit$alpha),
    dropped = names(which(dropped)), rows = kept_rows(fit$model, nrow(data)), loglik = fit$logLik, edf = fit$edf,
    converged = fit$convergence$code == 0L, singular = FALSE, levels = fit$y.levels,
    cutpoints = as.vector(as.matrix(fit$Theta)), max_gradient = fit$maxGradient,
    hessian_condition = fit$cond.H, evaluations = fit$niter[["outer"]], random = list(), package = package("ordinal")
  )
}
