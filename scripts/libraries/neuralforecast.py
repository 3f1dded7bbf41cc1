# pip install neuralforecast
import logging

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MAE, MQLoss
from neuralforecast.models import MLP, NBEATS, NHITS

logging.disable(logging.CRITICAL)
frame = pd.DataFrame(
    {"unique_id": "a", "ds": pd.date_range("2020-01-01", periods=80), "y": np.sin(np.arange(80) / 4) + 2}
)
options = {
    "h": 4,
    "input_size": 12,
    "max_steps": 4,
    "enable_progress_bar": False,
    "logger": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
    "accelerator": "cpu",
    "random_seed": 1,
}
models = [
    MLP(hidden_size=8, **options),
    NBEATS(mlp_units=3 * [[8, 8]], loss=MAE(), **options),
    NHITS(mlp_units=3 * [[8, 8]], loss=MQLoss(level=[80]), **options),
]
forecast = NeuralForecast(models=models, freq="D")
forecast.fit(frame)
table = forecast.predict()
for name in table.columns[2:]:
    print(name, table[name].tolist())
