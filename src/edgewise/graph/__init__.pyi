from .compare import GraphDifference as GraphDifference, classify_changes as classify_changes
from .graph import Graph as Graph
