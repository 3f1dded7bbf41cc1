# pip install skorch
import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier
from torch import nn

torch.manual_seed(0)
X, y = make_classification(200, 10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)


net = NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, max_epochs=5, lr=0.1, verbose=0).fit(X, y)
print(net.history[-1]["train_loss"], net.predict_proba(X).mean(0).tolist())
search = GridSearchCV(net, {"module__width": [4, 8]}, cv=2, scoring="accuracy").fit(X, y)
print(search.best_score_)
