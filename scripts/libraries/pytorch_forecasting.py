# pip install pytorch-forecasting
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import DeepAR, NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import SMAPE, NormalDistributionLoss, QuantileLoss

np.random.seed(0)
frame = pd.DataFrame(
    {"value": np.sin(np.arange(60) / 5) + 3, "group": "a", "time": np.arange(60), "extra": np.random.normal(size=60)}
)
options = {
    "time_idx": "time",
    "target": "value",
    "group_ids": ["group"],
    "max_encoder_length": 12,
    "max_prediction_length": 4,
}
plain = TimeSeriesDataSet(frame, time_varying_unknown_reals=["value"], **options)
rich = TimeSeriesDataSet(frame, time_varying_unknown_reals=["value"], time_varying_known_reals=["extra"], **options)
for make in (
    lambda: (plain, NBeats.from_dataset(plain, widths=[8, 16], backcast_loss_ratio=0.1, loss=SMAPE())),
    lambda: (
        rich,
        TemporalFusionTransformer.from_dataset(
            rich, hidden_size=8, attention_head_size=2, loss=QuantileLoss(), dropout=0.0
        ),
    ),
    lambda: (rich, DeepAR.from_dataset(rich, hidden_size=8, rnn_layers=1, dropout=0.0, loss=NormalDistributionLoss())),
):
    torch.manual_seed(0)
    data, net = make()
    x, y = next(iter(data.to_dataloader(train=False, batch_size=8)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        out = net.eval()(x) if not isinstance(net, DeepAR) else net.train()(x)
        loss = net.loss(out["prediction"], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(net).__name__, loss.item(), sum(p.numel() for p in net.parameters()))
