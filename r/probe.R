# What this R is and which packages it has: one line each, name, a tab, version (empty where it is missing).
#
#   Rscript --vanilla probe.R ordinal lmerTest
blas <- extSoftVersion()[["BLAS"]]
cat(sprintf("%s\t%s\n", c("R home", "R", "BLAS"),
            c(R.home(), as.character(getRversion()), if (nzchar(blas)) blas else La_library())), sep = "")
for (name in commandArgs(trailingOnly = TRUE))
  cat(sprintf("%s\t%s\n", name, tryCatch(as.character(packageVersion(name)), error = function(e) "")))
