"""The order of the gallery: a reader's questions, one after another."""

from pathlib import Path

# Folder of examples -> its examples, in the order in which they are read.
ORDER = {
    "seeing": (
        "plot_is_there_a_shift",
        "plot_which_columns_moved",
        "plot_what_is_covered",
        "plot_label_shift",
        "plot_rows_that_belong_together",
    ),
    "adapting": (
        "plot_adapt_a_model",
        "plot_how_much_of_the_weights",
        "plot_how_good_on_the_target",
        "plot_a_few_labels",
        "plot_which_rows_to_label",
        "plot_intervals_that_hold",
        "plot_some_of_the_classes",
        "plot_report_on_a_model",
        "plot_watch_a_model",
    ),
    "weighing": (
        "plot_weigh_rows",
        "plot_balance",
        "plot_weighters_side_by_side",
        "plot_choose_a_width",
        "plot_bound_the_loss",
        "plot_tables_larger_than_memory",
    ),
    "learning": (
        "plot_flatten_by_the_exact_curve",
        "plot_quantile_bands",
        "plot_ambiguous_pose",
        "plot_articulated_pose",
        "plot_music_mood",
        "plot_price_of_a_bound",
        "plot_frames",
    ),
    "selecting": (
        "plot_classes_of_a_target",
        "plot_prototypes",
        "plot_segmentation",
    ),
    "proving": (
        "plot_certify_any_point",
        "plot_compare_solvers",
        "plot_my_own_objective",
    ),
}
SECTIONS = [f"../examples/{folder}" for folder in ORDER]


def by_reading_order(file_name: str) -> int:
    """Return the place of an example within its section."""
    places = {name: k for names in ORDER.values() for k, name in enumerate(names)}
    return places[Path(file_name).stem]
