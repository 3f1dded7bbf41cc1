# pip install pytorch-tabnet tab-transformer-pytorch pandas
import numpy as np
import torch
from pytorch_tabnet.tab_model import TabNetClassifier
from tab_transformer_pytorch import FTTransformer

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5)).astype(np.float32)
y = (X[:, 0] + X[:, 1] > 0).astype(int)
model = TabNetClassifier(seed=0, verbose=0, device_name="cpu")
model.fit(X, y, max_epochs=3, batch_size=60, virtual_batch_size=30)
print(model.predict_proba(X).mean(0).tolist(), model.feature_importances_.round(3).tolist())
torch.manual_seed(0)
net = FTTransformer(categories=(3, 4), num_continuous=2, dim=16, depth=1, heads=2)
print(net(torch.tensor([[0, 1], [2, 3]]), torch.randn(2, 2)).flatten().tolist())
