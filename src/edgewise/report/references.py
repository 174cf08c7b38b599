"""Papers behind the methods, and how a methods section would put each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BIBTEX: Final = {
    "friedman2008": """@article{friedman2008,
  author = {Friedman, Jerome and Hastie, Trevor and Tibshirani, Robert},
  title = {Sparse inverse covariance estimation with the graphical lasso},
  journal = {Biostatistics}, volume = {9}, number = {3}, pages = {432--441}, year = {2008},
  doi = {10.1093/biostatistics/kxm045}
}""",
    "meinshausen2006": """@article{meinshausen2006,
  author = {Meinshausen, Nicolai and B{\\"u}hlmann, Peter},
  title = {High-dimensional graphs and variable selection with the lasso},
  journal = {Annals of Statistics}, volume = {34}, number = {3}, pages = {1436--1462},
    year = {2006},
  doi = {10.1214/009053606000000281}
}""",
    "honorio2009": """@inproceedings{honorio2009,
  author = {Honorio, Jean and Ortiz, Luis and Samaras, Dimitris and Paragios, Nikos
    and Goldstein, Rita},
  title = {Sparse and locally constant {G}aussian graphical models},
  booktitle = {Advances in Neural Information Processing Systems 22}, year = {2009}
}""",
    "schluter2018": """@article{schluter2018,
  author = {Schl{\\"u}ter, Federico and Strappa, Yanela and Milone, Diego H. and Bromberg, Facundo},
  title = {Blankets joint posterior score for learning {M}arkov network structures},
  journal = {International Journal of Approximate Reasoning}, volume = {92}, pages = {295--320},
  year = {2018}, doi = {10.1016/j.ijar.2017.10.018}
}""",
    "liu2014": """@article{liu2014,
  author = {Liu, Song and Quinn, John A. and Gutmann, Michael U. and Suzuki, Taiji
    and Sugiyama, Masashi},
  title = {Direct learning of sparse changes in {M}arkov networks by density ratio estimation},
  journal = {Neural Computation}, volume = {26}, number = {6}, pages = {1169--1197}, year = {2014},
  doi = {10.1162/NECO_a_00589}
}""",
    "yuan2017": """@article{yuan2017,
  author = {Yuan, Huili and Xi, Ruibin and Chen, Chong and Deng, Minghua},
  title = {Differential network analysis via lasso penalized {D}-trace loss},
  journal = {Biometrika}, volume = {104}, number = {4}, pages = {755--770}, year = {2017},
  doi = {10.1093/biomet/asx049}
}""",
    "zhang2010": """@inproceedings{zhang2010,
  author = {Zhang, Bai and Wang, Yue},
  title = {Learning structural changes of {G}aussian graphical models in controlled experiments},
  booktitle = {Proceedings of the 26th Conference on Uncertainty in Artificial Intelligence},
    year = {2010}
}""",
    "liu2010": """@inproceedings{liu2010,
  author = {Liu, Han and Chen, Xi and Lafferty, John and Wasserman, Larry},
  title = {Graph-valued regression},
  booktitle = {Advances in Neural Information Processing Systems 23}, year = {2010}
}""",
    "tsamardinos2003": """@inproceedings{tsamardinos2003,
  author = {Tsamardinos, Ioannis and Aliferis, Constantin F. and Statnikov, Alexander},
  title = {Algorithms for large scale {M}arkov blanket discovery},
  booktitle = {Proceedings of the 16th International FLAIRS Conference}, year = {2003}
}""",
    "meek1995": """@inproceedings{meek1995,
  author = {Meek, Christopher},
  title = {Causal inference and causal explanation with background knowledge},
  booktitle = {Proceedings of the 11th Conference on Uncertainty in Artificial Intelligence},
    year = {1995}
}""",
    "zhou2016": """@article{zhou2016,
  author = {Zhou, Luping and Wang, Lei and Liu, Lingqiao and Ogunbona, Philip and Shen, Dinggang},
  title = {Learning discriminative {B}ayesian networks from high-dimensional continuous
    neuroimaging data},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence}, volume = {38},
  number = {11}, pages = {2269--2283}, year = {2016}, doi = {10.1109/TPAMI.2015.2511754}
}""",
    "nadeau2003": """@article{nadeau2003,
  author = {Nadeau, Claude and Bengio, Yoshua},
  title = {Inference for the generalization error},
  journal = {Machine Learning}, volume = {52}, pages = {239--281}, year = {2003},
  doi = {10.1023/A:1024068626366}
}""",
    "efron1979": """@article{efron1979,
  author = {Efron, Bradley},
  title = {Bootstrap methods: another look at the jackknife},
  journal = {Annals of Statistics}, volume = {7}, number = {1}, pages = {1--26}, year = {1979},
  doi = {10.1214/aos/1176344552}
}""",
}


@dataclass(frozen=True)
class Method:
    """What a methods section says of an estimator, and the papers it cites."""

    sentence: str
    keys: tuple[str, ...]


METHODS: Final = {
    "GaussianGraph": Method(
        "The network was estimated by the graphical lasso (Friedman et al. 2008): two variables "
        "are joined if their partial correlation given all others is not zero.",
        ("friedman2008",),
    ),
    "NeighborhoodGraph": Method(
        "The network was estimated by a lasso regression of each variable on all others "
        "(Meinshausen and Bühlmann 2006).",
        ("meinshausen2006",),
    ),
    "LocallyConstantGraph": Method(
        "The network was estimated as a sparse and locally constant Gaussian graphical model "
        "(Honorio et al. 2009), in which partial dependences of neighbouring sites tend to be "
        "equal.",
        ("honorio2009",),
    ),
    "DiscreteMarkovNet": Method(
        "The structure of the Markov network was learned by scoring Markov blankets (Schlüter et "
        "al. 2018).",
        ("schluter2018",),
    ),
    "NetworkChange": Method(
        "The change between the networks of the two groups was estimated directly, by the ratio "
        "of their densities (Liu et al. 2014), without estimating either network.",
        ("liu2014",),
    ),
    "DTraceChange": Method(
        "The difference of the two precision matrices was estimated by the lasso-penalised "
        "D-trace loss (Yuan et al. 2017).",
        ("yuan2017",),
    ),
    "FusedNetworkChange": Method(
        "The networks of the two groups were estimated together, with a penalty on their "
        "difference (Zhang and Wang 2010).",
        ("zhang2010",),
    ),
    "SeparateNetworkChange": Method(
        "The networks of the two groups were estimated by one graphical lasso each (Friedman et "
        "al. 2008) and subtracted.",
        ("friedman2008",),
    ),
    "GraphTree": Method(
        "The way the network varies with the covariates was estimated by graph-valued regression "
        "(Liu et al. 2010): a dyadic tree splits the covariates, and each leaf has a graph of its "
        "own.",
        ("liu2010", "friedman2008"),
    ),
    "BlanketBayesNet": Method(
        "Directions were learned from Markov blankets found by tests of partial correlations "
        "(Tsamardinos et al. 2003) and oriented by Meek's rules (Meek 1995), up to Markov "
        "equivalence.",
        ("tsamardinos2003", "meek1995"),
    ),
    "GaussianBayesNet": Method(
        "A sparse Gaussian Bayesian network was learned by a penalised order of the variables "
        "(Zhou et al. 2016).",
        ("zhou2016",),
    ),
    "BayesNetClassifier": Method(
        "One sparse Gaussian Bayesian network was learned for each class (Zhou et al. 2016). "
        "Accuracies are means over cross-validation folds, with standard errors that account for "
        "shared training rows (Nadeau and Bengio 2003).",
        ("zhou2016", "nadeau2003"),
    ),
    "BootstrapGraph": Method(
        "The confidence of an edge is the share of bootstrap resamples (Efron 1979) whose network "
        "has it.",
        ("efron1979",),
    ),
}
