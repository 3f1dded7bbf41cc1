"""Programs that are wrong: a type checker reports each line marked with ``# wrong``, and no other."""

import pullback as torch
import pullback.nn as nn
import pullback.nn.functional as F
from pullback import Tensor
from pullback.utils.data import DataLoader, TensorDataset

x = torch.ones(3)
x.foo()  # wrong
torch.no_such_function(x)  # wrong
torch.nn.functional.no_such_function(x)  # wrong
nn.Lineer(2, 3)  # wrong
nn.Linear("2", 3)  # wrong
nn.Linear(2, 3)("x")  # wrong
nn.Linear(2, 3)(x, x)  # wrong
nn.Conv2d(1, 2)  # wrong
x + "a"  # wrong
x["a"]  # wrong
x @ [1, 2]  # wrong
x.sum(dim="0")  # wrong
x.sum().view("a")  # wrong
x.reshape(2.5)  # wrong
x.max(0).value  # wrong
x.max(0).values.foo  # wrong
x.to(dtype="float32")  # wrong
x.backward(1.0)  # wrong
x.grad.norm()  # wrong
x.add_(1).item().foo  # wrong
x.shape.foo  # wrong
x.size(0).foo  # wrong
x.requires_grad_("yes")  # wrong
torch.zeros("2")  # wrong
torch.zeros(2, dtype=float)  # wrong
torch.zeros(2, dtypes=torch.float32)  # wrong
torch.tensor([1.0], requires_grads=True)  # wrong
torch.cat(x, x)  # wrong
torch.stack([1, 2])  # wrong
torch.where(x > 0, x)  # wrong
torch.device(["cpu"]).foo  # wrong
torch.float32.foo  # wrong
torch.linalg.svd(x).foo  # wrong
torch.fft.fft("x")  # wrong
F.relu(3)  # wrong
F.cross_entropy(x)  # wrong
F.softmax(x, axis=0)  # wrong
F.dropout(x, q=0.5)  # wrong
F.max_pool2d(x, 2, return_indices=True).relu()  # wrong
torch.optim.SGD(nn.Linear(1, 1).parameters(), learning_rate=0.1)  # wrong
torch.optim.Adam(3)  # wrong
torch.optim.lr_scheduler.StepLR(x, 3)  # wrong
torch.distributions.Normal(0.0, 1.0).sample().foo  # wrong
torch.distributions.Normal(0.0)  # wrong
torch.func.vmap(3)  # wrong
torch.autograd.grad(x, x)[0].foo  # wrong
DataLoader(TensorDataset(x), batchsize=2)  # wrong
nn.init.zeros_(3)  # wrong


@torch.no_grad()
def double(v: Tensor) -> Tensor:
    return v * 2


double(3)  # wrong
double(x).foo  # wrong


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)

    def forward(self, v: Tensor) -> Tensor:
        return self.fc(v).foo()  # wrong


net = Net()
net(3)  # wrong
net(x).foo  # wrong
net.fc.wait.mean(x)  # wrong
net.fc.weight.foo  # wrong
net.missing + 1  # wrong
number: int = net(x)  # wrong
for parameter in net.parameters():
    parameter.foo  # wrong
