"""Multi30k: its layout, its download, the real files."""

import gzip
import hashlib
import http.client
import io
import logging
import os
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import data.text.multi30k
from data.core.download import PublishedFile
from data.text.corpus import Pair
from data.text.multi30k import FILES, Multi30k
from data.text.translation import TranslationData
from data.text.vocabulary import Bpe

TEXT = {"en": b"A man.\nTwo dogs run.\n", "de": b"Ein Mann.\nZwei Hunde rennen.\n"}


def place(folder: Path, *, packed: bool = True, languages: dict[str, bytes] = TEXT) -> Path:
    raw = folder / "multi30k" / "raw"
    raw.mkdir(parents=True)
    for stem in FILES.values():
        for language, content in languages.items():
            path = raw / f"{stem}.{language}{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(content) if packed else content)
    return raw


def load(**options: Any) -> dict[str, list[Pair]]:
    return {split: list(pairs) for split, pairs in Multi30k(**options).load().items()}


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Replaces the net: each address gives what `answer` makes of it, and is written down."""

    def install(answer: Callable[[str], bytes]) -> list[str]:
        asked: list[str] = []

        def urlopen(url: str, timeout: float) -> io.BytesIO:
            assert 0 < timeout <= 30
            asked.append(url)
            return io.BytesIO(answer(url))

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        return asked

    return install


def unreachable(url: str) -> bytes:
    raise OSError("no route to host")


def cut_off(url: str) -> bytes:
    raise http.client.IncompleteRead(b"")


def publish(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Lets every published file have this content."""
    digest = hashlib.sha256(content).hexdigest()
    files = {
        name: PublishedFile(file.urls, len(content), digest)
        for name, file in data.text.multi30k._PUBLISHED.items()
    }
    monkeypatch.setattr(data.text.multi30k, "_PUBLISHED", files)


def test_later_test_sets_are_splits_where_both_files_lie(
    tmp_path: Path, net: Callable[..., list[str]]
) -> None:
    raw = place(tmp_path)
    before = Multi30k(data_dir=tmp_path).fingerprint()
    (raw / "test_2017_mscoco.en").write_bytes(b"A cat.\n")
    assert set(load(data_dir=tmp_path)) == set(FILES), "a text without its translations is no test"
    (raw / "test_2017_mscoco.de.gz").write_bytes(gzip.compress(b"Eine Katze.\n"))
    splits = load(data_dir=tmp_path)
    assert list(splits) == [*FILES, "test_2017_mscoco"]
    assert splits["test_2017_mscoco"] == [("A cat.", "Eine Katze.")]
    assert Multi30k(data_dir=tmp_path).fingerprint() != before
    assert not net(unreachable)


@pytest.mark.parametrize("packed", [True, False])
def test_files_in_place_are_used(tmp_path: Path, packed: bool, net: Callable[..., list[str]]) -> None:
    place(tmp_path, packed=packed)
    asked = net(unreachable)
    pairs = [("A man.", "Ein Mann."), ("Two dogs run.", "Zwei Hunde rennen.")]
    assert load(data_dir=tmp_path) == dict.fromkeys(("train", "val", "test"), pairs)
    back = load(data_dir=tmp_path, source="de", target="en")
    assert back["train"] == [(german, english) for english, german in pairs]
    assert not asked


def test_other_languages_are_used_where_they_lie(tmp_path: Path) -> None:
    place(tmp_path, languages={"en": b"A man.\n", "fr": b"Un homme.\n"})
    corpus = Multi30k(data_dir=tmp_path, target="fr")
    assert corpus.languages == ("en", "fr")
    assert list(corpus.load()["val"]) == [("A man.", "Un homme.")]
    with pytest.raises(
        FileNotFoundError,
        match=r"raw lacks train\.cs, val\.cs, test_2016_flickr\.cs \(each may end in \.gz\).* for en, fr$",
    ):
        Multi30k(data_dir=tmp_path, target="cs").load()
    with pytest.raises(FileNotFoundError, match="a train file for no language"):
        Multi30k(data_dir=tmp_path / "elsewhere", target="cs").load()


def test_missing_files_are_downloaded_once(
    tmp_path: Path,
    net: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    publish(monkeypatch, gzip.compress(b"x\ny\n", mtime=0))
    asked = net(lambda url: gzip.compress(b"x\ny\n", mtime=0))
    with caplog.at_level(logging.INFO, logger="data.core.download"):
        assert len(load(data_dir=tmp_path)["train"]) == 2
    assert len(asked) == len(caplog.messages) == 6
    assert caplog.messages[0].startswith(f"downloaded {asked[0]} to {tmp_path}"), "own files may lie there"
    Multi30k(data_dir=tmp_path).load()
    assert len(asked) == 6
    assert sorted(path.name for path in (tmp_path / "multi30k" / "raw").iterdir()) == sorted(
        data.text.multi30k._PUBLISHED
    )


def test_a_dead_mirror_or_other_content_leads_to_the_next(
    tmp_path: Path, net: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = gzip.compress(b"x\n", mtime=0)
    publish(monkeypatch, good)
    mirror = data.text.multi30k._URLS[1]
    moved, short, long = b"<html>moved</html>", good[:-1], good + b"more"
    for wrong in (unreachable, cut_off, lambda _: moved, lambda _: short, lambda _: long):
        folder = tmp_path / str(len(os.listdir(tmp_path)))
        net(lambda url, wrong=wrong: good if url.startswith(mirror) else wrong(url))
        assert len(load(data_dir=folder)["train"]) == 1


def test_when_nothing_works_the_error_says_what_to_do(tmp_path: Path, net: Callable[..., list[str]]) -> None:
    raw = place(tmp_path)
    for name in ("val.de.gz", "test_2016_flickr.en.gz", "test_2016_flickr.de.gz"):
        (raw / name).unlink()
    before = sorted(raw.iterdir())
    for answer, reason in (
        (unreachable, "no route to host"),
        (lambda url: b"<html>", "not the published file"),
    ):
        asked = net(answer)
        with pytest.raises(FileNotFoundError) as error:
            Multi30k(data_dir=tmp_path).load()
        message = str(error.value)
        assert message.startswith("val.de.gz (24,681 bytes)")
        assert message.endswith("; likewise test_2016_flickr.en.gz, test_2016_flickr.de.gz")
        assert str(raw / "val.de.gz") in message
        assert all(url in message for url in asked)
        assert len(asked) == 2
        assert reason in message
        assert sorted(raw.iterdir()) == before  # nothing half-made stays


def test_a_download_is_in_place_whole_or_not_at_all(
    tmp_path: Path, net: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = gzip.compress(b"x\n", mtime=0)
    publish(monkeypatch, good)
    net(lambda url: good)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(os, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            Multi30k(data_dir=tmp_path).load()
    assert not list((tmp_path / "multi30k" / "raw").iterdir())


def test_the_folder_may_lie_below_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    place(tmp_path)
    assert len(load(data_dir="~")["train"]) == 2


def test_the_fingerprint_follows_content_and_direction(tmp_path: Path) -> None:
    raw = place(tmp_path)
    first = Multi30k(data_dir=tmp_path).fingerprint()
    assert Multi30k(data_dir=str(tmp_path)).fingerprint() == first
    assert Multi30k(data_dir=tmp_path, source="de", target="en").fingerprint() != first
    (raw / "val.de.gz").write_bytes(gzip.compress(b"Eine Frau.\nZwei Hunde.\n"))
    assert Multi30k(data_dir=tmp_path).fingerprint() != first


def test_unequal_files_leave_nothing_behind(tmp_path: Path) -> None:
    raw = place(tmp_path)
    (raw / "train.de.gz").write_bytes(gzip.compress(b"Ein Mann.\n"))
    module = TranslationData(
        corpus=Multi30k(data_dir=tmp_path),
        tokenizer=Bpe(size=50),
        batch_tokens=100,
        maximum_length=20,
        seed=1,
        cache_dir=tmp_path / "cache",
    )
    with pytest.raises(ValueError, match=r"train\.de\.gz ends first, after 1 lines; .*train\.en\.gz has 2"):
        module.setup()
    left = [path for path in (tmp_path / "cache" / "text").iterdir() if path.suffix != ".lock"]
    assert not left


def test_one_language_twice() -> None:
    with pytest.raises(ValueError, match="both en"):
        Multi30k(data_dir=".", target="en")


@pytest.mark.real_data
def test_the_published_files(tmp_path: Path) -> None:
    corpus = Multi30k(data_dir=os.environ["ZOO_DATA_DIR"])
    for name, file in data.text.multi30k._PUBLISHED.items():
        content = (Path(corpus.data_dir) / "multi30k" / "raw" / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size, file.sha256)
    module = TranslationData(
        corpus=corpus,
        tokenizer=Bpe(size=8000, joint=True),
        batch_tokens=4096,
        maximum_length=100,
        seed=1,
        cache_dir=tmp_path,
    )
    module.setup()
    counts = {"train": ("dropped", 29_000), "val": ("truncated", 1_014), "test": ("truncated", 1_000)}
    for split, (cut, pairs) in counts.items():
        assert (module.report[split]["pairs"], module.report[split][cut]) == (pairs, 0)
    assert module.spec.text("source").size == 8000
    assert list(corpus.load()["train"])[16_509][1] == "@@"
    loader = module.train_dataloader()
    assert loader.batches.real_token_share > 0.93
    texts = [text for batch in loader for text in batch.target_text]
    assert len(texts) == 29_000
    assert sum(bool(re.search(r"\s{2}", text)) for text in texts) > 0  # raw text stays as it is
