# pip install peft
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


model = get_peft_model(Net(), LoraConfig(r=4, target_modules=["a"], modules_to_save=["b"], init_lora_weights=False))
x, y = torch.randn(20, 8), torch.randint(2, (20,))
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for _ in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), sum(p.numel() for p in model.parameters() if p.requires_grad))
print(model.merge_and_unload()(x).sum().item())
