# pip install torchmetrics
import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassF1Score
from torchmetrics.image import StructuralSimilarityIndexMeasure
from torchmetrics.regression import MeanSquaredError, R2Score, SpearmanCorrCoef

torch.manual_seed(0)
metrics = MetricCollection([MulticlassAccuracy(4), MulticlassF1Score(4), MulticlassAUROC(4)])
for _ in range(3):
    metrics.update(torch.randn(20, 4).softmax(1), torch.randint(4, (20,)))
print({name: value.item() for name, value in metrics.compute().items()})
x, y = torch.randn(30), torch.randn(30)
print(MeanSquaredError()(x, y).item(), R2Score()(x, y).item(), SpearmanCorrCoef()(x, y).item())
images = torch.rand(2, 3, 32, 32)
print(StructuralSimilarityIndexMeasure(data_range=1.0)(images, images * 0.8).item())
