"""How a run is named by what was typed for it."""

import pytest

from zoo.runs.typed import named_by


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (["experiment=dates", "seed=2", "logger=csv", "check=true"], "dates"),
        (["model/decoder=luong", "attention=dot"], "dates decoder=luong attention=dot"),
        (["+optimizer.weight_decay=0.1", "data.val=[a,b]"], "dates weight_decay=0.1"),
        (["model.size=8", "data.size=9"], "dates model.size=8 data.size=9"),
        (["model.pretrained=runs/2026-01-31/a_b/", "model.kinds=[a, b]"], "dates pretrained=a_b kinds=[a,b]"),
        (["task.monitor='val/chrf'", "model.name=\x07"], "dates monitor=chrf"),
    ],
)
def test_a_run_is_named_by_what_can_change_its_result(typed: list[str], name: str) -> None:
    assert named_by("dates", typed) == name


def test_a_name_leaves_room_in_the_name_of_a_folder() -> None:
    name = named_by("dates", [f"model.setting_{number}=value" for number in range(9)])
    assert 60 < len(name) <= 80
    assert name.startswith("dates setting_0=value setting_1=value ")
    assert name.endswith(f" +{9 - name.count('=')}")
    assert named_by("dates", [f"model.a={'b' * 99}"]) == "dates"
