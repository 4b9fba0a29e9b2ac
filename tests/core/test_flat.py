"""Nested configurations as one level of names and values."""

from zoo.core.flat import flat


def test_parts_are_called_by_their_class() -> None:
    node = {
        "model": {"_target_": "zoo.networks.X", "_partial_": True, "size": 3, "decoder": {"_target_": "a.Y"}},
        "betas": [0.9, 0.98],
        "none": None,
        "empty": {},
        "on": False,
    }
    assert dict(flat(node, "/")) == {
        "model": "X",
        "model/size": 3,
        "model/decoder": "Y",
        "betas": [0.9, 0.98],
        "empty": {},
        "on": False,
    }
    assert dict(flat(node, "."))["model.size"] == 3
