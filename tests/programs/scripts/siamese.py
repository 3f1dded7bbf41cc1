import random
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Dataset, DataLoader
from sklearn.datasets import load_digits


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((2, 2)))
        self.fc = nn.Sequential(nn.Linear(64 * 2, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.cnn.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)
        elif isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')

    def forward_once(self, x):
        output = self.cnn(x)
        return output.view(output.size()[0], -1)

    def forward(self, a, b):
        o1, o2 = self.forward_once(a), self.forward_once(b)
        return self.sigmoid(self.fc(torch.cat((o1, o2), 1))), o1, o2


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        d = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean(label * torch.pow(d, 2) + (1 - label) * torch.pow(torch.clamp(self.margin - d, min=0.0), 2))


class Pairs(Dataset):
    def __init__(self, n):
        d = load_digits()
        self.x = torch.FloatTensor(d.images / 16.0).unsqueeze(1)
        self.y = torch.LongTensor(d.target)
        self.n = n
        self.group = {i: (self.y == i).nonzero(as_tuple=True)[0] for i in range(10)}

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        c = random.randint(0, 9)
        a = random.choice(self.group[c])
        if i % 2 == 0:
            b = random.choice(self.group[c])
            t = torch.tensor(1, dtype=torch.float)
        else:
            o = random.randint(0, 9)
            while o == c:
                o = random.randint(0, 9)
            b = random.choice(self.group[o])
            t = torch.tensor(0, dtype=torch.float)
        return self.x[a], self.x[b], t


torch.manual_seed(7)
random.seed(7)
device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
model = SiameseNetwork().to(device)
loader = DataLoader(Pairs(128), batch_size=32, shuffle=True, drop_last=True)
opt = optim.Adadelta(model.parameters(), lr=1.0)
sch = StepLR(opt, step_size=1, gamma=0.7)
bce, con = nn.BCELoss(), ContrastiveLoss()
trip = nn.TripletMarginLoss(margin=1.0)
cos = nn.CosineEmbeddingLoss(margin=0.3)
for epoch in range(3):
    model.train()
    for i, (a, b, t) in enumerate(loader):
        a, b, t = a.to(device), b.to(device), t.to(device)
        opt.zero_grad()
        out, o1, o2 = model(a, b)
        out = out.squeeze()
        loss = bce(out, t) + 0.1 * con(o1, o2, t.unsqueeze(1)) + cos(o1, o2, 2 * t - 1) + 0.1 * trip(o1, o2, o2.flip(0))
        loss.backward()
        opt.step()
        print(f"Epoch {epoch} batch {i} loss {loss.item():.4f} acc {((out > 0.5) == t.bool()).float().mean():.3f}")
    sch.step()
model.eval()
with torch.no_grad():
    a, b, t = next(iter(loader))
    out, _, _ = model(a, b)
    pred = torch.where(out > 0.5, 1, 0)
    print(pred.dtype, pred.shape, pred.eq(t.view_as(pred)).sum().item())
    print(out[:4])
