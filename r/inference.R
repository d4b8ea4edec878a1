# What every model returns: one flat list, thresholds first, coefficients after them.

package <- function(name) paste(name, utils::packageVersion(name))

# `table` is the matrix of coefficients that R's summary prints (without dropped ones): its numbers are passed on, not
# computed again. `df` is NA for z tests.
estimates <- function(table, df, vcov, n_thresholds, ...) {
  last <- ncol(table)
  list(terms = rownames(table), n_thresholds = n_thresholds, estimate = unname(table[, 1]),
       std_error = unname(table[, 2]), df = rep_len(as.numeric(df), nrow(table)),
       statistic = unname(table[, last - 1]), p_value = unname(table[, last]),
       vcov = as.vector(as.matrix(vcov)[seq_len(nrow(table)), seq_len(nrow(table))]),
       r_version = as.character(getRversion()), ...)
}

# One random term, flat: matrices column by column.
random_term <- function(group, terms, levels, covariance, modes, mode_sd) {
  list(group = group, terms = terms, levels = levels, covariance = as.vector(as.matrix(covariance)),
       modes = as.vector(modes), mode_sd = as.vector(mode_sd))
}

# Largest over smallest eigenvalue of a Hessian.
condition_number <- function(hessian) {
  if (is.null(hessian) || anyNA(hessian)) return(NA_real_)
  values <- eigen(hessian, symmetric = TRUE, only.values = TRUE)$values
  abs(max(values) / min(values))
}
