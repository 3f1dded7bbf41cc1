# pip install thinc
import numpy as np
import torch
from thinc.api import Adam, PyTorchWrapper, Relu, Softmax, chain, fix_random_seed

fix_random_seed(0)
torch.manual_seed(0)
inner = PyTorchWrapper(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()))
model = chain(Relu(nO=8), inner, Softmax(nO=3))
X = np.random.default_rng(0).normal(size=(20, 6)).astype("f")
Y = np.eye(3, dtype="f")[np.arange(20) % 3]
model.initialize(X=X, Y=Y)
optimizer = Adam(0.01)
for _ in range(10):
    guess, back = model.begin_update(X)
    back((guess - Y) / len(Y))
    model.finish_update(optimizer)
print(model.predict(X).mean(0).tolist(), float(((guess - Y) ** 2).sum()))
