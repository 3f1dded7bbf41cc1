# pip install lightning
import logging

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(0)
x = torch.randn(64, 4)
y = x @ torch.tensor([[1.0], [2.0], [3.0], [4.0]])


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    validation_step = training_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


model = Model()
loader = DataLoader(TensorDataset(x, y), batch_size=16)
trainer = L.Trainer(
    max_epochs=3, enable_progress_bar=False, logger=False, enable_checkpointing=False, accelerator="cpu"
)
trainer.fit(model, loader, loader)
print(trainer.callback_metrics["loss"].item())
print(model.net(x).mean().item())
