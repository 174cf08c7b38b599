from ._solution import (
    Solution as Solution,
)
from .change.density_ratio import (
    density_ratio as density_ratio,
)
from .change.dtrace import (
    dtrace as dtrace,
)
from .change.joint_graphical_lasso import (
    joint_graphical_lasso as joint_graphical_lasso,
)
from .directed.blankets import (
    markov_blankets as markov_blankets,
)
from .directed.boss import (
    boss_bayes_net as boss_bayes_net,
)
from .directed.ges import (
    ges_bayes_net as ges_bayes_net,
)
from .directed.greedy import (
    exact_bayes_net as exact_bayes_net,
)
from .directed.tiers import (
    order_given_weights as order_given_weights,
)
from .discrete.scores import (
    independence_logposterior as independence_logposterior,
    log_score as log_score,
)
from .discrete.search import (
    learn_structure as learn_structure,
)
from .gaussian.graphical_lasso import (
    graphical_lasso as graphical_lasso,
    graphical_lasso_path as graphical_lasso_path,
)
from .gaussian.lagged import (
    lagged_graphical_lasso as lagged_graphical_lasso,
)
from .gaussian.latent import (
    latent_graphical_lasso as latent_graphical_lasso,
)
from .gaussian.refit import (
    refit_precision as refit_precision,
)
from .gaussian.screened import (
    screened_graphical_lasso as screened_graphical_lasso,
)
from .lasso.generalized import (
    generalized_lasso as generalized_lasso,
)
from .space.difference_penalty import (
    difference_penalized as difference_penalized,
)
from .space.locally_constant import (
    locally_constant as locally_constant,
    locally_constant_path as locally_constant_path,
)
