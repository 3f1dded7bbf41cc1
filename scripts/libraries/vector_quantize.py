# pip install vector-quantize-pytorch x-transformers
import torch
from vector_quantize_pytorch import FSQ, VectorQuantize
from x_transformers import Decoder, Encoder, TransformerWrapper

torch.manual_seed(0)
x = torch.randn(2, 10, 16)
quantized, indices, loss = VectorQuantize(dim=16, codebook_size=8, decay=0.8)(x)
print(quantized.sum().item(), indices.sum().item(), loss.item())
print(FSQ([8, 5, 5])(torch.randn(2, 4, 3))[0].sum().item())
model = TransformerWrapper(
    num_tokens=50, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True)
)
tokens = torch.randint(0, 50, (2, 12))
loss = torch.nn.functional.cross_entropy(model(tokens).transpose(1, 2), tokens)
loss.backward()
print(loss.item(), Encoder(dim=16, depth=1, heads=2)(x).abs().sum().item())
