# Writes igraph_communities.csv: the communities that R's igraph finds in the graph of
# qgraph_weights.csv, with absolute weights. Run in this folder.
suppressMessages(library(igraph))
W <- abs(as.matrix(read.csv("qgraph_weights.csv", header = FALSE)))
g <- graph_from_adjacency_matrix(W, mode = "undirected", weighted = TRUE)
walktrap <- cluster_walktrap(g, steps = 4)
set.seed(1)
louvain <- cluster_louvain(g)
found <- data.frame(walktrap = walktrap$membership, louvain = louvain$membership)
write.csv(found, "igraph_communities.csv", quote = FALSE, row.names = FALSE)
cat(packageDescription("igraph")$Version, modularity(walktrap), modularity(louvain), "\n")
