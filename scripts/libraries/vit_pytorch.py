# pip install vit-pytorch denoising-diffusion-pytorch lion-pytorch rotary-embedding-torch torchvision==0.28.0
import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet
from lion_pytorch import Lion
from rotary_embedding_torch import RotaryEmbedding
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT

x, y = torch.randn(2, 3, 32, 32), torch.tensor([0, 1])
for make in (
    lambda: ViT(image_size=32, patch_size=8, num_classes=3, dim=32, depth=2, heads=2, mlp_dim=64),
    lambda: SimpleViT(image_size=32, patch_size=8, num_classes=3, dim=32, depth=2, heads=2, mlp_dim=64),
    lambda: CaiT(image_size=32, patch_size=8, num_classes=3, dim=32, depth=1, cls_depth=1, heads=2, mlp_dim=64),
    lambda: CCT(
        img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2.0, num_classes=3
    ),
):
    torch.manual_seed(0)
    net = make()
    optimizer = Lion(net.parameters(), lr=1e-4, weight_decay=1e-2)
    x = torch.randn(2, 3, 32, 32)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(type(net).__name__, loss.item())
torch.manual_seed(1)
diffusion = GaussianDiffusion(
    Unet(dim=16, dim_mults=(1, 2), flash_attn=False), image_size=16, timesteps=20, sampling_timesteps=4
)
loss = diffusion(torch.rand(2, 3, 16, 16))
loss.backward()
print(loss.item(), diffusion.sample(batch_size=1).mean().item())
rotary = RotaryEmbedding(dim=8)
print(rotary.rotate_queries_or_keys(torch.randn(1, 2, 6, 16)).sum().item())
