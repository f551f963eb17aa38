"""Five thousand nodes and no module: `Flat(2500)`."""
import torch
from torch import nn


class Flat(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x):
        for i in range(self.steps):
            x = torch.relu(x) + i
        return x
