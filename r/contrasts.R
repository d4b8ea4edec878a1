# All pairwise differences between the levels of a factor, through emmeans.
#
# For clm, clmm and lm a reference grid from coefficients and covariances is all that emmeans needs, so nothing is
# fitted again. Differences on the latent scale do not depend on the thresholds: the intercept is set to zero.
pairwise_from_estimates <- function(factor, fixed, variables, columns, coefficients, vcov, df, adjust, level) {
  data <- full_frame(variables, as_frame(columns))
  names <- colnames(model.matrix(as_formula(paste("~", fixed)), data))
  grid <- emmeans::qdrg(as_formula(paste("~", fixed)), data = data, coef = stats::setNames(coefficients, names),
                        vcov = matrix(vcov, length(names), dimnames = list(names, names)), df = df)
  pairwise(grid, factor, adjust, level)
}

# lmer is fitted once more, as the degrees of freedom of each difference come from the whole model.
pairwise_from_lmer <- function(factor, formula, columns, REML, ddf, adjust, level) {
  fit <- run_lmer(formula, as_frame(columns), REML)
  stage("inference")
  grid <- emmeans::ref_grid(fit, lmer.df = tolower(ddf), lmerTest.limit = Inf, pbkrtest.limit = Inf)
  pairwise(grid, factor, adjust, level)
}

pairwise <- function(grid, factor, adjust, level) {
  pairs <- emmeans::contrast(emmeans::emmeans(grid, factor), "pairwise", adjust = adjust)
  table <- as.data.frame(summary(pairs, infer = c(TRUE, TRUE), adjust = adjust, level = level))
  columns <- names(table)
  list(contrast = as.character(table$contrast), estimate = table$estimate, std_error = table$SE, df = table$df,
       statistic = table[[grep("ratio$", columns)]], p_value = table$p.value,
       conf_low = table[[grep("LCL$|lower", columns)]], conf_high = table[[grep("UCL$|upper", columns)]])
}
