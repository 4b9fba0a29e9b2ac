"""The data module of every translation task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torch.nn.functional import pad

from data.text.columns import Text
from data.text.rows import RowBatch
from data.text.text_data import TextData
from zoo.core.batch import Padded
from zoo.tasks.translation.batch import TranslationBatch

if TYPE_CHECKING:
    from data.text.preparation import Prepared


class TranslationData(TextData):
    """Sentence pairs as token batches; see `TextData`.

    Longer pairs than `maximum_length` are not trained on; in evaluation longer sources lose their end.

    After `setup`:

    Attributes:
        baselines: for each test split, `majority_exact_match` in [0, 1]: always answering the most frequent
            training target.
    """

    batch_type = TranslationBatch
    needs: ClassVar = {"source": (Text,), "target": (Text,)}
    noun = "pairs"
    drops_long = True
    loss_over = "target"

    @staticmethod
    def collate(rows: RowBatch) -> TranslationBatch:
        """The batch: targets begin with BOS, and keep the alignment where there is one."""
        target, bos = rows.text["target"], rows.spec.text("target").bos
        return TranslationBatch(
            index=rows.index,
            source=rows.text["source"],
            target=Padded(pad(target.ids, (1, 0), value=bos), target.lengths + 1),
            source_text=rows.raw["source"],
            target_text=rows.raw["target"],
            alignment=rows.values.get("alignment"),
            loss_weight=rows.loss_weight,
        )

    def _baselines(self, prepared: Prepared) -> dict[str, dict[str, float]]:
        shares = prepared.majority["target"]
        return {split: {"majority_exact_match": share} for split, share in shares.items()}
