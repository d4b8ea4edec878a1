# The name under which ordinal::clmm knows a link.
#
# A single random intercept is fitted by C code of its own, which has cloglog and loglog the wrong way round (seen in
# ordinal 2022.11-16); clm and clmm's code for other random effects have them right. So a small model is fitted by both
# kinds of code, once per session and only where it matters, and where they disagree the C code gets the other name.
name_of_link <- function(link, formula) {
  mirrored <- c(cloglog = "loglog", loglog = "cloglog")
  text <- deparse1(formula)
  in_c <- lengths(regmatches(text, gregexpr("|", text, fixed = TRUE))) == 1 && grepl("(1 | ", text, fixed = TRUE)
  if (!in_c || !link %in% names(mirrored)) return(link)
  if (is.null(known$swapped)) {
    data <- data.frame(y = ordered(c(1, 1, 1, 1, 2, 1, 2, 2, 3, 1, 3, 2)), g = factor(rep(1:4, each = 3)))
    loglik <- function(link, in_c) suppressMessages(suppressWarnings(
      ordinal::clmm(y ~ 1 + (1 | g), data = data, link = link, Hess = FALSE,
                    control = ordinal::clmm.control(useMatrix = !in_c))$logLik))
    right <- loglik("loglog", in_c = FALSE)
    known$swapped <- abs(loglik("cloglog", in_c = TRUE) - right) < abs(loglik("loglog", in_c = TRUE) - right)
  }
  if (known$swapped) mirrored[[link]] else link
}

known <- new.env(parent = emptyenv())
