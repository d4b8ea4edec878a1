# Log likelihoods of a cumulative link mixed model with scale and nominal effects, by TMB and by ordinal::clmm2.
#
#   Rscript --vanilla scale_accuracy.R tmb FOLDER rows.csv LINK     crossed random effects; FOLDER has tmb_clmm.cpp
#   Rscript --vanilla scale_accuracy.R clmm2 NODES rows.csv LINK    one random intercept
#
# The columns of rows.csv are y, g, h, weight, offset, and x1, n1, s1, z1, ... of the model matrices.
arguments <- commandArgs(trailingOnly = TRUE)
file <- arguments[length(arguments) - 1]
link <- arguments[length(arguments)]
data <- read.csv(file)
matrix_of <- function(letter) as.matrix(data[grep(paste0("^", letter, "[0-9]+$"), names(data))])
if (arguments[1] == "clmm2") {
  suppressPackageStartupMessages(library(ordinal))  # clmm2 looks for clm2 among what is attached
  data$y <- factor(data$y, ordered = TRUE)
  data$g <- factor(data$g)
  formula_of <- function(letter, left = NULL) {
    names <- colnames(matrix_of(letter))
    if (length(names) || !is.null(left)) reformulate(if (length(names)) names else "1", left)
  }
  call <- list(location = formula_of("x", "y"), random = quote(g), data = quote(data), weights = quote(weight),
               link = if (link == "logit") "logistic" else link, nAGQ = as.integer(arguments[2]))
  call$scale <- formula_of("s")
  call$nominal <- formula_of("n")
  fit <- do.call(clmm2, call)
  cat(sprintf("%.10f\n", fit$logLik))
  quit(status = 0)
}
folder <- arguments[2]
setwd(folder)
if (!file.exists(TMB::dynlib("tmb_clmm"))) invisible(TMB::compile("tmb_clmm.cpp", flags = "-O1 -w"))
dyn.load(TMB::dynlib("tmb_clmm"))
rows <- list(y = data$y, X = matrix_of("x"), nominal = matrix_of("n"), scale = matrix_of("s"), Z = matrix_of("z"),
             weight = data$weight, offset = data$offset, g = data$g, h = data$h, link = as.integer(link == "logit"))
cuts <- max(rows$y)
q <- ncol(rows$Z)
lower <- as.vector(t(0.5 * diag(q)))[as.vector(t(lower.tri(diag(q), diag = TRUE)))]
alpha <- matrix(0, cuts, 1 + ncol(rows$nominal))
alpha[, 1] <- qlogis(seq_len(cuts) / (cuts + 1))
start <- list(alpha = alpha, beta = numeric(ncol(rows$X)), zeta = numeric(ncol(rows$scale)), Lg = lower, Lh = lower,
              u = matrix(0, max(rows$g) + 1, q), v = matrix(0, max(rows$h) + 1, q))
model <- TMB::MakeADFun(rows, start, random = c("u", "v"), DLL = "tmb_clmm", silent = TRUE)
found <- nlminb(model$par, model$fn, model$gr, control = list(eval.max = 2000, iter.max = 1000, rel.tol = 1e-14))
cat(sprintf("%.10f\n", -found$objective))
