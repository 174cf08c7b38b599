# Graphs by the rules of R packages. Arguments: a table without header, a file to write, rules.
args <- commandArgs(trailingOnly = TRUE)
X <- as.matrix(read.csv(args[1], header = FALSE))
dimnames(X) <- NULL
S <- cor(X)
n <- nrow(X)
by_huge <- function(method, rule) {
  path <- huge::huge(X, method = method, verbose = FALSE)
  as.matrix(huge::huge.select(path, rule, verbose = FALSE)$refit)
}
rules <- list(
  "qgraph EBICglasso" = function() qgraph::EBICglasso(S, n, verbose = FALSE),
  "qgraph ggmModSelect" = function() qgraph::ggmModSelect(S, n, verbose = FALSE)$graph,
  "huge glasso, ric" = function() by_huge("glasso", "ric"),
  "huge glasso, stars" = function() by_huge("glasso", "stars"),
  "huge glasso, ebic" = function() by_huge("glasso", "ebic"),
  "huge mb, ric" = function() by_huge("mb", "ric"),
  "BDgraph" = function() {
    a <- as.matrix(BDgraph::select(BDgraph::bdgraph(X, verbose = FALSE, cores = 1)))
    a + t(a)
  }
)
# huge collects garbage again and again, which takes longer than its fits.
unlock <- get("unlockBinding", baseenv())
unlock("gc", baseenv())
assign("gc", function(...) invisible(NULL), envir = baseenv())
found <- list()
for (name in args[-(1:2)]) {
  set.seed(1)
  sink(nullfile())
  A <- tryCatch(suppressWarnings(suppressMessages(rules[[name]]())), error = function(e) NULL)
  sink()
  # A rule that fails, as some do with fewer rows than columns, has found nothing.
  edges <- if (is.null(A)) integer(0) else which(A != 0 & upper.tri(A)) - 1L
  found <- c(found, list(edges))
}
lines <- vapply(found, paste, "", collapse = " ")
writeLines(lines, args[2])
