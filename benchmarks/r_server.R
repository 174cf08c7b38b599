# Solves problems for r_bridge.py in one R process, so that start-up and data transfer stay out of
# the timings. One request a line on standard input, one reply a line on standard output; matrices
# travel as raw doubles in files. Wall time is taken here, around the solver's own call.
suppressPackageStartupMessages({
  library(glasso)
  library(huge)
})

now <- function() as.numeric(Sys.time())
read_doubles <- function(path, count) readBin(path, "double", n = count)
write_doubles <- function(values, path) writeBin(as.double(values), path)

solvers <- list(
  glasso = function(S, alpha, thr) {
    glasso(S, rho = alpha, thr = thr, maxit = 10000, penalize.diagonal = FALSE)$wi
  },
  # huge always penalises the diagonal: S arrives with alpha already taken off there.
  huge = function(S, alpha, thr) huge.glasso(S, lambda = alpha, verbose = FALSE)$icov[[1]],
  # The compiled routine inside huge.glasso, without its checks and garbage collections.
  huge_core = function(S, alpha, thr) {
    .Call("_huge_hugeglasso", S, alpha, FALSE, FALSE, FALSE, PACKAGE = "huge")$icov[[1]]
  }
)

paths <- list(
  # glassopath runs from the smallest penalty up; its slices come back reversed here.
  glassopath = function(S, alphas, thr) {
    fit <- glassopath(S, rholist = alphas, thr = thr, penalize.diagonal = FALSE, trace = 0)
    fit$wi[, , rev(seq_along(alphas))]
  },
  glasso = function(S, alphas, thr) {
    fit <- NULL
    out <- array(0, c(dim(S), length(alphas)))
    for (k in seq_along(alphas)) {
      fit <- glasso(S,
        rho = alphas[k], thr = thr, penalize.diagonal = FALSE,
        start = if (is.null(fit)) "cold" else "warm", w.init = fit$w, wi.init = fit$wi
      )
      out[, , k] <- fit$wi
    }
    out
  }
)

load_problem <- function(field) {
  p <- as.integer(field[2])
  state$S <- matrix(read_doubles(field[4], p * p), p, p)
  state$alpha <- as.double(field[3])
  state$shifted <- state$S - state$alpha * diag(p)
  "ok"
}

solve_problem <- function(field) {
  solver <- solvers[[field[2]]]
  thr <- as.double(field[3])
  number <- as.integer(field[4])
  S <- if (field[2] == "glasso") state$S else state$shifted
  alpha <- state$alpha
  start <- now()
  for (k in seq_len(number)) wi <- solver(S, alpha, thr)
  seconds <- (now() - start) / number
  write_doubles(as.matrix(wi), field[5])
  paste("ok", format(seconds, digits = 9))
}

solve_paths <- function(field) {
  solver <- paths[[field[2]]]
  thr <- as.double(field[3])
  p <- as.integer(field[4])
  n_sets <- as.integer(field[5])
  n_alphas <- as.integer(field[6])
  values <- read_doubles(field[7], n_alphas + n_sets * p * p)
  alphas <- values[seq_len(n_alphas)]
  stack <- array(values[-seq_len(n_alphas)], c(p, p, n_sets))
  results <- vector("list", n_sets)
  start <- now()
  for (k in seq_len(n_sets)) results[[k]] <- solver(stack[, , k], alphas, thr)
  seconds <- now() - start
  write_doubles(unlist(results), field[8])
  paste("ok", format(seconds, digits = 9))
}

actions <- list(load = load_problem, solve = solve_problem, path = solve_paths)
state <- new.env()
version <- function(package) paste(package, packageVersion(package))
blas <- basename(normalizePath(La_library()))
cat("ready ", R.version.string, ", ", version("glasso"), ", ", version("huge"),
  ", ", blas, "\n",
  sep = ""
)
flush(stdout())
requests <- file("stdin", open = "r")
while (length(line <- readLines(requests, n = 1)) > 0) {
  field <- strsplit(line, " ", fixed = TRUE)[[1]]
  reply <- tryCatch(actions[[field[1]]](field), error = function(problem) {
    paste("error", gsub("\n", " ", conditionMessage(problem)))
  })
  cat(reply, "\n", sep = "")
  flush(stdout())
}
