"""Other ways from the same regions and features to segments, families of settings."""

import numpy as np
from skimage import graph
from sklearn.cluster import AgglomerativeClustering, KMeans

from counterpoise.selection.image_features import borders_of, merged

COUNTS = (3, 5, 8, 12, 16, 24)
CUTS = (10, 15, 20, 28, 36, 50)
MERGES = (15, 25, 35, 45, 60, 80)


def over_segmentation(image, record):
    return [record.regions]


def cut_threshold(image, record):
    """Cut the adjacency graph of mean colors at a distance."""
    rag = graph.rag_mean_color(image, record.regions)
    return [
        graph.cut_threshold(record.regions, rag, cut, in_place=False) for cut in CUTS
    ]


def merge_hierarchical(image, record):
    """Merge the most alike neighbors until none are nearer than a distance."""
    rag = graph.rag_mean_color(image, record.regions)
    return [
        graph.merge_hierarchical(
            record.regions,
            rag,
            thresh=threshold,
            rag_copy=True,
            in_place_merge=True,
            merge_func=_mean_of_both,
            weight_func=_distance,
        )
        for threshold in MERGES
    ]


def _distance(rag, source, target, other):
    apart = rag.nodes[target]["mean color"] - rag.nodes[other]["mean color"]
    return {"weight": np.linalg.norm(apart)}


def _mean_of_both(rag, source, target):
    into, gone = rag.nodes[target], rag.nodes[source]
    into["total color"] = into["total color"] + gone["total color"]
    into["pixel count"] += gone["pixel count"]
    into["mean color"] = into["total color"] / into["pixel count"]


def kmeans_and_merge(image, record):
    """Cluster the same features, weighted by area; neighbors of a cluster merge."""
    area = np.bincount(record.regions.ravel())
    borders = borders_of(record.regions, np.zeros(record.regions.shape))
    return [
        merged(
            borders,
            KMeans(_at_most(count, area), n_init=2, random_state=0)
            .fit(record.features, sample_weight=area)
            .labels_,
        )[record.regions]
        for count in COUNTS
    ]


def contiguous_ward(image, record):
    """Merge neighbors by Ward's rule on the same features."""
    area = np.bincount(record.regions.ravel())
    return [
        AgglomerativeClustering(_at_most(count, area), connectivity=record.graph)
        .fit(record.features)
        .labels_[record.regions]
        for count in COUNTS
    ]


def _at_most(count, area):
    return min(count, area.size)


PEERS = {
    "over-segmentation": over_segmentation,
    "cut_threshold": cut_threshold,
    "merge_hierarchical": merge_hierarchical,
    "k-means and merge": kmeans_and_merge,
    "contiguous Ward": contiguous_ward,
}
