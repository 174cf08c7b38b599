# Frozen results of the R package huge (made with huge 1.3.5, R 4.2.2). Run here: Rscript huge_npn.R
library(huge)
X <- cbind(
  a = c(2.1, -0.3, 5.5, 1.1, 0.2, 9.7, -4.4, 3.3, 1.9, 0.4, 2.8, -1.6),
  b = c(1, 2, 2, 3, 1, 5, 1, 4, 3, 2, 2, 1),
  c = exp(c(0.3, -1.2, 0.8, 2.2, -0.7, 0.1, 1.4, -2.0, 0.9, -0.4, 1.1, 0.5))
)
write.csv(X, "huge_npn_data.csv", row.names = FALSE)
for (method in c("shrinkage", "truncation")) {
  Z <- huge.npn(X, npn.func = method, verbose = FALSE)
  write.csv(format(Z, digits = 16), sprintf("huge_npn_%s.csv", method), row.names = FALSE, quote = FALSE)
}
R <- huge.npn(X, npn.func = "skeptic", verbose = FALSE)
write.csv(format(R, digits = 16), "huge_npn_skeptic.csv", row.names = FALSE, quote = FALSE)
