# The tied model of comparisons (and ratings of the same systems) by TMB, in a process of its own:
#
#     Rscript benchmarks/preference_tmb.R PAIRS.csv FOLDER [RATINGS.csv]
#
# PAIRS.csv: first, second, y (from 1), and rater and item where these are random; RATINGS.csv: system, rating (from 1),
# and rater and item. The template is compiled in FOLDER, once. Prints log likelihood, coefficients, standard errors, SDs.
# Needs the R package TMB (r-cran-tmb in Debian).
suppressMessages(library(TMB))

arguments <- commandArgs(trailingOnly = TRUE)
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
folder <- arguments[2]
source_file <- file.path(folder, "tmb_preferences.cpp")
if (!file.exists(dynlib(file.path(folder, "tmb_preferences")))) {
    invisible(file.copy(file.path(here, "tmb_preferences.cpp"), source_file))
    invisible(capture.output(compile(source_file, "-O1")))
}
dyn.load(dynlib(file.path(folder, "tmb_preferences")))

pairs <- read.csv(arguments[1], colClasses = "character")
ratings <- if (length(arguments) > 2) read.csv(arguments[3], colClasses = "character") else pairs[0, ]
systems <- sort(unique(c(pairs$first, pairs$second, ratings$system)), method = "radix")
place <- function(x, levels) match(x, levels) - 1L
grouping <- function(name) {
    levels <- unique(c(pairs[[name]], ratings[[name]]))
    codes <- function(table) if (is.null(table[[name]])) rep(-1L, nrow(table)) else place(table[[name]], levels)
    list(levels = length(levels), pairs = codes(pairs), ratings = codes(ratings))
}
rater <- grouping("rater")
item <- grouping("item")
y <- as.integer(pairs$y) - 1L
categories <- max(y) + 1L
rating <- as.integer(ratings$rating) - 1L
rated <- length(rating) > 0
data <- list(
    y = y, a = place(pairs$first, systems), b = place(pairs$second, systems), rater = rater$pairs, item = item$pairs,
    categories = categories, rating = rating, rated = if (rated) place(ratings$system, systems) else integer(0),
    rated_by = rater$ratings, rated_item = item$ratings, link = 0L
)
count <- if (rated) max(rating) else 0L
parameters <- list(
    spacing = rep(log(.7), (categories - 1) %/% 2), thresholds = if (rated) qlogis(seq_len(count) / (count + 1)) else numeric(0),
    beta = numeric(length(systems) - 1), position = 0, log_sd = log(c(.5, .5)), log_sd_own = log(c(.5, .5)),
    u = matrix(0, rater$levels, length(systems)), v = matrix(0, item$levels, length(systems)),
    s = numeric(if (rated) rater$levels else 0), t = numeric(if (rated) item$levels else 0)
)
# what the data do not have stays where it is
used <- c(rater$levels > 0, item$levels > 0)
own <- c(any(rater$ratings >= 0), any(item$ratings >= 0)) & rated
free <- function(which) factor(ifelse(which, seq_along(which), NA))
map <- list(position = factor(NA), log_sd = free(used), log_sd_own = free(own))
if (!own[1]) map$s <- factor(rep(NA, length(parameters$s)))
if (!own[2]) map$t <- factor(rep(NA, length(parameters$t)))
random <- c("u", "v", "s", "t")[c(used, own)]
model <- MakeADFun(data, parameters, map = map, random = if (length(random)) random, DLL = "tmb_preferences", silent = TRUE)
fit <- nlminb(model$par, model$fn, model$gr, control = list(eval.max = 2000, iter.max = 2000, rel.tol = 1e-14))
for (again in 1:2) fit <- nlminb(fit$par, model$fn, model$gr, control = list(eval.max = 2000, iter.max = 2000, rel.tol = 1e-14))
error <- summary(sdreport(model), "fixed")
shown <- function(name, values) cat(name, format(values, digits = 12), "\n")
shown("loglik", -fit$objective)
for (name in unique(rownames(error))) {
    mine <- rownames(error) == name
    shown(name, if (grepl("log_sd", name)) exp(error[mine, 1]) else error[mine, 1])
    if (name == "beta") shown("std_error", error[mine, 2])
}
