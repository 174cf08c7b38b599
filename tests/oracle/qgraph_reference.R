# Writes qgraph_reference.csv, against which test_qgraph.py holds our networks of ordered answers: what
# R's qgraph makes of ../stats/psych_answers.csv, some of them missing and one item turned into a
# measurement, and of answers to twelve items that are drawn here. See README.md.
#
#   Rscript --vanilla qgraph_reference.R
suppressMessages(library(qgraph))
set.seed(20240611, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")

lines <- character()
keep <- function(name, m) {
  rows <- apply(as.matrix(m), 1, function(row) paste(sprintf("%.17g", row), collapse = ","))
  lines <<- c(lines, paste(name, rows, sep = ","))
}
correlate <- function(rows) suppressMessages(suppressWarnings(cor_auto(rows, forcePD = FALSE)))

# EBICglasso(S, n, thr = 1e-10) would not do: R takes thr for the beginning of `threshold`, and sets
# small edges to 0 from then on. With threshold given by its name, thr goes to glasso.
network <- function(S, n, ...) suppressWarnings(EBICglasso(S, n, threshold = FALSE, verbose = FALSE, ...))

answers <- read.csv("../stats/psych_answers.csv")
n <- nrow(answers)
answers[[1]] <- answers[[1]] + sin(seq_len(n))
for (j in 2:ncol(answers)) answers[(seq_len(n) + j) %% 11 == 0, j] <- NA
S <- correlate(answers)
keep("four correlation", S)
keep("four as it comes", network(S, n))
keep("four 0.5", network(S, n, thr = 1e-10))

n <- 300
p <- 12
x <- matrix(rnorm(n * p), n, p)
for (j in seq_len(p - 1)) x[, j + 1] <- 0.7 * x[, j] + x[, j + 1]
x[, p] <- x[, p] - 0.8 * x[, 1]
items <- apply(x, 2, function(column) findInterval(column, quantile(column, c(0.15, 0.4, 0.7, 0.9))) + 1)
S <- correlate(items)
keep("items", items)
keep("twelve correlation", S)
keep("twelve as it comes", network(S, n))
for (gamma in c(0, 0.25, 0.5)) keep(paste("twelve", gamma), network(S, n, gamma = gamma, thr = 1e-10))
keep("twelve diagonal", network(S, n, penalize.diagonal = TRUE, thr = 1e-10))
keep("twelve refitted", network(S, n, refit = TRUE, thr = 1e-10))
writeLines(lines, "qgraph_reference.csv")
