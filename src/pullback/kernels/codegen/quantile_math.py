"""Vectorized inverses of the error function and of the normal distribution function.

Polynomials for ``erfinv(x) / x`` in ``w = -log(1 - x**2)`` and in its square root, after M. Giles, *Approximating the
erfinv function* (GPU Computing Gems 2, 2011); their coefficients as in :mod:`pullback.kernels.codegen.vector_math`.
"""

from __future__ import annotations

import math

from .llvm_ir import Value
from .special_math import in_double, number, where_any
from .vector_math import Math

ERFINV_SMALL = [  # erfinv(x) / x in x**2 up to 1/4, for float64
    0.12003690619362008,
    -0.09642274527103643,
    0.08722866446698135,
    -0.0014607021070302691,
    0.030910158235606017,
    0.026969129751201436,
    0.03181283844468519,
    0.03645513184554066,
    0.042837381929296245,
    0.05173125434128652,
    0.06495961849686033,
    0.08655212922928228,
    0.1275561753057025,
    0.23201366653465413,
    0.886226925452758,
]
ERFINV_NEAR = {  # erfinv(x) / x in w - 25/8 for w = -log(1 - x**2) up to 25/4
    "float": [
        -1.2570814414523687e-11,
        5.688216479117087e-12,
        1.0363882341451174e-09,
        -4.752745619151995e-09,
        -2.895896037948332e-08,
        4.2698513895053384e-07,
        -1.3658217507589212e-06,
        -1.389214124592301e-05,
        0.00018673466051691629,
        -0.0007406910325430195,
        -0.006033671032285515,
        0.24015817844735166,
        1.6536545626831027,
    ],
    "double": [
        -2.362369698566107e-22,
        -1.6787330615256773e-19,
        1.1027771591500033e-18,
        1.1125794759379464e-17,
        -1.290702354613073e-16,
        2.166994626283574e-17,
        6.581955305929239e-15,
        -4.0554139746886e-14,
        -8.106594456438496e-14,
        2.6335724924608484e-12,
        -1.2977505202014966e-11,
        -5.4154417754696635e-11,
        1.0512202440121784e-09,
        -4.112633104297614e-09,
        -2.907038666019143e-08,
        4.2347877672780653e-07,
        -1.3654691796592068e-06,
        -1.3882523361276876e-05,
        0.0001867342080212427,
        -0.0007407025341669402,
        -0.006033670871427011,
        0.2401581824255897,
        1.6536545626831027,
    ],
}
ERFINV_FAR = {  # the same in sqrt(w) - 13/4 for sqrt(w) in [2.5, 4]
    "float": [
        8.074691057693325e-05,
        -3.7471700003254784e-05,
        -0.00036038249087117137,
        0.000982682595474375,
        -0.0016872723525769616,
        0.002485620195022507,
        -0.0037512768086153166,
        0.0053713212093162935,
        1.0052589684577558,
        3.0838856059231405,
    ],
    "double": [
        9.284332225420571e-08,
        -2.697313682066162e-07,
        1.3250759477977463e-08,
        1.497191022600222e-06,
        -4.008956966932278e-06,
        2.9264777314239854e-06,
        1.2472740144742724e-05,
        -4.7319187369358214e-05,
        6.828561398530996e-05,
        2.4031286377073694e-05,
        -0.00035503764895782253,
        0.0009532893618552461,
        -0.0016882755445265592,
        0.0024914420969979908,
        -0.003751208508030541,
        0.005370914553573593,
        1.0052589676941646,
        3.0838856104922208,
    ],
}
ERFINV_END = {  # the same in sqrt(w) - 5 for sqrt(w) in [4, 6.1]
    "float": [
        -1.0789893647295428e-06,
        5.120169045807351e-06,
        -1.9723287991360794e-05,
        7.55802706492408e-05,
        -0.00021497747605614406,
        -0.0001386296320075487,
        1.010300456747294,
        4.849906398423313,
    ],
    "double": [
        2.752083669120487e-11,
        -2.246759169336493e-11,
        -3.717155341616744e-10,
        1.4895546197648135e-09,
        -3.5875995609819957e-09,
        7.644335983557396e-09,
        -1.5146221782627176e-08,
        2.9124399186491765e-08,
        -6.761414811460412e-08,
        2.2901554497563463e-07,
        -9.930119183482954e-07,
        4.5260599477720725e-06,
        -1.968177348376382e-05,
        7.599527735160192e-05,
        -0.00021503011962944126,
        -0.00013871931835112341,
        1.0103004648645413,
        4.849906401408584,
    ],
}
ERFINV_TAIL = {  # the same divided by sqrt(w), in 1 / sqrt(w) for sqrt(w) in [6, 12]
    "float": [
        -36.35684341155587,
        35.97076530359482,
        -16.706153531575925,
        5.451142273685099,
        -1.2879681930485134,
        -0.02400704384856091,
        1.000237422489854,
    ],
    "double": [
        6461922.150798008,
        -11540666.795038112,
        9567758.821417598,
        -4886739.154606893,
        1721192.2302303095,
        -443610.61955590785,
        86723.33092081232,
        -13185.51478623734,
        1596.0104620556865,
        -160.14056601252742,
        15.321836922525543,
        -1.762918254480197,
        -0.009908949906115815,
        1.0000450923089923,
    ],
}
ERFINV_LAST = [  # and in [12, 28], which float32 numbers do not reach
    -349630754081.173,
    317493278949.3,
    -134199893211.29788,
    35054347354.69044,
    -6336059377.058431,
    841036416.917305,
    -84951768.34238486,
    6683123.14127288,
    -416696.1363386995,
    20982.147809706657,
    -885.6953939877167,
    35.97844965784412,
    -2.187869077707932,
    -0.004246778732993697,
    1.0000083184149624,
]


def erfinv(m: Math, x: Value) -> Value:
    size = m.abs(x)
    return _inverse(m, x, -m.log((1.0 - size) * (size + 1.0)))


@in_double
def ndtri(m: Math, precision: str, p: Value) -> Value:
    """By the inverse error function of ``2 p - 1``, of whose distance from -1 and 1 nothing is lost."""
    w = -m.log(p * (1.0 - p) * 4.0)
    return _of(m, precision, p + p - 1.0, w) * math.sqrt(2)


@in_double
def _inverse(m: Math, precision: str, x: Value, w: Value) -> Value:
    return _of(m, precision, x, w)


def _of(m: Math, precision: str, x: Value, w: Value) -> Value:
    """The inverse error function of x, for ``w = -log(1 - x**2)``."""
    f, size = m.f, m.abs(x)
    near = m.polynomial(w - 3.125, ERFINV_NEAR[precision])

    def far() -> Value:
        root = m.sqrt(w)
        part = m.polynomial(root - 3.25, ERFINV_FAR[precision])
        part = f.select(root > 4.0, m.polynomial(root - 5.0, ERFINV_END[precision]), part)
        return where_any(m, root > 6.1, lambda: tail(root), part)

    def tail(root: Value) -> Value:
        q = 1 / root
        part = m.polynomial(q, ERFINV_TAIL[precision])
        if precision == "double":
            part = f.select(root > 12.0, m.polynomial(q, ERFINV_LAST), part)
        return part * root

    if precision == "double":
        near = f.select(size < 0.5, m.polynomial(x * x, ERFINV_SMALL), near)
    result = where_any(m, w > 6.25, far, near) * x
    return f.select(size.equals(1.0) & w.equals(math.inf), m.copysign(number(math.inf, x), x), result)


OF_ONE = (erfinv, ndtri)
