# The simulation of Card et al. (2020), power_sim.R of dallascard/NLP-power-analysis, one cell at a time.
#
# Every worker rates every item under both systems, coded -1 and +1. The published code permutes the workers within
# each text, then sets the seed, draws all replicates at once and fits the first; the others are refits. So the
# permutation depends on the generator's state after the cell before, which only that cell's size decides: `before` =
# (items, workers). The state before the first cell is unknown; set.seed(1) gives the published number.
card_design <- function(items, workers) {
  design <- expand.grid(worker = factor(seq_len(workers)), item = factor(seq_len(items)), model = c(-1, 1))
  # as dplyr's group_by(item, model) and sample_n(workers): groups sorted by item, then model
  texts <- split(seq_len(nrow(design)), list(design$model, design$item))
  design[unlist(lapply(texts, function(rows) rows[sample.int(length(rows), workers)]), use.names = FALSE), ]
}

card_draw <- function(design, n, diff, sds, sigma, seed = 101) {
  force(design)  # which draws, too: before the seed is set
  set.seed(seed)
  names(sds) <- c("item.model", "item.(Intercept)", "worker.model", "worker.(Intercept)")
  parameters <- list(theta = sds / sigma, beta = c("(Intercept)" = 0.5, model = diff), sigma = sigma)
  simulate(~ model + (1 + model || worker) + (1 + model || item), nsim = n, family = "gaussian", newdata = design,
           newparams = parameters, REML = FALSE)
}

# Coefficients of replicates `from` to `to`: estimate, standard error, t, and, if `tested`, lmerTest's df and p.
card_fits <- function(items, workers, diff, sds, sigma, before, n, from, to, tested, seed) {
  kind <- RNGkind("Mersenne-Twister", "Inversion", "Rejection")
  on.exit(RNGkind(kind[1], kind[2], kind[3]))
  if (length(before)) {
    card_draw(card_design(before[1], before[2]), n, 0, sds, sigma)
  } else {
    set.seed(1)
  }
  design <- card_design(items, workers)
  replicates <- card_draw(design, n, diff, sds, sigma, seed)
  stage("fit")
  design$resp <- replicates[[1]]
  first <- lme4::lmer(resp ~ model + (1 + model || worker) + (1 + model || item), data = design, REML = FALSE)
  rows <- vapply(from:to, function(i) {
    stage("fit")
    fit <- lme4::refit(first, replicates[[i]])
    t <- coef(summary(fit))["model", ]
    stage("inference")
    design$resp <- replicates[[i]]  # lmerTest evaluates the call of the fit again, which must find these ratings
    p <- if (tested) coef(summary(lmerTest::as_lmerModLmerTest(fit)))["model", c("df", "Pr(>|t|)")] else c(NaN, NaN)
    c(t[["Estimate"]], t[["Std. Error"]], t[["t value"]], p)
  }, numeric(5))
  list(estimate = rows[1, ], std_error = rows[2, ], statistic = rows[3, ], df = rows[4, ], p_value = rows[5, ],
       R = as.character(getRversion()), lmerTest = as.character(packageVersion("lmerTest")))
}
