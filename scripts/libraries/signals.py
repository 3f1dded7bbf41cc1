# pip install ptwt nnAudio asteroid-filterbanks julius entmax
import julius
import ptwt
import torch
from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB
from entmax import entmax15, entmax15_loss, entmax_bisect, normmax_bisect, sparsemax, sparsemax_loss
from nnAudio import features

torch.manual_seed(0)
x = torch.randn(2, 4096, requires_grad=True)
for layer in (
    features.STFT(n_fft=256, hop_length=64, verbose=False),
    features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=64, verbose=False),
    features.MFCC(sr=8000, n_mfcc=8, n_fft=256, n_mels=20, hop_length=64, verbose=False),
    features.CQT1992v2(sr=8000, fmin=220, n_bins=24, hop_length=64, verbose=False),
):
    print(type(layer).__name__, layer(x).abs().mean().item())
print(sum(c.abs().sum().item() for c in ptwt.wavedec(x, "db3", level=3)))
image = torch.randn(1, 32, 32)
print(ptwt.waverec2(ptwt.wavedec2(image, "haar", level=2), "haar").sub(image).abs().max().item() < 1e-5)
print(julius.resample_frac(x, 4, 3).std().item(), julius.lowpass_filter(x, 0.1).std().item())
print(
    julius.split_bands(x, 8000, n_bands=4).abs().sum((1, 2)).tolist(),
    julius.fft_conv1d(x[:, None], x[:1, None, :65]).std().item(),
)
bank = Encoder(STFTFB(kernel_size=64, n_filters=64, stride=32))
decoded = Decoder(FreeFB(66, 64, stride=32))(bank(x[:, None]))
decoded.std().backward()
print(decoded.std().item(), x.grad.abs().sum().item())
scores = torch.randn(4, 6, requires_grad=True)
for f in (sparsemax, entmax15, lambda s: entmax_bisect(s, 1.3), lambda s: normmax_bisect(s, 2)):
    (g,) = torch.autograd.grad(f(scores).square().sum(), scores)
    print(f(scores).sum(0).tolist(), g.abs().sum().item())
y = torch.tensor([0, 1, 2, 3])
print(sparsemax_loss(scores, y).sum().item(), entmax15_loss(scores, y).sum().item())
