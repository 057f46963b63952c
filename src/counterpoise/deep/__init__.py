"""Networks that learn features for both samples: the one room that is made of torch.

It needs the extra `deep`, and nothing else in the library imports it.
"""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        'counterpoise.deep needs torch: pip install "counterpoise[deep]"'
    ) from error

from counterpoise.deep.classifier import PartialDomainClassifier

__all__ = ["PartialDomainClassifier"]
