# pip install kornia
import kornia as K
import torch

torch.manual_seed(0)
x = torch.rand(1, 3, 16, 20, requires_grad=True)
print(K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)).mean().item(), K.filters.sobel(x).sum().item())
print(K.color.rgb_to_hsv(x).mean((0, 2, 3)).tolist(), K.color.rgb_to_lab(x).mean((0, 2, 3)).tolist())
print(K.geometry.rotate(x, torch.tensor([30.0])).sum().item(), K.geometry.resize(x, (8, 10)).sum().item())
H = torch.tensor([[[1.0, 0.1, 0.5], [0.0, 1.1, -0.5], [0.001, 0.0, 1.0]]])
print(K.geometry.warp_perspective(x, H, (16, 20)).sum().item())
print(K.losses.ssim_loss(x, x.detach() * 0.9, 5).item(), K.metrics.psnr(x, x * 0.9, 1.0).item())
(g,) = torch.autograd.grad(K.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)).sum(), x)
print(g.abs().sum().item())
corners = K.feature.CornerHarris(0.05)(K.color.rgb_to_grayscale(x))
print(corners.max().item(), K.morphology.dilation(x, torch.ones(3, 3)).mean().item())
torch.manual_seed(1)
augment = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=1.0), K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0)
)
print(augment(x).mean().item())
print(K.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])).sum().item())
