"""Configurations whose networks are built in milliseconds."""

from zoo.runs.frozen import Config

SMALL = {
    **dict.fromkeys(("embedding_size", "hidden_size", "glimpse_hidden_size", "filters"), 8),
    **dict.fromkeys(("model_size", "feed_forward_size"), 8),
    "heads": 2,
}


def small(config: Config) -> Config:
    """The configuration with a small network: of these sizes, those that its model has."""
    model = config["model"] | {name: size for name, size in SMALL.items() if name in config["model"]}
    if "widths" in model.get("encoder", {}):
        model["encoder"] = model["encoder"] | {"widths": [8, 8], "feature_size": 8}
    return {**config, "model": model}
