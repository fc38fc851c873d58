"""Why an estimator flags rows, as a table."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from torpca._explain import explanation, unusual
from torpca._names import feature_names
from torpca._sources import RowSource


class Explanations:
    """What an outlier detector says about single rows."""

    n_features_in_: int
    _opened: Callable[[Any], RowSource]
    offset_: float
    score_samples: Callable[[Any], npt.NDArray[np.float64]]

    def explain(self, X: Any, top: int = 3) -> Any:
        """Name the features that make rows outliers, with the values that were expected.

        A row is explained by the few features whose replacement by what the others predict makes it
        ordinary, that is, within both limits. These are reconstruction-based contributions (Alcala
        and Qin 2009) of the Mahalanobis distance of the whole row. Several features are found by
        forward selection. If that takes most features or more than `top`, because the row is also
        far out, they are the features without which the others agree. `contributions` splits a
        distance among all features instead, and also blames features that are correlated with a
        bad one.

        Parameters
        ----------
        X : array-like, sparse matrix, Dask array or tensor, of shape (n_samples, n_features)
            Rows to explain. NaN is a missing cell.
        top : int, default=3
            Largest number of features for each row.

        Returns
        -------
        dict of str to ndarray, or DataFrame
            A table of equally long columns, or a DataFrame if `set_output` asks for one. It has one
            line for each feature that explains a row, the most important first. The columns are
            `row`, its number in X, counted from 0; `feature`, its name; `value`; `expected`, the
            value predicted from the features that are not part of the explanation; `low` and
            `high`, the range of 99 in 100 good rows that agree with these features; and `share`,
            the part of the row's squared distance that the feature removes. If a row is far out
            although its features agree, `expected`, `low` and `high` are those of all good rows.
            The table has the rows that `predict` labels -1, and rows with a feature so far from
            what the others predict that only one good row in a thousand has one. Ordinary rows are
            not in it.

        See Also
        --------
        contributions : squared distances, feature by feature.

        References
        ----------
        C. F. Alcala and S. J. Qin, "Reconstruction-based contribution for process monitoring",
        Automatica 45, 2009.

        Examples
        --------
        Three sensors follow the load of a motor, and the speed sensor fails:

        >>> import numpy as np
        >>> from torpca import OutlierRobustPCA
        >>> rng = np.random.default_rng(0)
        >>> load = rng.standard_normal(200)
        >>> X = np.column_stack([50 + 8 * load, 80 + 5 * load, 1450 + 30 * load])
        >>> X += rng.standard_normal((200, 3)) * [0.5, 0.5, 2]
        >>> X[7, 2] = 0
        >>> why = OutlierRobustPCA(1).fit(X).explain(X[7:8])
        >>> why["feature"], why["value"], why["expected"].round()
        (array(['x2'], dtype=object), array([0.]), array([1476.]))
        """
        if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
            raise ValueError(
                f"top={top!r} must be a positive whole number, the largest number of features to "
                "name for a row. Try 3."
            )
        source = self._opened(X)
        scores = self.score_samples(X)
        listed = (scores < self.offset_) | (unusual(self, source) & ~np.isnan(scores))
        rows = np.flatnonzero(listed)
        found = explanation(self, source.take(rows), int(top))
        named = np.asarray(getattr(self, "feature_names_in_", feature_names(self.n_features_in_)))
        there = np.arange(found.features.shape[1]) < found.count[:, None]
        return in_container(
            self,
            {
                "row": np.repeat(rows, found.count),
                "feature": named.astype(object)[found.features[there]],
                "value": found.values[there],
                "expected": found.expected[there],
                "low": found.low[there],
                "high": found.high[there],
                "share": found.shares[there],
            },
        )


def in_container(estimator: Any, columns: dict[str, npt.NDArray[Any]]) -> Any:
    """Columns as the table that `set_output` asks for; as they are, if it does not."""
    own = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    wanted = own or get_config()["transform_output"]
    if wanted in ("pandas", "polars"):
        return import_module(wanted).DataFrame(columns)
    return columns
