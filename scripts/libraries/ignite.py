# pip install pytorch-ignite pytorch-metric-learning torchinfo
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from pytorch_metric_learning import losses, miners
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchinfo import summary

torch.manual_seed(0)
data = TensorDataset(torch.randn(40, 6), torch.randint(3, (40,)))
net, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)), nn.CrossEntropyLoss()
trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), criterion)
evaluator = create_supervised_evaluator(net, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})
loader = DataLoader(data, batch_size=8)


@trainer.on(Events.EPOCH_COMPLETED)
def show(engine):
    evaluator.run(loader)
    print(evaluator.state.metrics)


trainer.run(loader, max_epochs=2)
features, labels = torch.randn(20, 8, requires_grad=True), torch.randint(4, (20,))
pairs = miners.MultiSimilarityMiner()(features, labels)
print(losses.TripletMarginLoss()(features, labels, pairs).item(), losses.NTXentLoss()(features, labels).item())
print(losses.ArcFaceLoss(4, 8)(features, labels).item(), summary(net, (1, 6), verbose=0).total_params)
