# pip install diffusers
import torch
from diffusers import DDIMScheduler, DDPMScheduler, EulerDiscreteScheduler, UNet2DModel

torch.manual_seed(0)
shape = {
    "block_out_channels": (8, 16),
    "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
    "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
}
unet = UNet2DModel(
    sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, norm_num_groups=4, attention_head_dim=4, **shape
)
x, noise = torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)
noisy = DDPMScheduler().add_noise(x, noise, torch.tensor([10, 500]))
loss = torch.nn.functional.mse_loss(unet(noisy, torch.tensor([10, 500])).sample, noise)
loss.backward()
print(noisy.sum().item(), loss.item(), sum(p.grad.abs().sum().item() for p in unet.parameters()))
for kind in (DDIMScheduler, DDPMScheduler, EulerDiscreteScheduler):
    scheduler = kind()
    scheduler.set_timesteps(4)
    generator, sample = torch.Generator().manual_seed(0), torch.ones(1, 1, 16, 16)
    with torch.no_grad():
        for t in scheduler.timesteps:
            scaled = scheduler.scale_model_input(sample, t)
            sample = scheduler.step(unet(scaled, t).sample, t, sample, generator=generator).prev_sample
    print(kind.__name__, sample.mean().item())
