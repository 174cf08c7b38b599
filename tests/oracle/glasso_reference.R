# Solves small graphical lasso problems with R's glasso package and writes inputs and results to
# glasso_reference.json, against which test_r_glasso.py holds our solver. See README.md.
#
#   Rscript --vanilla glasso_reference.R
library(glasso)
set.seed(20240607, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")

THRESHOLD <- 1e-10
MAX_ITERATIONS <- 1e6

# n samples of a chain in which neighbours correlate by r, plus a common factor; centred covariance
# with divisor n.
sample_covariance <- function(n, p, r = 0.5, common = 0.3, scales = rep(1, p)) {
  x <- matrix(rnorm(n * p), n, p)
  for (j in seq_len(p - 1)) x[, j + 1] <- r * x[, j] + sqrt(1 - r^2) * x[, j + 1]
  x <- (x + common * rnorm(n)) %*% diag(scales)
  x <- sweep(x, 2, colMeans(x))
  s <- crossprod(x) / n
  (s + t(s)) / 2
}

# Symmetric penalty weights with a unit diagonal.
random_weights <- function(p, low, high) {
  weights <- matrix(runif(p * p, low, high), p, p)
  weights[lower.tri(weights)] <- t(weights)[lower.tri(weights)]
  diag(weights) <- 1
  weights
}

random_pairs <- function(p, count) {
  pairs <- t(combn(p, 2))
  pairs[sort(sample(nrow(pairs), count)), , drop = FALSE]
}

set_pairs <- function(weights, pairs, value) {
  weights[pairs] <- value
  weights[pairs[, 2:1, drop = FALSE]] <- value
  weights
}

# JSON is written by hand because 17 significant digits bring every double back unchanged, and R's
# JSON packages stop at 15.
json_numbers <- function(x) paste(sprintf("%.17g", x), collapse = ",")
json_text <- function(x) paste0('"', x, '"')
json_list <- function(items) paste0("[", paste(items, collapse = ",\n"), "]")
json_matrix <- function(x) {
  if (is.null(x)) "null" else json_list(paste0("[", apply(x, 1, json_numbers), "]"))
}
json_object <- function(...) {
  fields <- list(...)
  paste0("{", paste0('"', names(fields), '": ', fields, collapse = ",\n"), "}")
}

# glasso's rho is alpha times the weights; `zero` names forbidden pairs, counted from 1.
solve_problem <- function(name, s, alpha, weights = NULL, penalize_diagonal = FALSE, zero = NULL) {
  p <- nrow(s)
  rho <- if (is.null(weights)) matrix(alpha, p, p) else alpha * weights
  fit <- glasso(s,
    rho = rho, zero = zero, thr = THRESHOLD, maxit = MAX_ITERATIONS,
    penalize.diagonal = penalize_diagonal
  )
  stopifnot(fit$errflag == 0, fit$niter < MAX_ITERATIONS)
  json_object(
    name = json_text(name), alpha = json_numbers(alpha),
    penalize_diagonal = tolower(penalize_diagonal), s = json_matrix(s),
    weights = json_matrix(weights), zero = json_matrix(zero),
    wi = json_matrix(fit$wi), w = json_matrix(fit$w)
  )
}

s5 <- sample_covariance(50, 5)
s10 <- sample_covariance(60, 10)
near_one <- sample_covariance(80, 10, r = 0.95, common = 0)
wide20 <- sample_covariance(10, 20)
s12 <- sample_covariance(90, 12)
s15 <- sample_covariance(120, 15)
s25 <- sample_covariance(100, 25, scales = exp(seq(-2, 2, length.out = 25)))
s30 <- sample_covariance(150, 30)
s35 <- sample_covariance(100, 35, common = 0)
wide40 <- sample_covariance(25, 40)

free <- random_pairs(12, 8)
forbidden <- random_pairs(12, 10)
mixed <- random_pairs(15, 24)
mixed_free <- mixed[seq(1, 24, by = 2), ]
mixed_forbidden <- mixed[seq(2, 24, by = 2), ]

problems <- list(
  solve_problem("p5, diagonal free", s5, 0.1),
  solve_problem("p5, diagonal penalised", s5, 0.1, penalize_diagonal = TRUE),
  solve_problem("p5, empty graph", s5, 1.01 * max(abs(s5 - diag(diag(s5))))),
  solve_problem("p10, small penalty", s10, 0.005),
  solve_problem("p10, correlation near one", near_one, 0.02),
  solve_problem("p10, correlation near one, diagonal penalised", near_one, 0.02,
    penalize_diagonal = TRUE
  ),
  solve_problem("p20, n10", wide20, 0.15),
  solve_problem("p20, n10, diagonal penalised", wide20, 0.05, penalize_diagonal = TRUE),
  solve_problem("p12, free edges", s12, 0.12, weights = set_pairs(matrix(1, 12, 12), free, 0)),
  solve_problem("p12, forbidden edges", s12, 0.05, zero = forbidden),
  solve_problem("p15, weights, free and forbidden edges, diagonal penalised", s15, 0.08,
    weights = set_pairs(random_weights(15, 0.5, 2), mixed_free, 0),
    penalize_diagonal = TRUE, zero = mixed_forbidden
  ),
  solve_problem("p25, scales from exp(-2) to exp(2)", s25, 0.05),
  solve_problem("p30, weights", s30, 0.1, weights = random_weights(30, 0.2, 3)),
  solve_problem("p30, weights, diagonal penalised", s30, 0.1,
    weights = random_weights(30, 0.2, 3), penalize_diagonal = TRUE
  ),
  solve_problem("p35, many components", s35, 0.35),
  solve_problem("p40, n25, weights", wide40, 0.15, weights = random_weights(40, 0.5, 1.5))
)

made_with <- paste0(
  R.version.string, ", glasso ", packageVersion("glasso"), ", thr ", format(THRESHOLD)
)
writeLines(
  json_object(made_with = json_text(made_with), problems = json_list(problems)),
  "glasso_reference.json"
)
