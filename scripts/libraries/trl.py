# pip install trl

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel
from trl import SFTConfig, SFTTrainer
from trl.trainer.utils import pad, selective_log_softmax

torch.manual_seed(0)
logits, index = torch.randn(2, 5, 11), torch.randint(11, (2, 5))
print(selective_log_softmax(logits, index).sum().item(), pad([torch.ones(2), torch.ones(3)]).tolist())
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1))
data = Dataset.from_dict({"input_ids": [[2, 3, 4, 5, 1], [6, 7, 8, 1]] * 4})
print(
    model(torch.tensor([[2, 3, 4]]), labels=torch.tensor([[2, 3, 4]])).loss.item(),
    SFTConfig.__name__,
    SFTTrainer.__name__,
    len(data),
)
