"""``torch.fft``: discrete Fourier transforms.

>>> import pullback as torch
>>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
>>> torch.fft.irfft(torch.fft.rfft(x))
tensor([1., 2., 3., 4.])
"""

from ..core.numpy_names import accept_numpy_names as _accept_numpys_names
from ..core.public import publish as _publish
from ..ops.fft import fft as fft
from ..ops.fft import fft2 as fft2
from ..ops.fft import fftfreq as fftfreq
from ..ops.fft import fftn as fftn
from ..ops.fft import fftshift as fftshift
from ..ops.fft import hfft as hfft
from ..ops.fft import hfft2 as hfft2
from ..ops.fft import hfftn as hfftn
from ..ops.fft import ifft as ifft
from ..ops.fft import ifft2 as ifft2
from ..ops.fft import ifftn as ifftn
from ..ops.fft import ifftshift as ifftshift
from ..ops.fft import ihfft as ihfft
from ..ops.fft import ihfft2 as ihfft2
from ..ops.fft import ihfftn as ihfftn
from ..ops.fft import irfft as irfft
from ..ops.fft import irfft2 as irfft2
from ..ops.fft import irfftn as irfftn
from ..ops.fft import rfft as rfft
from ..ops.fft import rfft2 as rfft2
from ..ops.fft import rfftfreq as rfftfreq
from ..ops.fft import rfftn as rfftn

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
_publish(globals(), f"{__name__.partition('.')[0]}.ops.")
