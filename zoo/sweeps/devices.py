"""On how many devices a stopped run goes on."""

from pathlib import Path

from zoo.config.check import check
from zoo.config.rules import DDP
from zoo.runs.frozen import FILE, thaw, write_config
from zoo.runs.resume import resume_point


def change_devices(folder: Path, devices: int) -> None:
    """Makes a stopped run go on with another number of devices: writes that into its config.yaml.

    Raises:
        CannotResume: it cannot go on.
        ConfigError: its config.yaml cannot be read, or there are not so many devices.
        OSError: it cannot be written.
    """
    path = folder / FILE
    config = thaw(path)
    resume_point(folder, config)
    together = devices > 1 or config["trainer"].get("num_nodes", 1) > 1
    config["trainer"]["devices"] = devices
    if not together:
        config["trainer"]["strategy"] = "auto"
    elif config["trainer"].get("strategy") not in DDP:
        config["trainer"] |= {"strategy": "ddp", "use_distributed_sampler": False}
    check(config)
    write_config(path, config)
