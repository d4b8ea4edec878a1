# The linear mixed model of Howcroft & Rieser (2021) by R's other search, for datasets on which the default one stops early.
#
#   Rscript --vanilla lmer_again.R FOLDER
#
# For each ratings file of the folder, in order of name: the log likelihood and the p-value of the system.
suppressMessages(library(lmerTest))
for (file in sort(list.files(commandArgs(trailingOnly = TRUE), full.names = TRUE))) {
  fit <- suppressWarnings(suppressMessages(lmer(
    rating ~ system + (system | participant) + (system | item), read.csv(file), REML = FALSE,
    control = lmerControl(optimizer = "Nelder_Mead", optCtrl = list(maxfun = 1e5)))))
  cat(sprintf("%.15g", c(logLik(fit), coef(summary(fit))["system", "Pr(>|t|)"])), "\n")
}
