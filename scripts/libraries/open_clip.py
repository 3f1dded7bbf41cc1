# pip install open_clip_torch torchvision==0.28.0
import open_clip
import torch
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg

torch.manual_seed(0)
vision = CLIPVisionCfg(layers=2, width=32, head_width=16, patch_size=8, image_size=32)
text = CLIPTextCfg(context_length=16, vocab_size=49408, width=32, heads=2, layers=2)
net = CLIP(16, vision, text)
tokens = open_clip.tokenize(["a red square", "two dogs"], context_length=16)
image, words, scale = net(torch.randn(2, 3, 32, 32), tokens)
for loss in (ClipLoss()(image, words, scale), SigLipLoss()(image, words, scale, torch.tensor(-10.0))):
    net.zero_grad()
    loss.backward(retain_graph=True)
    print(loss.item(), sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None))
print(tokens.sum().item())
