# Means and pairwise differences of the same ratings by plain R, as one JSON object; see test_against_emmeans.py.
suppressMessages({library(ordinal); library(emmeans); library(lmerTest)})
arguments <- commandArgs(TRUE)
numbers <- function(x) paste0("[", paste(format(x, digits = 15), collapse = ","), "]")
texts <- function(x) paste0("[", paste0('"', x, '"', collapse = ","), "]")
said <- c()
keep <- function(name, means, pairs, against = NULL) {
  part <- function(t, what) {
    t <- as.data.frame(t); e <- intersect(c("estimate", "mean.class", "emmean"), names(t))
    p <- if (is.null(t$p.value)) rep(0, nrow(t)) else t$p.value
    sprintf('{"what": %s, "estimate": %s, "error": %s, "p": %s}', texts(t[[what]]), numbers(t[[e]]), numbers(t$SE), numbers(p))
  }
  extra <- if (is.null(against)) "null" else part(against, "contrast")
  said <<- c(said, sprintf('"%s": {"means": %s, "pairs": %s, "against": %s}', name, part(means, "system"), part(pairs, "contrast"), extra))
}
clm_case <- function(name, data, reference) {
  data$rating <- factor(data$rating, ordered = TRUE); data$system <- factor(data$system)
  fit <- clm(rating ~ system, data = data)
  grid <- emmeans(fit, "system", mode = "mean.class")
  ctrl <- contrast(emmeans(fit, "system", mode = "latent"), "trt.vs.ctrl", ref = which(levels(data$system) == reference), adjust = "mvt")
  keep(name, grid, summary(pairs(grid, adjust = "holm")), summary(ctrl))
}
wine <- ordinal::wine
wine <- data.frame(participant = paste0("j", wine$judge), item = paste0("b", wine$bottle),
                   system = paste(wine$temp, wine$contact), rating = as.integer(wine$rating))
soup <- ordinal::soup
soup <- data.frame(participant = paste0("r", soup$RESP), item = paste0("d", soup$DAY), system = paste0("P", soup$PROD, soup$PRODID),
                   rating = as.integer(soup$SURENESS))
write.csv(wine, file.path(arguments[1], "wine.csv"), row.names = FALSE)
write.csv(soup, file.path(arguments[1], "soup.csv"), row.names = FALSE)
clm_case("wine", wine, "cold no")
clm_case("soup", soup, levels(factor(soup$system))[1])

# soup by a clmm: expected ratings integrated over respondents
d <- soup; d$rating <- factor(d$rating, ordered = TRUE); d$system <- factor(d$system); d$participant <- factor(d$participant)
fit <- clmm(rating ~ system + (1 | participant), data = d)
sd <- as.numeric(sqrt(VarCorr(fit)$participant))
k <- nlevels(d$system); cuts <- length(fit$alpha)
expected <- function(par) sapply(seq_len(k), function(s) {
  eta <- if (s == 1) 0 else par[cuts + s - 1]
  cumulative <- sapply(seq_len(cuts), function(j) integrate(function(x) plogis(par[j] - eta - sd * x) * dnorm(x), -Inf, Inf, rel.tol = 1e-10)$value)
  cuts + 1 - sum(cumulative)
})
par <- c(fit$alpha, fit$beta); V <- vcov(fit)[seq_along(par), seq_along(par)]
G <- sapply(seq_along(par), function(i) { h <- 1e-5; a <- par; b <- par; a[i] <- a[i] + h; b[i] <- b[i] - h; (expected(a) - expected(b)) / (2 * h) })
C <- t(combn(k, 2, function(ij) { v <- numeric(k); v[ij[1]] <- 1; v[ij[2]] <- -1; v }))
m <- expected(par); S <- G %*% V %*% t(G); dd <- C %*% m; se <- sqrt(diag(C %*% S %*% t(C)))
names_ <- apply(C, 1, function(v) paste(levels(d$system)[v == 1], "-", levels(d$system)[v == -1]))
keep("soup clmm", data.frame(system = levels(d$system), estimate = m, SE = sqrt(diag(S))),
     data.frame(contrast = names_, estimate = dd, SE = se, p.value = p.adjust(2 * pnorm(-abs(dd / se)), "holm")),
     summary(pairs(emmeans(fit, "system", mode = "latent"), adjust = "holm")))

if (!is.na(arguments[2])) {
  pplm <- read.csv(arguments[2]); pplm$system <- factor(pplm$system)
  clm_case("pplm", pplm, "B")
  # 3,000 ratings for lmer: with all of them emmeans needs minutes for the degrees of freedom
  some <- pplm[seq(1, nrow(pplm), length.out = 3000), ]
  fit <- lmer(rating ~ system + (1 | participant) + (1 | item), some)
  grid <- emmeans(fit, "system", lmer.df = "satterthwaite", lmerTest.limit = 1e5)
  keep("pplm lmer", grid, summary(pairs(grid, adjust = "holm")))
}
cat("{", paste(said, collapse = ",\n"), "}")
