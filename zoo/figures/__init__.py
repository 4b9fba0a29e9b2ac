"""Pure functions: arrays in, a matplotlib figure out; nothing global is read or changed."""

from zoo.figures.alignments import alignment, alignment_sheet
from zoo.figures.bit_sequences import bit_sequence_sheet
from zoo.figures.captions import Captioned, caption_sheet, captioned
from zoo.figures.comparison import metric_with_intervals, pareto_front, quality_against_cost
from zoo.figures.curves import learning_curve, rate_curve, score_by_length
from zoo.figures.glimpses import game_sheet, glimpse_sheet
from zoo.figures.heads import head_grid, head_grids
from zoo.figures.layer_costs import layer_costs
from zoo.figures.locations import location_histogram
from zoo.figures.matrix import Panel, side_by_side
from zoo.figures.png import png, render
from zoo.figures.shaded_texts import ShadedSentence, ShadedText, shaded_sheet

__all__ = [
    "Captioned",
    "Panel",
    "ShadedSentence",
    "ShadedText",
    "alignment",
    "alignment_sheet",
    "bit_sequence_sheet",
    "caption_sheet",
    "captioned",
    "game_sheet",
    "glimpse_sheet",
    "head_grid",
    "head_grids",
    "layer_costs",
    "learning_curve",
    "location_histogram",
    "metric_with_intervals",
    "pareto_front",
    "png",
    "quality_against_cost",
    "rate_curve",
    "render",
    "score_by_length",
    "shaded_sheet",
    "side_by_side",
]
