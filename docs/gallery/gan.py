import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
judge = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
of_generator, of_judge = (torch.optim.Adam(net.parameters(), lr=1e-3) for net in (generator, judge))
bce, real = nn.functional.binary_cross_entropy_with_logits, torch.randn(6, 2) + 2

for _ in range(3):
    fake = generator(torch.randn(6, 2))
    of_judge.zero_grad()
    (bce(judge(real), torch.ones(6, 1)) + bce(judge(fake.detach()), torch.zeros(6, 1))).backward()
    of_judge.step()
    of_generator.zero_grad()
    bce(judge(fake), torch.ones(6, 1)).backward()
    of_generator.step()
