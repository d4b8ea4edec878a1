# The reference: fit one model with plain R, without Python and ordbridge, and write every number at 17 digits.
#
#   Rscript --vanilla baseline.R FILE.csv --model clmm --formula "rating ~ temp + (1 | judge)" --link probit
#   Rscript --vanilla baseline.R FILE.csv --model clm --formula "rating ~ temp" --scale "~ temp" --weights COLUMN
#   Rscript --vanilla baseline.R --export ordinal::wine FILE.csv
#
# Text columns are factors with their values sorted by code point; --factor NAME=a,b,c and --ordered NAME=a,b,c set
# levels and their order. Integer responses of clm and clmm become ordered factors. Output: one line per number, its
# name, a tab, its value.

invisible(Sys.setlocale("LC_COLLATE", "C"))
for (locale in c("C.UTF-8", "en_US.UTF-8")) if (nzchar(suppressWarnings(Sys.setlocale("LC_CTYPE", locale)))) break
arguments <- enc2utf8(commandArgs(trailingOnly = TRUE))

if (arguments[1] == "--export") {
  name <- strsplit(arguments[2], "::")[[1]]
  data <- if (exists(name[2], asNamespace(name[1]))) get(name[2], asNamespace(name[1])) else {
    holder <- new.env()
    utils::data(list = name[2], package = name[1], envir = holder)
    holder[[name[2]]]
  }
  utils::write.csv(data, arguments[3], row.names = FALSE, na = "")
  quit(status = 0)
}

option <- function(name, default = NULL) {
  at <- which(arguments == paste0("--", name))
  if (length(at)) arguments[at + 1] else default
}
data <- utils::read.csv(arguments[1], check.names = FALSE, stringsAsFactors = TRUE, na.strings = c("", "NA", "NaN"),
                        encoding = "UTF-8")
for (kind in c("factor", "ordered")) for (spec in option(kind)) {
  name <- sub("=.*", "", spec)
  levels <- strsplit(sub("^[^=]*=", "", spec), ",")[[1]]
  data[[name]] <- factor(data[[name]], levels = levels, ordered = kind == "ordered")
}
model <- option("model")
formula <- stats::as.formula(option("formula"))
response <- as.character(formula[[2]])
if (model %in% c("clm", "clmm") && is.numeric(data[[response]])) data[[response]] <- ordered(data[[response]])
link <- option("link", "logit")
threshold <- option("threshold", "flexible")
nAGQ <- as.integer(option("nAGQ", "1"))
REML <- as.logical(option("REML", "TRUE"))
ddf <- option("ddf", "Satterthwaite")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "links.R"))
if (model == "clmm") link <- name_of_link(link, formula)

beyond <- lapply(c(scale = "scale", nominal = "nominal"), option)
beyond <- lapply(beyond[!vapply(beyond, is.null, TRUE)], stats::as.formula)
if (!is.null(option("weights"))) beyond$weights <- as.name(option("weights"))

started <- proc.time()[["elapsed"]]
fit <- suppressMessages(suppressWarnings(switch(model,
  clm = do.call(ordinal::clm, c(list(formula, data = quote(data), link = link, threshold = threshold), beyond)),
  clmm = do.call(ordinal::clmm, c(list(formula, data = quote(data), link = link, threshold = threshold, nAGQ = nAGQ), beyond)),
  lm = lm(formula, data = data),
  lmer = lmerTest::lmer(formula, data = data, REML = REML)
)))
seconds <- proc.time()[["elapsed"]] - started

write_numbers <- function(name, values, labels = names(values)) {
  if (!is.null(labels)) name <- paste0(name, "[", gsub("\\s*\n\\s*", " ", labels), "]")  # R breaks long ones into lines
  cat(sprintf("%s\t%.17g\n", name, as.numeric(values)), sep = "")
}
table <- suppressWarnings(if (model == "lmer") coef(summary(fit, ddf = ddf)) else coef(summary(fit)))
if (model == "clm" && length(fit$zeta)) {  # which have the names of the effects on location
  own <- nrow(table) - length(fit$zeta) + seq_along(fit$zeta)
  rownames(table)[own] <- paste0("scale:", rownames(table)[own])
}
table <- table[!is.na(table[, 1]), , drop = FALSE]
last <- ncol(table)
write_numbers("estimate", table[, 1], rownames(table))
write_numbers("std_error", table[, 2], rownames(table))
write_numbers("statistic", table[, last - 1], rownames(table))
write_numbers("p_value", table[, last], rownames(table))
if (model == "lmer") write_numbers("df", table[, 3], rownames(table))
write_numbers("loglik", as.numeric(logLik(fit)))
write_numbers("n_obs", nobs(fit))
write_numbers("seconds", seconds)
if (model %in% c("lm", "lmer")) write_numbers("sigma", sigma(fit))

# A standard deviation or a random effect for each group, level and term, in the order in which R prints them.
write_random <- function(group, sd, effects, variances) {
  write_numbers("sd", sd, paste(group, names(sd), sep = ":"))
  for (term in colnames(effects)) {
    write_numbers("ranef", effects[[term]], paste(group, rownames(effects), term, sep = ":"))
    write_numbers("ranef_sd", sqrt(variances[[term]]), paste(group, rownames(effects), term, sep = ":"))
  }
}
if (model == "clmm") {
  effects <- ordinal::ranef(fit)
  variances <- ordinal::condVar(fit)
  deviations <- lapply(fit$ST, function(ST) sqrt(diag(tcrossprod(ST))))
  # names(ST) can be in the wrong order in ordinal 2022.11-16, those of gfList are right
  groups <- names(fit$gfList)[attr(fit$gfList, "assign")]
  for (group in unique(groups))
    write_random(group, unlist(unname(deviations[groups == group])), effects[[group]], variances[[group]])
}
if (model == "lmer") {
  effects <- lme4::ranef(fit, condVar = TRUE)
  long <- as.data.frame(effects)
  variances <- lme4::VarCorr(fit)
  groups <- names(fit@flist)[attr(fit@flist, "assign")]
  for (group in names(effects)) {
    spread <- lapply(split(long$condsd[long$grpvar == group]^2, factor(long$term[long$grpvar == group])), identity)
    order <- long$grp[long$grpvar == group & long$term == names(spread)[1]]
    spread <- lapply(spread, function(v) v[match(rownames(effects[[group]]), order)])
    write_random(group, unlist(lapply(unname(variances[groups == group]), attr, "stddev")), effects[[group]], spread)
  }
}
