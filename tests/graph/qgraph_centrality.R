# Writes qgraph_centrality.csv: node statistics of R's qgraph for the random signed graph that
# test_node_statistics.py writes to qgraph_weights.csv. Run in this folder.
suppressMessages(library(qgraph))
W <- as.matrix(read.csv("qgraph_weights.csv", header = FALSE))
found <- centrality_auto(W)$node.centrality
found$Clustering <- clustcoef_auto(W)$signed_clustZhang
write.csv(format(found, digits = 12), "qgraph_centrality.csv", quote = FALSE, row.names = FALSE)
