# pip install pycox torchtuples
import numpy as np
import torch
import torchtuples as tt
from pycox.models import CoxPH, DeepHitSingle, LogisticHazard

np.random.seed(0)
x = np.random.normal(size=(64, 4)).astype("float32")
durations = np.random.exponential(np.exp(-x[:, 0])).astype("float32")
events = (np.random.uniform(size=64) < 0.7).astype("float32")
for Model in (CoxPH, LogisticHazard, DeepHitSingle):
    np.random.seed(1)
    torch.manual_seed(1)
    target, out, options = (durations, events), 1, {}
    if Model is not CoxPH:
        labels = Model.label_transform(8)
        target, out, options = (
            labels.fit_transform(durations, events),
            labels.out_features,
            {"duration_index": labels.cuts},
        )
    net = tt.practical.MLPVanilla(4, [8], out, batch_norm=True, dropout=0.1)
    model = Model(net, tt.optim.Adam(0.01), **options)
    log = model.fit(x, target, batch_size=32, epochs=3, verbose=False)
    if Model is CoxPH:
        model.compute_baseline_hazards()
    survival = model.predict_surv_df(x[:5])
    print(Model.__name__, log.to_pandas()["train_loss"].tolist(), survival.values.sum())
