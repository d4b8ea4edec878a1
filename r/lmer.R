# Linear mixed models: lmerTest::lmer.
fit_lmer <- function(formula, variables, bars, columns, REML, ddf) {
  data <- as_frame(columns)
  check_random(bars, variables, data, fewest_levels = 2)
  fit <- run_lmer(formula, data, REML)
  stage("inference")
  table <- coef(summary(fit, ddf = ddf))
  derivatives <- fit@optinfo$derivs
  loglik <- logLik(fit)
  estimates(
    table, table[, 3], if (ddf == "Kenward-Roger") pbkrtest::vcovAdj(fit) else vcov(fit), 0L,
    dropped = names(attr(lme4::getME(fit, "X"), "col.dropped")), rows = kept_rows(fit@frame, nrow(data)),
    loglik = as.numeric(loglik), edf = attr(loglik, "df"),
    converged = fit@optinfo$conv$opt == 0 && is.null(fit@optinfo$conv$lme4$code), singular = lme4::isSingular(fit),
    sigma = sigma(fit), theta = unname(lme4::getME(fit, "theta")),
    max_gradient = if (is.null(derivatives)) NA_real_ else max(abs(derivatives$gradient)),
    hessian_condition = condition_number(derivatives$Hessian), evaluations = fit@optinfo$feval,
    random = lmer_random(fit), package = package("lmerTest")
  )
}

run_lmer <- function(formula, data, REML) {
  formula <- as_formula(formula)
  stage("fit")
  lmerTest::lmer(formula, data = data, REML = REML)
}

# The model at given relative Cholesky factors: evaluated, not fitted, so that tests are about that fit and no other.
lmer_at <- function(theta, formula, data, REML) {
  formula <- as_formula(formula)
  stage("inference")
  lmerTest::lmer(formula, data = data, REML = REML, start = theta,
                 control = lme4::lmerControl(optimizer = NULL, calc.derivs = FALSE))
}

# An F test of every term: lmerTest's anova of type III.
test_terms <- function(formula, columns, theta, REML, ddf) {
  fit <- lmer_at(theta, formula, as_frame(columns), REML)
  table <- anova(fit, type = 3, ddf = ddf)
  list(term = rownames(table), num_df = as.numeric(table$NumDF), den_df = table$DenDF, statistic = table$"F value",
       p_value = table$"Pr(>F)")
}

# A joint F test of combinations of the coefficients, the rows of L.
test_combinations <- function(formula, columns, theta, REML, ddf, L, combinations) {
  fit <- lmer_at(theta, formula, as_frame(columns), REML)
  table <- lmerTest::contest(fit, matrix(L, combinations, byrow = TRUE), joint = TRUE, ddf = ddf)
  list(den_df = table$DenDF, statistic = table$"F value", p_value = table$"Pr(>F)")
}

lmer_random <- function(fit) {
  effects <- as.data.frame(lme4::ranef(fit, condVar = TRUE))
  variances <- lme4::VarCorr(fit)
  factor_of <- attr(fit@flist, "assign")
  lapply(seq_along(fit@cnms), function(i) {
    group <- names(fit@flist)[factor_of[i]]
    levels <- levels(fit@flist[[factor_of[i]]])
    of_term <- function(term) effects[effects$grpvar == group & effects$term == term, ]
    pick <- function(what) vapply(fit@cnms[[i]], function(term) {
      found <- of_term(term)
      found[[what]][match(levels, found$grp)]
    }, numeric(length(levels)))
    random_term(group, fit@cnms[[i]], levels, variances[[i]], pick("condval"), pick("condsd"))
  })
}
