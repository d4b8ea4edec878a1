# Run an expression and return, with its value, everything that R reported.
#
# A warning or message is recorded with the stage it came from and R continues in silence. An error, an interrupt or a
# fit beyond its time limit ends the expression. The time limit is checked once more at the end, because packages wrap
# their optimisers in try(), which turns R's time-limit error into another error or into a result without it.
captured <- function(expr, timeout = Inf) {
  said <- new.env(parent = emptyenv())
  said$stage <- said$kind <- said$text <- character()
  note <- function(kind) function(condition) {
    said$stage <- c(said$stage, current$stage)
    said$kind <- c(said$kind, kind)
    said$text <- c(said$text, sub("\n$", "", conditionMessage(condition)))
    invokeRestart(if (kind == "warning") "muffleWarning" else "muffleMessage")
  }
  stage("frame")
  status <- "ok"
  error <- ""
  started <- proc.time()[["elapsed"]]
  if (is.finite(timeout)) setTimeLimit(elapsed = timeout, transient = TRUE)
  quiet <- options(show.error.messages = FALSE)  # of try() inside packages
  on.exit({ setTimeLimit(); options(quiet) })
  value <- tryCatch(
    withCallingHandlers(expr, warning = note("warning"), message = note("message")),
    ordbridge_refusal = function(e) { status <<- "refused"; error <<- conditionMessage(e); NULL },
    error = function(e) { status <<- "error"; error <<- conditionMessage(e); NULL },
    interrupt = function(i) { status <<- "interrupt"; NULL }
  )
  setTimeLimit()
  if (proc.time()[["elapsed"]] - started >= timeout) status <- "timeout"
  list(status = status, error = error, stage = current$stage,
       said_stage = said$stage, said_kind = said$kind, said_text = said$text,
       value = if (status == "ok") value)
}

current <- new.env(parent = emptyenv())

# Name the part of the work that is under way: frame, fit, inference.
stage <- function(name) current$stage <- name

# Stop with a sentence that is meant for the user as it is.
refuse <- function(...) {
  stop(structure(class = c("ordbridge_refusal", "error", "condition"), list(message = paste0(...), call = NULL)))
}
