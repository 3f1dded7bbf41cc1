# pip install fastai torchvision==0.28.0
import numpy as np
import pandas as pd
import torch
from fastai.callback.schedule import fit_one_cycle  # noqa: F401
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.metrics import accuracy
from fastai.tabular.all import Categorify, CategoryBlock, FillMissing, Normalize, TabularDataLoaders, tabular_learner
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(64, 5), torch.randint(0, 3, (64,))
loaders = DataLoaders(DataLoader(TensorDataset(x, y), 16), DataLoader(TensorDataset(x, y), 16))
learner = Learner(
    loaders, nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)), nn.CrossEntropyLoss(), metrics=accuracy
)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(3, 1e-2)
print(learner.recorder.values[-1])
random = np.random.default_rng(0)
frame = pd.DataFrame({"a": random.normal(size=80), "b": random.integers(0, 4, 80), "y": random.integers(0, 2, 80)})
loaders = TabularDataLoaders.from_df(
    frame,
    procs=[Categorify, FillMissing, Normalize],
    cat_names=["b"],
    cont_names=["a"],
    y_names="y",
    y_block=CategoryBlock(),
    bs=16,
    valid_idx=range(20),
    seed=1,
    num_workers=0,
)
torch.manual_seed(1)
learner = tabular_learner(loaders, layers=[8], metrics=accuracy)
print(sum(p.numel() for p in learner.model.parameters()))
with learner.no_bar(), learner.no_logging():
    learner.fit(2, 1e-2)
print(len(learner.recorder.values), learner.recorder.values[-1][1] < 2)
