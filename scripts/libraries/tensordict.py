# pip install tensordict
import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn

torch.manual_seed(0)
data = TensorDict({"a": torch.arange(12.0).reshape(3, 4), "b": {"c": torch.ones(3, 2)}}, batch_size=[3])
print(data[1]["a"].tolist(), data["b", "c"].sum().item(), data.reshape(-1).batch_size)
stacked = torch.stack([data, data.clone()])
print(stacked.batch_size, torch.cat([data, data], 0).batch_size, (data + 1)["a"].sum().item())
first = TensorDictModule(nn.Linear(4, 5), in_keys=["a"], out_keys=["h"])
second = TensorDictModule(nn.Tanh(), in_keys=["h"], out_keys=["y"])
print(TensorDictSequential(first, second)(data)["y"].sum().item())
params = TensorDict.from_module(nn.Linear(4, 2))
print(sorted(params.keys()), params["weight"].sum().item())


@tensorclass
class Point:
    x: torch.Tensor
    y: torch.Tensor


p = Point(x=torch.arange(3.0), y=torch.ones(3), batch_size=[3])
print(p[1:].x.tolist(), torch.stack([p, p]).batch_size)
