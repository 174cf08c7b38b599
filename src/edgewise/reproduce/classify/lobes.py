"""In which lobe of the brain a region lies, by parts of its name."""

from __future__ import annotations

from typing import Final

FRONTAL: Final = "frontal"
PARIETAL: Final = "parietal"
OCCIPITAL: Final = "occipital"
TEMPORAL: Final = "temporal"
INSULA: Final = "insula"
CINGULATE: Final = "cingulate"
SUBCORTICAL: Final = "subcortical"
OTHER: Final = "other"
LOBES: Final = (
    FRONTAL, PARIETAL, OCCIPITAL, TEMPORAL, INSULA, CINGULATE, SUBCORTICAL, OTHER,
)  # fmt: skip

#: Parts of the names of Destrieux' gyri (G) and sulci (S) and of FreeSurfer's volumes, in lower
#: case; the first that a name contains decides. A sulcus between two lobes counts to the lobe in
#: front of it, the lateral fissure to the insula beneath it; hippocampus and amygdala lie in the
#: temporal lobe.
PARTS: Final = (
    ("cingul", CINGULATE),
    ("pericallosal", CINGULATE),
    ("insula", INSULA),
    ("g_ins_", INSULA),
    ("lat_fis", INSULA),
    ("orbital", FRONTAL),
    ("front", FRONTAL),
    ("precentral", FRONTAL),
    ("paracentral", FRONTAL),
    ("subcentral", FRONTAL),
    ("s_central", FRONTAL),
    ("rectus", FRONTAL),
    ("subcallosal", FRONTAL),
    ("pariet", PARIETAL),
    ("postcentral", PARIETAL),
    ("precuneus", PARIETAL),
    ("interm_prim", PARIETAL),
    ("med-lingual", OCCIPITAL),
    ("collat_transv_post", OCCIPITAL),
    ("collat_transv_ant", TEMPORAL),
    ("oc-temp", TEMPORAL),
    ("occipital", OCCIPITAL),
    ("cuneus", OCCIPITAL),
    ("calcarine", OCCIPITAL),
    ("s_oc_", OCCIPITAL),
    ("temp", TEMPORAL),
    ("hippocampus", TEMPORAL),
    ("amygdala", TEMPORAL),
    ("thalamus", SUBCORTICAL),
    ("caudate", SUBCORTICAL),
    ("putamen", SUBCORTICAL),
    ("pallidum", SUBCORTICAL),
    ("accumbens", SUBCORTICAL),
    ("ventraldc", SUBCORTICAL),
)


def lobe_of(region: str) -> str:
    """Name the lobe of a region.

    Parameters
    ----------
    region : str
        Such as ``lh_G_front_sup`` or ``Left-Amygdala``.

    Returns
    -------
    str
        One of `LOBES`; ``"other"`` for ventricles, cerebellum, brain stem and unknown names.

    Examples
    --------
    >>> lobe_of("lh_S_parieto_occipital"), lobe_of("rh_G_oc-temp_med-Lingual"), lobe_of("CSF")
    ('parietal', 'occipital', 'other')
    """
    name = region.lower()
    return next((lobe for part, lobe in PARTS if part in name), OTHER)
