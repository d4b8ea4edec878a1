# Linear models: stats::lm.
fit_lm <- function(formula, columns) {
  data <- as_frame(columns)
  formula <- as_formula(formula)
  stage("fit")
  fit <- lm(formula, data = data)
  stage("inference")
  summary <- summary(fit)
  estimates(
    coef(summary), fit$df.residual, vcov(fit, complete = FALSE), 0L,
    dropped = names(which(is.na(coef(fit)))), rows = kept_rows(fit$model, nrow(data)), loglik = as.numeric(logLik(fit)),
    edf = attr(logLik(fit), "df"), converged = TRUE, singular = FALSE, sigma = summary$sigma, random = list(),
    package = paste("stats", getRversion())
  )
}
