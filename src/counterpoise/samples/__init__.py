"""Facts about two samples that several rooms need."""

from counterpoise.samples.discrepancy_measure import discrepancy, discrepancy_spectrum
from counterpoise.samples.domain_scores import DomainScore, domain_score
from counterpoise.samples.effective_size import clip, effective_sample_size, flatten
from counterpoise.samples.measures import MMD, domain_auc, mmd
from counterpoise.samples.moment_pair import DiscrepancySpectrum
from counterpoise.samples.overlap_verdict import Overlap, overlap, thin_share
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.columns import Table
from counterpoise.tables.encoding import TableEncoder

__all__ = [
    "MMD",
    "DiscrepancySpectrum",
    "DomainScore",
    "Overlap",
    "Table",
    "TableEncoder",
    "TwoSamples",
    "clip",
    "discrepancy",
    "discrepancy_spectrum",
    "domain_auc",
    "domain_score",
    "effective_sample_size",
    "flatten",
    "mmd",
    "overlap",
    "thin_share",
]
