"""The data module of every captioning task: images, their captions, a vocabulary, batches."""

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
import torch
from torch.utils.data import Dataset

from data.captions.caption_set import CaptionSet, CaptionSplit, Encoder, Items, Wanted, image_spec
from data.core.batching import Layout, Part, ShuffledBatches
from data.core.data_module import DataModule, check_same_data, require_at_least
from data.core.keyed_random import keys, split_key
from data.core.ragged import Ints, Ragged
from data.images.augmentation import Augmentation
from data.text.vocabulary import MUCH_UNKNOWN, Vocabulary
from zoo.core.batch import Padded
from zoo.core.image import as_float
from zoo.core.spec import DataSpec, FieldSpec, TextSpec
from zoo.core.text import TextCodec, text_spec
from zoo.tasks.captioning.batch import CaptionBatch

_log = logging.getLogger(__name__)

_SIDES = re.compile(r"\b(left|right)\b", re.IGNORECASE)


def words_alone(caption: str) -> str:
    """A caption as models read and write it: small letters, no punctuation but inside words (`t-shirt`)."""
    small = normalize("NFC", caption.lower()).replace("’", "'")
    return " ".join(_no_word(small.isascii()).sub(" ", small).split())


@cache
def _no_word(in_ascii: bool) -> re.Pattern[str]:
    """What is no part of a word; four times as fast where there is nothing but ASCII."""
    letters = r"\w"
    if not in_ascii:  # vowel signs and accents that are characters of their own; all but rare ones lie below
        letters += "".join(chr(code) for code in range(0x20000) if category(chr(code)).startswith("M"))
    return re.compile(rf"[^{letters}'-]+|(?<![{letters}])['-]+|['-]+(?![{letters}])")


class CaptionData(DataModule):
    """Images with captions in batches.

    In training an item is an image with one caption, in evaluation an image with all. What a training item
    looks like is a function of seed, epoch and index alone.

    After `setup`:

    Attributes:
        spec: what a task must know of the data.
        test_splits: `test`.
        report: for each split the number of `images`; for train how many captions were `dropped` as too long
            or without a word; for the others how many were `truncated`, which are fed to a model without
            their end, but are whole as references; and which share of the tokens is `unknown`. Of pictures in
            files, the number of `captions`, and how many pictures were `missing` or `broken`.
    """

    batch_type = CaptionBatch

    def __init__(
        self,
        *,
        captions: CaptionSet,
        tokenizer: Vocabulary,
        image_size: int,
        batch_size: int,
        maximum_length: int,
        seed: int,
        cache_dir: str | Path,
        captions_together: bool = False,
        augmentation: Augmentation | None = None,
        features: Callable[[], Encoder] | None = None,
        num_workers: int = 0,
        worker_timeout: float = 300.0,
        spec: DataSpec | None = None,
    ) -> None:
        """Reads nothing yet.

        Args:
            captions: the images and their captions.
            tokenizer: how to make the vocabulary from the captions of the train split.
            image_size: pixels along each side.
            batch_size: items in a batch, in each process; the last batch of an epoch may have fewer.
            maximum_length: tokens of the longest caption, EOS included. Longer ones are not trained on; where
                evaluation feeds one to a model it loses its end, but references are always whole.
            seed: of the order of training batches, and of what training images look like.
            cache_dir: where decoded pictures and features are kept.
            captions_together: whether all captions of an image to train on are in one batch (two, where one
                ends), which has the image once: it is encoded once for all of them.
            augmentation: how training images vary; None leaves them as they are.
            features: makes a frozen encoder, whose features are stored and take the place of images.
            num_workers: see `DataModule`.
            worker_timeout: see there.
            spec: the specification in a checkpoint: its vocabulary is used and none is trained.

        Raises:
            ValueError: a number is too small, stored features should vary, or the set cannot be made so.
        """
        super().__init__(seed=seed, num_workers=num_workers, worker_timeout=worker_timeout)
        require_at_least(
            ("image_size", image_size, 16),
            ("batch_size", batch_size, 1),
            ("maximum_length", maximum_length, 2),
        )
        if augmentation and features:
            raise ValueError(
                "augmentation must be null where features are stored: they are made of each image once"
            )
        self.captions, self.tokenizer, self.augmentation = captions, tokenizer, augmentation
        self.batch_size, self.maximum_length = batch_size, maximum_length
        self.captions_together = captions_together
        self._wanted = Wanted(image_size, Path(cache_dir), seed, features)
        captions.check(self._wanted)
        self._given = spec
        self._loaded: dict[str, CaptionSplit] | None = None
        self._splits: dict[str, EncodedCaptions] = {}  # type: ignore[assignment]

    def placeholder(self) -> dict[str, FieldSpec]:
        """See `DataModule`."""
        words = text_spec(self.tokenizer.placeholder("word"), maximum_length=self.maximum_length)
        return {"image": image_spec(self._wanted.image_size), "target": words}

    def check_files(self) -> None:
        """Sees before a run that all files are there.

        Raises:
            FileNotFoundError: a file is missing.
        """
        self.captions.check_files()

    def prepare_data(self) -> None:
        """Decodes or encodes the pictures unless that was done; under several processes, one calls this."""
        self._load()

    def setup(self, stage: str | None = None) -> None:
        """Maps the images into memory and encodes the captions.

        Raises:
            ValueError: a file cannot be used, no caption can be trained on, none has a word that is known, or
                the data is not that of the given specification.
            FileNotFoundError: files are missing.
        """
        if self._spec is not None:
            return
        loaded = self._load()
        if self._given is None:
            vocabulary = self.tokenizer.train(map(words_alone, loaded["train"].sentences))
        else:
            vocabulary = self._given.text("target").tokenizer
        target = text_spec(vocabulary, maximum_length=self.maximum_length, language="en")
        spec = DataSpec(
            name=self.captions.name,
            fields={"image": image_spec(self._wanted.image_size), "target": target},
            test_hash=loaded["test"].content_hash(),
            vocabulary_hash=hashlib.sha256(vocabulary.encode()).hexdigest(),
        )
        if self._given is not None:
            check_same_data(self._given, spec)
        for name, split in loaded.items():
            training = name == "train"
            encoded = EncodedCaptions(
                split,
                target,
                key=split_key(name, self.seed),
                training=training,
                together=training and self.captions_together,
                augmentation=self.augmentation if training else None,
            )
            self.report[name] = {**split.report, **encoded.report}
            unknown = encoded.report["unknown"]
            if unknown:
                message = "%s, split %s: %.2f %% of the words of the captions are unknown"
                level = logging.WARNING if unknown > MUCH_UNKNOWN else logging.INFO
                _log.log(level, message, self.captions.name, name, 100 * unknown)
            for what in ("missing", "broken", "dropped", "truncated"):
                if count := self.report[name].get(what):
                    _log.warning("%s, split %s: %d %s", self.captions.name, name, count, _LEFT_OUT[what])
            self._splits[name] = encoded
        self._spec = spec

    def batch(self, split: str, numbers: Sequence[int]) -> CaptionBatch:
        """Items of a split by their numbers, with images also where features are stored, and none varied."""
        return self._splits[split].whole(Part(0, np.asarray(numbers)))

    def references(self, split: str) -> list[list[str]]:
        """All raw captions of each image, in the order of the split; also of images to train on."""
        return self._load()[split].references()

    def _load(self) -> dict[str, CaptionSplit]:
        if self._loaded is None:
            self._loaded = self.captions.splits(self._wanted)
        return self._loaded

    def _batches(self, split: str, seed: int | None, layout: Layout) -> ShuffledBatches:
        items = self._splits[split]
        return ShuffledBatches(
            len(items),
            self.batch_size,
            seed=seed,
            together=items.images if self.captions_together else None,
            sizes=items.tokens,
            layout=layout,
        )


_LEFT_OUT = {
    "missing": "images have captions but no file, and are left out",
    "broken": "images cannot be read, and are left out",
    "dropped": "captions are longer than data.maximum_length or have no word, and are not trained on",
    "truncated": "captions lose their end where they are fed to the model; references are whole",
}


class EncodedCaptions(Dataset[CaptionBatch]):
    """Items of one split; indexed by `Part`, it makes whole batches.

    Attributes:
        report: how many captions are not as they were, and the share of unknown tokens.
    """

    def __init__(
        self,
        split: CaptionSplit,
        target: TextSpec,
        *,
        key: tuple[int, int],
        training: bool,
        together: bool,
        augmentation: Augmentation | None,
    ) -> None:
        """Encodes every caption.

        Args:
            split: images and captions.
            target: describes the ids.
            key: begins the keys of the random numbers.
            training: whether items are pairs of image and caption.
            together: whether an image is in a batch once, for all of its captions there.
            augmentation: how images vary.

        Raises:
            ValueError: no caption can be trained on.
        """
        self._pad, self._key, self._together, self._augmentation = target.pad, key, together, augmentation
        rows = TextCodec(target).encode([words_alone(sentence) for sentence in split.sentences])
        lengths: Ints = np.array([len(row) for row in rows], dtype=np.int64)
        too_long = lengths > target.maximum_length
        unknown, words = sum(row.count(target.unk) for row in rows), int((lengths - 1).sum())
        self.report: dict[str, float] = {"unknown": unknown / max(words, 1)}
        if training:
            usable = (lengths > 1) & ~too_long
            try:
                split = split.to_train_on(usable)
            except ValueError as error:
                longest = f"the longest of {lengths.max()} tokens"
                raise ValueError(
                    f"{error} ({longest}, data.maximum_length={target.maximum_length})"
                ) from None
            self.report["dropped"] = int((~usable).sum())
        else:
            self.report["truncated"] = int(too_long.sum())
        for number in np.flatnonzero(too_long):
            rows[number][target.maximum_length - 1 :] = [target.eos]
        self._split = split
        self._ids = Ragged.of_rows([(target.bos, *row) for row in rows])
        self.images = split.images

    def __len__(self) -> int:
        return len(self._split)

    def __getitem__(self, chosen: Part) -> CaptionBatch:
        items = self._split.items(chosen, pixels=not self._split.has_features)
        shown, image_of = np.arange(len(chosen.rows)), None
        if self._together:
            _, shown, places = np.unique(self.images[chosen.rows], return_index=True, return_inverse=True)
            items = items._replace(
                pixels=None if items.pixels is None else items.pixels[shown],
                features=None if items.features is None else items.features[shown],
            )
            image_of = torch.from_numpy(places)
        batch = self._batch(chosen, items)._replace(image_of=image_of)
        if self._augmentation is None or batch.images is None:
            return batch
        # Other random numbers than those an image may be made of.
        drawn = keys(*self._key, chosen.epoch, chosen.rows[shown], 1)
        mirror = self._augmentation.mirror
        sided = np.array([mirror and any(map(_SIDES.search, items.references[item])) for item in shown])
        return batch._replace(images=self._augmentation.views(batch.images, drawn, sided))

    def tokens(self, epoch: int, rows: Ints) -> Ints:
        """`(B,)`, how many a model must predict of each item."""
        return self._ids.lengths[self._split.sentences_of(Part(epoch, rows))] - 1

    def whole(self, chosen: Part) -> CaptionBatch:
        """The batch with images in any case, as they are."""
        return self._batch(chosen, self._split.items(chosen, pixels=True))

    def _batch(self, chosen: Part, items: Items) -> CaptionBatch:
        features = items.features
        return CaptionBatch(
            index=torch.from_numpy(chosen.rows),
            images=None if items.pixels is None else as_float(torch.from_numpy(items.pixels)),
            features=None if features is None else torch.from_numpy(features.astype(np.float32)),
            captions=self._padded(items.sentences),
            references=items.references,
            names=items.names,
            truths=items.truths,
            loss_weight=chosen.loss_weight,
        )

    def _padded(self, sentences: Ints) -> Padded:
        lengths = self._ids.lengths[sentences]
        ids = self._ids.padded(sentences, lengths, self._pad)
        return Padded(torch.from_numpy(ids), torch.from_numpy(lengths))
