# Writes qgraph_correlation.csv and qgraph_network.csv: cor_auto and EBICglasso of R's qgraph for the
# answers in ../stats/psych_answers.csv, some of them missing and one item turned into a
# measurement, as test_qgraph.py does it too. Run in this folder.
suppressMessages(library(qgraph))
answers <- read.csv("../stats/psych_answers.csv")
n <- nrow(answers)
answers[[1]] <- answers[[1]] + sin(seq_len(n))
for (j in 2:ncol(answers)) answers[(seq_len(n) + j) %% 11 == 0, j] <- NA
S <- suppressMessages(suppressWarnings(cor_auto(answers, forcePD = FALSE)))
network <- EBICglasso(S, n, gamma = 0.5, nlambda = 100, lambda.min.ratio = 0.01)
write_matrix <- function(matrix, file) {
  write.table(format(matrix, digits = 10), file, sep = ",", quote = FALSE, row.names = FALSE,
              col.names = FALSE)
}
write_matrix(S, "qgraph_correlation.csv")
write_matrix(network, "qgraph_network.csv")
