# All pairwise differences between the levels of a factor, through emmeans; nothing is fitted again.
#
# For clm, clmm and lm, coefficients and covariances are all that emmeans needs: a linear model of the same terms on the
# same rows, which knows how factors and functions of the columns are coded, carries them.
pairwise_from_estimates <- function(factor, fixed, columns, coefficients, vcov, df, adjust, level) {
  data <- droplevels(as_frame(columns))
  data$any_number <- seq_len(nrow(data))
  carrier <- lm(as_formula(paste("any_number ~", fixed)), data)
  names <- names(coef(carrier))
  carrier$coefficients[] <- coefficients
  covariance <- matrix(vcov, length(names), dimnames = list(names, names))
  pairwise(emmeans::ref_grid(carrier, data = data, vcov. = covariance, df = df), factor, adjust, level)
}

# The degrees of freedom of each difference come from the whole model, so lmer is evaluated at the fit's optimum.
pairwise_from_lmer <- function(factor, formula, columns, theta, REML, ddf, adjust, level) {
  data <- droplevels(as_frame(columns))
  fit <- lmer_at(theta, formula, data, REML)
  grid <- emmeans::ref_grid(fit, data = data, lmer.df = tolower(ddf), lmerTest.limit = Inf, pbkrtest.limit = Inf)
  pairwise(grid, factor, adjust, level)
}

pairwise <- function(grid, factor, adjust, level) {
  notes <- character()
  means <- withCallingHandlers(emmeans::emmeans(grid, factor), message = function(said) {
    notes <<- c(notes, trimws(sub("^NOTE: ", "", conditionMessage(said))))
    invokeRestart("muffleMessage")
  })
  pairs <- emmeans::contrast(means, "pairwise", adjust = adjust)
  table <- summary(pairs, infer = c(TRUE, TRUE), adjust = adjust, level = level)
  notes <- c(notes, attr(table, "mesg"))
  table <- as.data.frame(table)
  columns <- names(table)
  list(contrast = as.character(table$contrast), estimate = table$estimate, std_error = table$SE, df = table$df,
       statistic = table[[grep("ratio$", columns)]], p_value = table$p.value,
       conf_low = table[[grep("LCL$|lower", columns)]], conf_high = table[[grep("UCL$|upper", columns)]], notes = notes)
}
