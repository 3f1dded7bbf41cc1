# pip install torch_geometric
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool, to_hetero

torch.manual_seed(0)
edge_index = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
data = Data(x=torch.randn(4, 8), edge_index=edge_index, y=torch.tensor([0, 1, 0, 1]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = GCNConv(8, 16), GATConv(16, 2, heads=2, concat=False)

    def forward(self, x, edge_index):
        return self.b(F.relu(self.a(x, edge_index)), edge_index)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(data.x, data.edge_index), data.y)
    loss.backward()
    optimizer.step()
print(loss.item())
batch = next(iter(DataLoader([data, data.clone()], batch_size=2)))
print(global_mean_pool(batch.x, batch.batch).sum().item(), batch.num_graphs)
print(SAGEConv(8, 4)(data.x, edge_index).sum().item())
print(GINConv(torch.nn.Linear(8, 4))(data.x, edge_index).sum().item())


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = SAGEConv((-1, -1), 4)

    def forward(self, x, edge_index):
        return self.a(x, edge_index).relu()


kinds = (["u", "v"], [("u", "to", "v"), ("v", "to", "u")])
hetero = to_hetero(Two(), kinds)
out = hetero(
    {"u": torch.ones(2, 3), "v": torch.ones(3, 5)},
    {("u", "to", "v"): torch.tensor([[0, 1], [2, 0]]), ("v", "to", "u"): torch.tensor([[0, 1], [1, 0]])},
)
print({k: tuple(v.shape) for k, v in out.items()})
