import torch
from torch import nn

torch.manual_seed(0)
embedding, memory, head = nn.Embedding(10, 4), nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 2)
sentences, moods = torch.randint(0, 10, (3, 7)), torch.tensor([0, 1, 1])
outputs, _ = memory(embedding(sentences))
loss = nn.functional.cross_entropy(head(outputs[:, -1]), moods)
loss.backward()
