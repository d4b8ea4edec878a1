# From columns to data frames, formulas and model matrices.

# Build a data frame from columns: each a list of kind, values and, for factors, levels and whether they are ordered.
as_frame <- function(columns) {
  frame <- lapply(columns, function(column) switch(column$kind,
    numeric = column$values,
    logical = as.logical(column$values),
    factor = structure(column$values, levels = column$levels, class = c(if (column$ordered) "ordered", "factor"))
  ))
  structure(frame, class = "data.frame", row.names = .set_row_names(length(frame[[1]])))
}

# A formula from text that ordbridge has checked, in an environment that holds nothing of the user's.
as_formula <- function(text) {
  eval(parse(text = text, keep.source = FALSE, encoding = "UTF-8")[[1]], new.env(parent = asNamespace("stats")))
}

# Positions of the rows that a model frame kept.
kept_rows <- function(frame, n) {
  omitted <- attr(frame, "na.action")
  if (is.null(omitted)) seq_len(n) else seq_len(n)[-omitted]
}

# The model frame of every variable of the model, as lme4 and ordinal build it. `variables` is the formula with
# every bar replaced by a plus, so that a row is dropped if any variable of any part is missing.
full_frame <- function(variables, data) model.frame(as_formula(variables), data, drop.unused.levels = TRUE)

# Refuse a random part that the data cannot tell from noise. `bars` is a list of list(terms, group), as text; a group is
# the name of a factor.
check_random <- function(bars, variables, data, fewest_levels) {
  frame <- full_frame(variables, data)
  if (nrow(frame) == 0) refuse("no row is complete: every one has a missing value in some column of the formula")
  for (bar in bars) {
    levels <- nlevels(frame[[bar$group]])
    if (levels < fewest_levels)
      refuse("the grouping factor ", bar$group, " has ", levels, " level", if (levels != 1) "s",
             "; random effects need at least ", fewest_levels, ": make it a fixed effect")
    columns <- ncol(model.matrix(as_formula(paste("~", bar$terms)), frame))
    if (levels * columns > nrow(frame))
      refuse("(", bar$terms, " | ", bar$group, ") has ", levels * columns, " random effects for ", nrow(frame),
             " observations; simplify it")
  }
}

# Model matrices of new rows with everything data-dependent (poly, scale, factor levels) taken from the fit's rows.
# `bars` are the terms of each random effect, as text; so are `nominal` and `scale`, or NULL.
new_matrices <- function(variables, fixed, bars, nominal, scale, columns, new_columns) {
  trained <- full_frame(variables, as_frame(columns))
  new <- as_frame(new_columns)
  matrix_of <- function(text) {
    terms <- terms(as_formula(paste("~", text)))
    known <- attr(terms(trained), "variables")
    predictor <- match(vapply(as.list(attr(terms, "variables"))[-1], deparse1, ""),
                       vapply(as.list(known)[-1], deparse1, ""))
    attr(terms, "predvars") <- attr(terms(trained), "predvars")[c(1, predictor + 1)]
    frame <- model.frame(terms, new, na.action = na.pass, xlev = .getXlevels(terms, trained))
    model.matrix(terms, frame)
  }
  known <- function(text) all(all.vars(as_formula(paste("~", text))) %in% names(new))
  X <- matrix_of(fixed)
  Z <- lapply(bars, function(terms) if (known(terms)) matrix_of(terms) else matrix(0, nrow(new), 0))
  aside <- lapply(list(nominal, scale), function(text) if (is.null(text)) matrix(0, nrow(new), 0) else matrix_of(text))
  list(X = as.vector(X), X_names = colnames(X), Z = lapply(Z, as.vector), Z_names = lapply(Z, colnames),
       aside = lapply(aside, as.vector), aside_names = lapply(aside, colnames))
}
