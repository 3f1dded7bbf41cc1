"""``torch.fft``: discrete Fourier transforms.

>>> import pullback as torch
>>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
>>> torch.fft.irfft(torch.fft.rfft(x))
tensor([1., 2., 3., 4.])
"""

from .ops.fourier import fft as fft
from .ops.fourier import fft2 as fft2
from .ops.fourier import fftfreq as fftfreq
from .ops.fourier import fftn as fftn
from .ops.fourier import fftshift as fftshift
from .ops.fourier import hfft as hfft
from .ops.fourier import hfft2 as hfft2
from .ops.fourier import hfftn as hfftn
from .ops.fourier import ifft as ifft
from .ops.fourier import ifft2 as ifft2
from .ops.fourier import ifftn as ifftn
from .ops.fourier import ifftshift as ifftshift
from .ops.fourier import ihfft as ihfft
from .ops.fourier import ihfft2 as ihfft2
from .ops.fourier import ihfftn as ihfftn
from .ops.fourier import irfft as irfft
from .ops.fourier import irfft2 as irfft2
from .ops.fourier import irfftn as irfftn
from .ops.fourier import rfft as rfft
from .ops.fourier import rfft2 as rfft2
from .ops.fourier import rfftfreq as rfftfreq
from .ops.fourier import rfftn as rfftn
from .spellings import accept as _accept_numpys_names

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_accept_numpys_names(globals())
