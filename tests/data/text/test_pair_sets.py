"""Published pairs of texts in their layouts, anyone's own, and what is counted of them."""

import gzip
import json
import math
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.text.corpus import Corpus
from data.text.counterparts import Counterparts
from data.text.matching import MatchingData, word_weights
from data.text.own_pairs import OwnPairs
from data.text.sick import Sick
from data.text.snli import Snli
from data.text.token_pairs import Msrp, TokenPairs, WikiQA
from data.text.vocabulary import Words
from zoo.core.spec import OverlapSpec


def rows_of(corpus: Corpus) -> dict[str, list[tuple[Any, ...]]]:
    return {split: [tuple(row) for row in rows] for split, rows in corpus.load().items()}


def place_tokens(folder: Path, name: str, splits: dict[str, list[tuple[str, str, str, str]]]) -> None:
    for split, rows in splits.items():
        (folder / name / split).mkdir(parents=True)
        for file, column in zip(
            ("a.toks", "b.toks", "sim.txt", "id.txt"), zip(*rows, strict=True), strict=True
        ):
            (folder / name / split / file).write_text("".join(f"{one}\n" for one in column), encoding="utf-8")


QUESTIONS = [("who ?", "he .", "0", "3"), ("who ?", "she\x85 .", "1", "3"), ("why ?", "so", "1.0", "7")]


class TestTokenPairs:
    def test_wikiqa(self, tmp_path: Path) -> None:
        place_tokens(tmp_path, "wikiqa", dict.fromkeys(("train", "dev", "test"), QUESTIONS))
        found = rows_of(WikiQA(data_dir=tmp_path))
        expected = [
            ("who ?", "he .", "other", 3),
            ("who ?", "she\x85 .", "answer", 3),
            ("why ?", "so", "answer", 7),
        ]
        assert found == dict.fromkeys(("train", "val", "test"), expected)

    def test_msrp_holds_out_a_tenth_of_each_class(self, tmp_path: Path) -> None:
        train = [(f"a {n}", f"b {n}", str(int(n % 4 > 0)), str(n)) for n in range(200)]
        place_tokens(tmp_path, "msrp", {"train": train, "test": QUESTIONS})
        found = rows_of(Msrp(data_dir=tmp_path))
        assert Counter(label for *_, label in found["val"]) == {"paraphrase": 15, "different": 5}
        assert sorted(found["train"] + found["val"]) == sorted(
            (left, right, ("different", "paraphrase")[int(label)]) for left, right, label, _ in train
        )
        assert found == rows_of(Msrp(data_dir=tmp_path)), "always the same ones"

    @pytest.mark.parametrize(
        ("file", "content", "said"),
        [
            ("sim.txt", "0\n2\n1\n", "sim.txt, line 2: must be 0 or 1, got '2'"),
            ("id.txt", "1\n1\nx\n", "id.txt, line 3: must be a whole number, got 'x'"),
            ("b.toks", "so\n", "b.toks ends first, after 1 lines"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path: Path, file: str, content: str, said: str) -> None:
        place_tokens(tmp_path, "wikiqa", dict.fromkeys(("train", "dev", "test"), QUESTIONS))
        (tmp_path / "wikiqa" / "dev" / file).write_text(content)
        with pytest.raises(ValueError, match=said):
            rows_of(WikiQA(data_dir=tmp_path))

    @pytest.mark.parametrize("kind", [WikiQA, Msrp])
    def test_missing_files_are_named_with_their_source(self, tmp_path: Path, kind: type[TokenPairs]) -> None:
        with pytest.raises(
            FileNotFoundError, match=r"a\.toks and \d+ more files: get the folder .*castorini"
        ):
            kind(data_dir=tmp_path).check_files()


SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


class TestSick:
    def place(self, folder: Path, *lines: str, end: str = "\r\n") -> Path:
        (folder / "sick").mkdir()
        for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"):
            (folder / "sick" / name).write_bytes("".join(f"{line}{end}" for line in lines).encode())
        return folder

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_labels_or_degrees(self, tmp_path: Path, end: str) -> None:
        folder = self.place(tmp_path, SICK_HEADER, "1\tA cat\tA dog\t3.2\tNEUTRAL", end=end)
        assert rows_of(Sick(data_dir=folder))["test"] == [("A cat", "A dog", "neutral")]
        degrees = Sick(data_dir=folder, degrees=True)
        assert rows_of(degrees)["val"] == [("A cat", "A dog", 3.2)]
        assert degrees.name == "sick_degrees", "other answers, so another set in comparisons"

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            (["1\ta\tb\t3\tNEUTRAL"], "line 1: must name the columns pair_ID"),
            ([SICK_HEADER, "1\ta\tb"], "line 2: 3 columns, must be 5"),
            ([SICK_HEADER, "1\ta\tb\tx\tNEUTRAL"], "line 2: 'x' is no number"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path: Path, lines: list[str], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            rows_of(Sick(data_dir=self.place(tmp_path, *lines), degrees=True))

    def test_missing_files_are_named_with_their_source(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"SICK_train\.txt: get the files of SemEval"):
            Sick(data_dir=tmp_path).check_files()


def test_snli_leaves_out_pairs_without_a_gold_label(tmp_path: Path) -> None:
    (tmp_path / "snli").mkdir()
    lines = [{"gold_label": label, "sentence1": " a ", "sentence2": "b"} for label in ("neutral", "-")]
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    for name in ("snli_1.0_train", "snli_1.0_dev", "train_sample_18000"):
        (tmp_path / "snli" / f"{name}.jsonl").write_bytes(content)
    (tmp_path / "snli" / "snli_1.0_test.jsonl.gz").write_bytes(gzip.compress(content))
    assert all(rows == [("a", "b", "neutral")] for rows in rows_of(Snli(data_dir=tmp_path)).values())
    assert Snli(data_dir=tmp_path, sample=True).name == "snli_sample"
    (tmp_path / "snli" / "snli_1.0_dev.jsonl").write_bytes(b'{"gold_label": "neutral"}\n')
    with pytest.raises(ValueError, match=r"snli_1\.0_dev\.jsonl, line 1: no pair"):
        rows_of(Snli(data_dir=tmp_path))
    (tmp_path / "snli" / "snli_1.0_train.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"snli_1\.0_train\.jsonl, or .*95 MB"):
        Snli(data_dir=tmp_path).check_files()


def test_the_toy_asks_for_the_counterpart() -> None:
    found = rows_of(Counterparts(seed=3, train=400, validation=50, test=50))
    rows = [row for split in found.values() for row in split]
    assert len({row[:2] for row in rows}) == 500, "no pair twice"
    for left, right, answer, places in rows:
        (letter,) = set(left.split()) & set("abcdefghij")
        digits = [word for word in right.split() if word.isdigit()]
        digit = str("abcdefghij".index(letter))
        assert len(set(digits)) == len(digits) == 3
        assert (answer == "yes") == (digit in digits)
        known = {left.split()[place]: right.split()[at] for place, at in enumerate(places) if at >= 0}
        assert known == ({letter: digit} if answer == "yes" else {})
    assert 200 < sum(answer == "yes" for _, _, answer, _ in rows) < 300


class TestOverlap:
    def test_weights_are_inverse_document_frequencies(self) -> None:
        texts = ["the cave", "the ice cave", "cold ice", "the cave"]  # of which three differ
        weights = word_weights(iter(texts))
        assert weights["cave"] == pytest.approx(math.log(3 / 2) / math.log(3))
        assert weights["the"] == 0
        assert "cold" not in weights, "a word of one text weighs 1"

    def test_they_come_from_train_or_from_the_checkpoint(self, tmp_path: Path) -> None:
        def set_up(**options: Any) -> MatchingData:
            data = MatchingData(
                corpus=Counterparts(seed=3, train=100, validation=5, test=5),
                overlap=True,
                tokenizer=Words(joint=True),
                batch_tokens=64,
                maximum_length=12,
                seed=1,
                cache_dir=tmp_path,
                **options,
            )
            data.prepare_data()
            data.setup()
            return data

        data = set_up()
        kept = data.spec.fields["overlap"]
        assert isinstance(kept, OverlapSpec)
        assert kept.weights["k"] < 0.5
        batch = data.batch("val", [0])
        shared = set(batch.left_text[0].split()) & set(batch.right_text[0].split())
        assert float(batch.overlap[0, 0]) == len(shared - {"a", "i"})  # which are stop words
        again = set_up(spec=data.spec)
        assert again.spec.fields["overlap"] is kept


CSV = "question,sentence,ok,topic\n" + "".join(
    f"q {n % 40},s {n},{'yes' if n % 3 else 'no'},t{n % 40}\n" for n in range(400)
)
NAMED = {"left": "question", "right": "sentence", "answer": "ok"}


class TestOwnPairs:
    def corpus(self, folder: Path, content: str = CSV, name: str = "pairs.csv", **options: Any) -> OwnPairs:
        (folder / name).write_text(content, encoding="utf-8")
        return OwnPairs(train=str(folder / name), **(NAMED | options))

    def test_left_texts_stay_together_where_pairs_are_held_out(self, tmp_path: Path) -> None:
        found = rows_of(self.corpus(tmp_path, held_out=0.2))
        lefts = [{left for left, *_ in found[split]} for split in ("train", "val", "test")]
        assert sum(map(len, lefts)) == 40
        assert all(lefts)
        assert sum(map(len, found.values())) == 400

    def test_groups_are_numbered_and_held_out_whole(self, tmp_path: Path) -> None:
        found = rows_of(self.corpus(tmp_path, held_out=0.2, group="topic"))
        for rows in found.values():
            assert len({left for left, *_ in rows}) == len({group for *_, group in rows})
        assert sum(len({group for *_, group in rows}) for rows in found.values()) == 40, "none in two splits"

    def test_the_left_text_may_be_the_group(self, tmp_path: Path) -> None:
        rows = rows_of(self.corpus(tmp_path, held_out=0.2, group="question"))["train"]
        texts = {group: left for left, _, _, group in rows}
        assert len(texts) == len(set(texts.values())) > 20, "a number for each text"
        assert all(texts[group] == left for left, _, _, group in rows)

    @pytest.mark.parametrize("end", [".tsv", ".jsonl"])
    def test_formats_say_the_same(self, tmp_path: Path, end: str) -> None:
        lines = [line.split(",") for line in CSV.splitlines()]
        content = "".join("\t".join(line) + "\n" for line in lines)
        if end == ".jsonl":
            rows = (dict(zip(lines[0], line, strict=True)) for line in lines[1:])
            content = "".join(f"{json.dumps(row)}\n" for row in rows)
        assert rows_of(self.corpus(tmp_path, content, f"pairs{end}")) == rows_of(self.corpus(tmp_path))

    def test_numbers(self, tmp_path: Path) -> None:
        content = "question,sentence,ok\na,b,2.5\n"
        given = {split: str(tmp_path / f"{split}.csv") for split in ("train", "val", "test")}
        for path in given.values():
            Path(path).write_text(content)
        corpus = OwnPairs(**given, **NAMED, degrees=[0, 5])
        assert rows_of(corpus)["test"] == [("a", "b", 2.5)]
        assert str(corpus.columns["degree"]) == "Degree(lowest=0.0, highest=5.0)"

    @pytest.mark.parametrize(
        ("content", "options", "said"),
        [
            (CSV, {"left": "qestion"}, r"line 1: must have 'qestion' \(did you mean 'question'\?\)"),
            (CSV + "q,s\n", {}, "line 402: 2 columns, must be 4"),
            (CSV + "q, ,yes,t\n", {}, "line 402 lacks question, sentence or ok"),
            (CSV, {"degrees": [0, 1]}, "line 2: 'ok' must be a number, got 'no'"),
            (
                "question,sentence,ok\na,b,1\nc,d,7\n",
                {"degrees": [0, 5]},
                "line 3: 'ok' .*from 0 to 5, got 7",
            ),
            (CSV, {"labels": ["yes", "maybe"]}, "line 2: 'ok' .*yes, maybe, got 'no'"),
            (CSV.replace("yes", "no"), {}, "pairs.csv has one label, 'no'"),
            ("question,sentence,ok\n", {}, "pairs.csv has no pairs"),
        ],
    )
    def test_what_is_wrong_is_named_before_a_run(
        self, tmp_path: Path, content: str, options: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ValueError, match=said):
            self.corpus(tmp_path, content, **options).check_files()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"degrees": [5, 0]}, "degrees must be the lowest and the highest number"),
            ({"degrees": [0, math.inf]}, "degrees must be the lowest and the highest number"),
            ({"degrees": [0, 5], "labels": ["a", "b"]}, "labels must be null"),
            ({"labels": ["no", "yes", "no"]}, r"labels must be two or more, .*got \['no', 'yes', 'no'\]"),
            ({"labels": ["no"]}, "labels must be two or more"),
            ({"labels": []}, "labels must be two or more"),
            ({"degrees": [0, 5], "group": "topic"}, "group must be null"),
            ({"right": "question"}, "must name different columns"),
            ({"group": "sentence"}, "must name different columns"),
            ({"held_out": 0.5}, "held_out must be above 0 and below 0.5"),
            ({"val": "nowhere.csv"}, "val needs nowhere.csv, which does not exist"),
            ({"val": "/"}, "val must be a .csv.*; / is a folder"),
        ],
    )
    def test_settings_that_do_not_fit_are_refused(
        self, tmp_path: Path, options: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ValueError, match=said):
            self.corpus(tmp_path, **options)

    def test_the_line_of_an_answer_that_train_lacks_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "test.csv").write_text("question,sentence,ok\na,b,yes\nc,d,yess\n")
        corpus = self.corpus(tmp_path, test=str(tmp_path / "test.csv"))
        with pytest.raises(ValueError, match=r"test\.csv, line 3: ok 'yess' .*did you mean yes\?"):
            corpus.check_files()
        with pytest.raises(ValueError, match=r"test\.csv, line 3: ok 'yess'"):
            rows_of(corpus)

    @pytest.mark.parametrize(
        ("options", "answer", "said"),
        [
            ({"group": "topic"}, "no", "split val: no pair has the label 'yes', .*nothing to rank"),
            ({"degrees": [0, 5]}, "5", "split val: all pairs have the degree 5"),
        ],
    )
    def test_what_cannot_be_ranked_is_refused_before_training(
        self, tmp_path: Path, options: dict[str, Any], answer: str, said: str
    ) -> None:
        lines = "question,sentence,ok,topic\n" + "".join(f"q {n},s,{answer},t\n" for n in range(3))
        (tmp_path / "val.csv").write_text(lines)
        content = CSV if answer == "no" else CSV.replace("yes", "1").replace("no", "2")
        with pytest.raises(ValueError, match=said):
            MatchingData(
                corpus=self.corpus(tmp_path, content, val=str(tmp_path / "val.csv"), **options),
                tokenizer=Words(joint=True),
                batch_tokens=64,
                maximum_length=12,
                seed=1,
                cache_dir=tmp_path,
            ).setup()

    def test_nothing_named_says_what_may_be(self) -> None:
        with pytest.raises(ValueError, match=r"train must name a \.csv, \.tsv or \.jsonl file"):
            OwnPairs(train=None)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (WikiQA, (8672, 1130, 2351)),
        (Msrp, (3668, 408, 1725)),
        (Sick, (4500, 500, 4927)),
        (lambda data_dir: Snli(data_dir=data_dir, sample=True), (18000, 9842, 9824)),
    ],
    ids=["wikiqa", "msrp", "sick", "snli_sample"],
)
def test_the_real_sets_have_their_published_counts(
    make: Callable[..., Corpus], counts: tuple[int, int, int]
) -> None:
    corpus = make(data_dir=os.environ["ZOO_DATA_DIR"])
    found = rows_of(corpus)
    assert tuple(len(found[split]) for split in ("train", "val", "test")) == counts
    if "group" in corpus.columns:
        assert [len({row[3] for row in found[split]}) for split in found] == [873, 126, 243]
