"""Facts about two samples that several rooms need."""

from counterpoise.samples.effective_size import clip, effective_sample_size, flatten
from counterpoise.samples.two_samples import TwoSamples

__all__ = ["TwoSamples", "clip", "effective_sample_size", "flatten"]
