# Draws rows of a chain and writes them and what R's huge finds in them to huge_reference.csv, against
# which test_huge.py holds our neighbourhoods and graphical lassos. See README.md.
#
#   Rscript --vanilla huge_reference.R
library(huge)
set.seed(20240607, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")

n <- 60
p <- 8
x <- matrix(rnorm(n * p), n, p)
for (j in seq_len(p - 1)) x[, j + 1] <- 0.6 * x[, j] + 0.8 * x[, j + 1]
x <- round((x + 0.3 * rnorm(n)) %*% diag(seq_len(p)), 3)

lines <- character()
keep <- function(name, m) {
  rows <- apply(as.matrix(m), 1, function(row) paste(sprintf("%.10g", row), collapse = ","))
  lines <<- c(lines, paste(name, rows, sep = ","))
}
keep("x", x)
lambdas <- c(0.4, 0.2, 0.1)
for (sym in c("or", "and")) {
  fit <- huge(x, method = "mb", lambda = lambdas, sym = sym, verbose = FALSE)
  for (k in seq_along(lambdas)) keep(paste(sym, lambdas[k]), fit$path[[k]])
}
for (k in seq_along(lambdas)) keep(paste("beta", lambdas[k]), fit$beta[[k]])
fit <- huge(x, method = "glasso", lambda = lambdas, verbose = FALSE)
for (k in seq_along(lambdas)) keep(paste("icov", lambdas[k]), fit$icov[[k]])
writeLines(lines, "huge_reference.csv")
