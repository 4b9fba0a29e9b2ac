"""The recurrent attention model as it is mostly written: one image, one patch after the other.

MNIST with torchvision's transform of each image, and a sensor that loops over the batch; the network, the
loss and the sizes are those of `experiment=ram_mnist_6` with one episode.

    python torch_ram.py DATA_DIR STEPS
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from common import peak_memory
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from data.images.mnist import MNIST

GLIMPSES, SIZE, STD = 6, 8, 0.12


def patches(images: Tensor, locations: Tensor) -> Tensor:
    """`(B, 64)`: what lies around each image's location; zero outside."""
    side = images.shape[-1]
    padded = F.pad(images, (SIZE,) * 4)
    first = (0.5 * (locations + 1) * side - SIZE / 2 + 0.5).floor().long().clamp(-SIZE, side) + SIZE
    found = []
    for image, (x, y) in zip(padded, first, strict=True):
        found.append(image[:, y : y + SIZE, x : x + SIZE])
    return torch.stack(found).flatten(1)


class Digits(Dataset[tuple[Tensor, int]]):
    """MNIST as torchvision's class gives it, whose files need not be unpacked first."""

    def __init__(self, data_dir: str) -> None:
        split = MNIST(data_dir=data_dir).load().splits["train"]
        self.images, self.labels = split.images[:, 0], split.labels.tolist()
        self.transform = transforms.ToTensor()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.images[number])), self.labels[number]


class Ram(nn.Module):
    """Glimpse network, core, location network, action network and baseline."""

    def __init__(self) -> None:
        super().__init__()
        self.what, self.where = nn.Linear(SIZE * SIZE, 128), nn.Linear(2, 128)
        self.join_what, self.join_where = nn.Linear(128, 256), nn.Linear(128, 256)
        self.core_input, self.core_state = nn.Linear(256, 256), nn.Linear(256, 256)
        self.location, self.action, self.baseline = nn.Linear(256, 2), nn.Linear(256, 10), nn.Linear(256, 1)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """The hybrid loss."""
        state = torch.zeros(len(images), 256)
        log_probs, baselines = [], []
        for _ in range(GLIMPSES):
            mean = self.location(state.detach()).tanh()
            chosen = torch.distributions.Normal(mean, STD)
            where = chosen.sample()
            log_probs.append(chosen.log_prob(where).sum(1))
            baselines.append(self.baseline(state.detach()).squeeze(1))
            what = self.what(patches(images, where)).relu()
            glimpse = (self.join_what(what) + self.join_where(self.where(where).relu())).relu()
            state = (self.core_input(glimpse) + self.core_state(state)).relu()
        logits = self.action(state)
        reward = (logits.argmax(1) == labels).float()[:, None]
        baseline = torch.stack(baselines, 1)
        advantage = reward - baseline.detach()
        reinforce = -(torch.stack(log_probs, 1) * advantage).sum(1).mean()
        loss: Tensor = F.cross_entropy(logits, labels) + 0.3 * (
            reinforce + F.mse_loss(baseline, reward.expand_as(baseline))
        )
        return loss


torch.set_num_threads(2)
torch.manual_seed(1)
data_dir, steps = sys.argv[1], int(sys.argv[2])
loader = DataLoader(Digits(data_dir), batch_size=128, shuffle=True, drop_last=True)
model = Ram()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
rates: list[float] = []
seen = 0
while seen < steps:
    start = time.perf_counter()
    for images, labels in loader:
        optimizer.zero_grad()
        model(images, labels).backward()
        optimizer.step()
        seen += 1
        if seen % 50 == 0:  # a window of its own, loading included
            rates.append(50 * 128 / (time.perf_counter() - start))
            start = time.perf_counter()
        if seen >= steps:
            break
figures = {
    "images_per_second": statistics.median(rates[1:]),
    "parameters": sum(parameter.numel() for parameter in model.parameters()),
    "peak_memory_mib": peak_memory(),
}
print(json.dumps(figures))
