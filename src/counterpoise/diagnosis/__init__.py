"""What has shifted between two samples, and what is still covered."""

from counterpoise.diagnosis.diagnosing import diagnose
from counterpoise.diagnosis.diagnosis import Diagnosis
from counterpoise.diagnosis.features import FeatureShift
from counterpoise.diagnosis.thin_rows import ThinColumn, ThinRows

__all__ = ["Diagnosis", "FeatureShift", "ThinColumn", "ThinRows", "diagnose"]
