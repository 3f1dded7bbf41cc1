"""Samples of Fourier transforms; the table's complex samples are those of transforms that take complex numbers."""

from .samples import refuse, sample

for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    half = "r" in name or "h" in name
    takes_complex = name not in ("rfft", "ihfft")
    for n in (None, 3, 4, 7):
        sample(f"fft.{name}", (2, 5), n, complex=takes_complex)
    for norm in ("backward", "ortho", "forward"):
        sample(f"fft.{name}", (4, 3), None, 0, norm, complex=takes_complex)
    sample(f"fft.{name}", (2,), complex=takes_complex)
    for several in (name + "2", name + "n"):
        sample(f"fft.{several}", (2, 3, 4), complex=takes_complex)
        sample(f"fft.{several}", (2, 3, 4), [4, 3], [0, 2], "ortho", complex=takes_complex)
    sample(f"fft.{name}n", (2, 3, 4), [2, 5], norm="forward", complex=takes_complex)
    sample(f"fft.{name}n", (3, 4), dim=(0,), complex=takes_complex)
    sample(f"fft.{name}n", (3, 4), s=(-1, 3), complex=takes_complex)
    refuse(f"fft.{name}", (3, 4), 0, match=r"Invalid number of data points \(0\) specified")
    refuse(f"fft.{name}", (3, 0), match=r"Invalid number of data points \((0|-2)\) specified")
    refuse(f"fft.{name}", (3, 4), norm="double", match='Invalid normalization mode: "double"')
    refuse(f"fft.{name}", (3, 4), dim=2, match="Dimension out of range", error=IndexError)
    refuse(f"fft.{name}", (), match="Dimension specified as -1 but tensor has no dimensions", error=IndexError)
    refuse(f"fft.{name}n", (3, 4), dim=(0, -2), match="FFT dims must be unique")
    refuse(f"fft.{name}n", (3, 4), [1, 2, 3], match="Got shape with 3 values but input tensor only has 2 dimensions")
    refuse(f"fft.{name}n", (3, 4), [1, 2], [0], match="When given, dim and shape arguments must have the same length")
    if half:
        refuse(f"fft.{name}n", (3, 4), dim=[], match=f"{name}n must transform at least one axis")
sample("fft.fftn", ())
sample("fft.fftn", (3, 4), dim=[])

for name in ("fftshift", "ifftshift"):
    sample(f"fft.{name}", (3, 4), complex=True)
    sample(f"fft.{name}", (3, 4), 0)
    sample(f"fft.{name}", (3, 4), [1, -2])
for n in (0, 1, 4, 5):
    sample("fft.fftfreq", n, 0.5)
    sample("fft.rfftfreq", n, 0.5)
