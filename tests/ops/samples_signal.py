"""Samples of windows, of Fourier transforms of frames, and of reductions under masks."""

from math import inf

import numpy as np

from pullback import float64

from .samples import refuse, sample

# --- windows
WINDOWS = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 2.0},
    "gaussian": {"std": 1.5},
    "hamming": {},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "hann": {},
    "kaiser": {"beta": 5.0},
    "nuttall": {},
}
for name, options in WINDOWS.items():
    for n in (0, 1, 2, 5, 8):
        for sym in (True, False):
            sample(f"signal.windows.{name}", n, sym=sym, dtype=float64, **options)
    refuse(
        f"signal.windows.{name}", -1, match="requires non-negative window length, got M=-1", error=ValueError, **options
    )
sample("signal.windows.exponential", 5, center=1.0, sym=False, dtype=float64)
refuse("signal.windows.exponential", 5, center=1.0, match="Center must be None for symmetric windows", error=ValueError)
refuse("signal.windows.exponential", 5, tau=0, match="Tau must be positive", error=ValueError)
refuse("signal.windows.gaussian", 5, std=0, match="Standard deviation must be positive", error=ValueError)
refuse("signal.windows.kaiser", 5, beta=-1, match="beta must be non-negative", error=ValueError)
refuse("signal.windows.general_cosine", 5, a=[], match="Coefficients cannot be empty", error=ValueError)
for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
    for n in (0, 1, 2, 5):
        for periodic in (True, False):
            sample(f"{name}_window", n, periodic, dtype=float64)

# --- frames
rising = np.linspace(0.5, 1.0, 5)
for shape in ((20,), (2, 20)):
    for onesided in (True, False):
        sample("stft", shape, 8, window=np.ones(8), onesided=onesided, return_complex=True)
    sample("stft", shape, 8, 3, 5, window=rising, normalized=True, return_complex=True)
    sample("stft", shape, 7, 2, window=np.ones(7), center=False, return_complex=True)
    sample("stft", shape, 8, 2, 5, window=rising, center=False, align_to_window=True, return_complex=True)
sample("stft", (20,), 8, window=np.ones(8), pad_mode="constant", return_complex=True)
sample("stft", (20,), 8, None, None, (8,), return_complex=True)
refuse("stft", (20,), 8, match="stft requires the return_complex parameter be given for real inputs")
refuse("stft", (2, 2, 20), 8, return_complex=True, match="expected a 1D or 2D tensor")
refuse("stft", (20,), 30, center=False, return_complex=True, match="expected 0 < n_fft < 20, but got n_fft=30")
refuse("stft", (20,), 8, 0, return_complex=True, match="expected hop_length > 0")
refuse("stft", (20,), 8, win_length=9, return_complex=True, match="expected 0 < win_length <= n_fft")
refuse(
    "stft",
    (20,),
    8,
    window=np.ones(7),
    return_complex=True,
    match="expected a 1D window tensor of size equal to win_length=8",
)
refuse("istft", (5, 9), 8, match="istft requires a complex-valued input tensor")

# --- masks
mask = np.array([[True, False, True, True], [False, False, False, False], [True, True, True, True]])
for name in ("sum", "prod", "amax", "amin", "norm", "logsumexp"):
    sample(f"masked.{name}", (2, 3, 4), mask=mask, dim=1, distinct=True)
    sample(f"masked.{name}", (3, 4), distinct=True)
    sample(f"masked.{name}", (3, 4), mask=mask[:1], dim=(0, 1), keepdim=True, distinct=True)
for name in ("mean", "var", "std", "median"):
    sample(f"masked.{name}", (2, 3, 4), mask=mask[::2, None, :], dim=-1, distinct=True)
    sample(f"masked.{name}", (3, 4), dim=0, distinct=True)
sample("masked.var", (3, 4), mask=mask, unbiased=False)
sample("masked.std", (3, 4), mask=mask, correction=2)
sample("masked.norm", (3, 4), 1.0, mask=mask, dim=0)
sample("masked.norm", (3, 4), -inf, mask=mask, dim=0, low=0.5, distinct=True)
for name in ("cumsum", "cumprod"):
    sample(f"masked.{name}", (3, 4), 1, mask=mask)
for name in ("softmax", "log_softmax", "softmin"):
    sample(f"masked.{name}", (3, 4), 0)
for name in ("softmax", "softmin"):  # differences of the infinities of log_softmax are NaN
    sample(f"masked.{name}", (2, 4), 1, mask=mask[::2])
sample("masked.normalize", (3, 4), 2.0, 1, mask=mask)
sample("masked.logaddexp", (2, 4), (2, 4), input_mask=mask[::2], other_mask=mask[2:])
for name in ("argmax", "argmin"):
    sample(f"masked.{name}", (3, 4), 0, mask=mask, distinct=True)
    sample(f"masked.{name}", (3, 4), mask=mask, distinct=True)
refuse("masked.sum", (4,), mask=mask, match="expected broadcastable mask", error=IndexError)
refuse("masked.mean", mask, match="Could not infer output dtype. Input dtype must be", error=ValueError)
