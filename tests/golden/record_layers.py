"""Layers of every kind with inputs for them, and the recorder of what PyTorch 2.13 makes of them.

Run it where PyTorch is installed to write ``layers.json`` beside it; see :mod:`programs`. For each layer: how it
prints, its state dict and the first values that it draws, and in training and in evaluation what comes out and which
gradients come back, each tensor weighed by a wave and summed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from programs import Programs, attempt

programs = Programs("layers.json")
refusals = Programs("layer_refusals.json")

# A line is a constructor from torch.nn, and inputs made of torch's functions.
LAYERS = """
    Identity(54, unused=True)                                   | randn(2, 3)
    Linear(3, 4)                                                | randn(2, 5, 3)
    Linear(3, 4, bias=False)                                    | randn(3)
    Bilinear(3, 4, 2)                                           | randn(5, 3), randn(5, 4)
    LazyLinear(4)                                               | randn(2, 3)
    Flatten()                                                   | randn(2, 3, 4)
    Flatten(0, 1)                                               | randn(2, 3, 4)
    Unflatten(1, (2, 3))                                        | randn(2, 6)

    ReLU()                                                      | randn(3, 4)
    ReLU(inplace=True)                                          | randn(3, 4)
    ReLU6()                                                     | randn(3, 4) * 5
    ReLU6(inplace=True)                                         | randn(3, 4) * 5
    ELU(0.7)                                                    | randn(3, 4)
    ELU(inplace=True)                                           | randn(3, 4)
    CELU(0.7, inplace=True)                                     | randn(3, 4)
    SELU()                                                      | randn(3, 4)
    GELU()                                                      | randn(3, 4)
    GELU(approximate="tanh")                                    | randn(3, 4)
    GLU(1)                                                      | randn(3, 4)
    SiLU()                                                      | randn(3, 4)
    Mish(inplace=True)                                          | randn(3, 4)
    Hardshrink(0.3)                                             | randn(3, 4)
    Hardsigmoid(inplace=True)                                   | randn(3, 4) * 3
    Hardswish(inplace=True)                                     | randn(3, 4) * 3
    Hardtanh(-0.5, 0.75)                                        | randn(3, 4)
    LeakyReLU(0.2)                                              | randn(3, 4)
    LeakyReLU(inplace=True)                                     | randn(3, 4)
    LogSigmoid()                                                | randn(3, 4)
    LogSoftmax(1)                                               | randn(3, 4)
    PReLU()                                                     | randn(3, 4)
    PReLU(4, init=0.1)                                          | randn(3, 4)
    RReLU(0.1, 0.3)                                             | randn(3, 4)
    Sigmoid()                                                   | randn(3, 4)
    Softmax(dim=0)                                              | randn(3, 4)
    Softmax2d()                                                 | randn(2, 3, 4, 5)
    Softmin(1)                                                  | randn(3, 4)
    Softplus(2.0, 1.5)                                          | randn(3, 4)
    Softshrink()                                                | randn(3, 4)
    Softsign()                                                  | randn(3, 4)
    Tanh()                                                      | randn(3, 4)
    Tanhshrink()                                                | randn(3, 4)
    Threshold(0.1, 20.0)                                        | randn(3, 4)
    Threshold(0.1, 20, inplace=True)                            | randn(3, 4)

    Dropout()                                                   | randn(3, 4)
    Dropout(0.2, inplace=True)                                  | randn(5, 8)
    Dropout1d(0.3)                                              | randn(2, 3, 4)
    Dropout2d()                                                 | randn(2, 3, 4, 5)
    Dropout3d()                                                 | randn(2, 3, 4, 5, 2)
    AlphaDropout(0.3)                                           | randn(3, 4)
    FeatureAlphaDropout()                                       | randn(2, 3, 4)

    BatchNorm1d(3)                                              | randn(4, 3)
    BatchNorm1d(3, eps=0.1, momentum=None, bias=False)          | randn(4, 3, 2)
    BatchNorm1d(3, affine=False, track_running_stats=False)     | randn(4, 3)
    BatchNorm2d(3, momentum=0.3)                                | randn(4, 3, 2, 5)
    BatchNorm3d(2, affine=False)                                | randn(4, 2, 3, 2, 2)
    SyncBatchNorm(3)                                            | randn(4, 3, 2)
    LazyBatchNorm1d()                                           | randn(4, 3)
    LazyBatchNorm2d(affine=False)                               | randn(4, 3, 2, 5)
    LazyBatchNorm3d(bias=False)                                 | randn(4, 3, 2, 2, 2)
    InstanceNorm1d(3)                                           | randn(2, 3, 4)
    InstanceNorm1d(3, affine=True, track_running_stats=True)    | randn(3, 4)
    InstanceNorm2d(3, affine=True, bias=False)                  | randn(2, 3, 4, 5)
    InstanceNorm3d(3, track_running_stats=True, momentum=0.2)   | randn(2, 3, 2, 4, 5)
    LazyInstanceNorm1d()                                        | randn(2, 3, 4)
    LazyInstanceNorm2d(affine=False, track_running_stats=False) | randn(2, 3, 4, 5)
    LazyInstanceNorm3d()                                        | randn(2, 3, 2, 4, 5)
    LayerNorm(4)                                                | randn(2, 3, 4)
    LayerNorm([3, 4], eps=0.1, bias=False)                      | randn(2, 3, 4)
    LayerNorm((3, 4), elementwise_affine=False)                 | randn(2, 3, 4)
    RMSNorm(4)                                                  | randn(2, 3, 4)
    RMSNorm((3, 4), eps=0.1, elementwise_affine=False)          | randn(2, 3, 4)
    GroupNorm(2, 6)                                             | randn(3, 6, 5)
    GroupNorm(3, 6, eps=0.1, bias=False)                        | randn(3, 6, 2, 2)
    GroupNorm(3, 6, affine=False)                               | randn(3, 6)
    LocalResponseNorm(3, alpha=0.5)                             | randn(2, 5, 4)

    Conv1d(3, 4, 3)                                             | randn(2, 3, 8)
    Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2)  | randn(2, 4, 9)
    Conv1d(3, 4, 4, padding="same", bias=False)                 | randn(3, 8)
    Conv1d(3, 4, 4, padding="same", padding_mode="circular")    | randn(2, 3, 8)
    Conv2d(3, 4, (3, 2), padding="valid")                       | randn(2, 3, 6, 5)
    Conv2d(3, 4, 3, stride=(2, 1), padding=(1, 2))              | randn(2, 3, 6, 5)
    Conv2d(3, 4, 3, padding=(1, 2), padding_mode="reflect")     | randn(2, 3, 6, 5)
    Conv2d(3, 4, [3, 3], padding=1, padding_mode="replicate")   | randn(3, 6, 5)
    Conv3d(2, 3, 2, padding=1, padding_mode="circular")         | randn(2, 2, 3, 4, 3)
    Conv3d(2, 4, (1, 2, 3), groups=2)                           | randn(2, 2, 3, 4, 3)
    ConvTranspose1d(4, 6, 3, stride=2, padding=1, groups=2)     | randn(2, 4, 5)
    ConvTranspose1d(4, 6, 3, stride=2, output_padding=1)        | randn(4, 5)
    ConvTranspose1d(4, 6, 3, stride=3)                          | randn(2, 4, 5), [17]
    ConvTranspose2d(3, 4, 3, dilation=2, bias=False)            | randn(2, 3, 4, 5)
    ConvTranspose2d(3, 4, (3, 2), stride=2)                     | randn(2, 3, 4, 5), [2, 4, 10, 11]
    ConvTranspose3d(2, 3, 2, stride=(1, 2, 1))                  | randn(2, 2, 3, 4, 3)
    LazyConv1d(4, 3)                                            | randn(2, 3, 8)
    LazyConv2d(4, 3, 1, 1, 1, 1, False)                         | randn(2, 3, 8, 8)
    LazyConv3d(4, kernel_size=2, groups=2)                      | randn(2, 3, 4, 3)
    LazyConvTranspose1d(4, 3)                                   | randn(2, 3, 8)
    LazyConvTranspose2d(4, 3, stride=2, bias=False)             | randn(2, 3, 4, 4)
    LazyConvTranspose3d(4, 2)                                   | randn(2, 2, 3, 4, 3)
    Unfold(2, padding=1)                                        | randn(2, 3, 4, 5)
    Unfold((2, 3), dilation=1, stride=(2, 1))                   | randn(2, 3, 4, 5)
    Fold((4, 5), kernel_size=2)                                 | randn(2, 12, 12)

    MaxPool1d(3, stride=2, padding=1)                           | randn(2, 3, 8)
    MaxPool2d((2, 3), dilation=2, ceil_mode=True)               | randn(2, 3, 8, 9)
    MaxPool2d(2, return_indices=True)                           | randn(3, 8, 9)
    MaxPool3d(2)                                                | randn(2, 3, 4, 4, 5)
    MaxUnpool1d(2)                                              | randn(1, 1, 3), tensor([[[0, 3, 4]]])
    MaxUnpool2d(2, stride=2, padding=0)                         | randn(1, 1, 1, 2), tensor([[[[1, 6]]]]), [1, 1, 2, 5]
    MaxUnpool3d((1, 1, 2))                                      | randn(1, 1, 1, 1, 2), tensor([[[[[1, 2]]]]])
    AvgPool1d(3, 2, 1)                                          | randn(2, 3, 8)
    AvgPool2d(2, ceil_mode=True)                                | randn(2, 3, 5, 7)
    AvgPool2d((3, 2), padding=1, count_include_pad=False)       | randn(2, 3, 5, 7)
    AvgPool3d(2, divisor_override=3)                            | randn(2, 3, 4, 4, 5)
    LPPool1d(2, 3)                                              | rand(2, 3, 8)
    LPPool2d(3, 2, stride=1, ceil_mode=True)                    | rand(2, 3, 5, 4)
    LPPool3d(1.5, 2)                                            | rand(2, 3, 4, 4, 4)
    AdaptiveMaxPool1d(3)                                        | randn(2, 3, 8)
    AdaptiveMaxPool2d((3, None), return_indices=True)           | randn(2, 3, 8, 5)
    AdaptiveMaxPool3d(2)                                        | randn(2, 3, 4, 5, 3)
    AdaptiveAvgPool1d(3)                                        | randn(2, 3, 8)
    AdaptiveAvgPool2d((3, None))                                | randn(2, 3, 8, 5)
    AdaptiveAvgPool3d(2)                                        | randn(2, 3, 4, 5, 3)
    FractionalMaxPool2d(2, output_size=(3, 4))                  | randn(2, 3, 7, 8)
    FractionalMaxPool2d(2, output_ratio=0.6)                    | randn(2, 3, 7, 8)
    FractionalMaxPool3d(2, output_size=3, return_indices=True)  | randn(2, 3, 6, 7, 8)

    ReflectionPad1d((1, 2))                                     | randn(2, 3, 4)
    ReflectionPad2d(1)                                          | randn(2, 3, 4, 5)
    ReflectionPad3d((1, 0, 2, 1, 0, 1))                         | randn(2, 3, 3, 4, 5)
    ReplicationPad1d(2)                                         | randn(2, 3, 4)
    ReplicationPad2d((1, 2, 0, 3))                              | randn(3, 4, 5)
    ReplicationPad3d(1)                                         | randn(2, 3, 3, 4, 5)
    CircularPad1d((1, 2))                                       | randn(2, 3, 4)
    CircularPad2d(2)                                            | randn(2, 3, 4, 5)
    CircularPad3d(1)                                            | randn(2, 3, 3, 4, 5)
    ConstantPad1d(2, 3.5)                                       | randn(2, 3, 4)
    ConstantPad2d((1, -1, 2, 0), 0)                             | randn(2, 3, 4, 5)
    ConstantPad3d(1, -0.5)                                      | randn(2, 3, 4, 5)
    ZeroPad1d(1)                                                | randn(2, 3, 4)
    ZeroPad2d((1, 0, 2, 1))                                     | randn(2, 3, 4, 5)
    ZeroPad3d(1)                                                | randn(2, 3, 3, 4, 5)

    Upsample(scale_factor=2)                                    | randn(2, 3, 4)
    Upsample(size=(3, 7), mode="bilinear")                      | randn(2, 3, 4, 5)
    Upsample(scale_factor=(1.5, 2), mode="bicubic", align_corners=True) | randn(2, 3, 4, 5)
    Upsample(size=6, mode="linear", align_corners=False)        | randn(2, 3, 4)
    Upsample(None, 1.7, "trilinear", recompute_scale_factor=True) | randn(1, 2, 3, 4, 3)
    UpsamplingNearest2d(scale_factor=2)                         | randn(2, 3, 4, 5)
    UpsamplingBilinear2d((3, 8))                                | randn(2, 3, 4, 5)
    PixelShuffle(2)                                             | randn(2, 8, 3, 4)
    PixelUnshuffle(2)                                           | randn(2, 2, 4, 6)
    ChannelShuffle(2)                                           | randn(2, 6, 3, 4)
    PairwiseDistance()                                          | randn(3, 4), randn(3, 4)
    PairwiseDistance(1, keepdim=True)                           | randn(4), randn(4)
    CosineSimilarity()                                          | randn(3, 4), randn(3, 4)

    Embedding(10, 3)                                            | randint(0, 10, (2, 5))
    Embedding(10, 3, padding_idx=-2)                            | tensor([[8, 1, 0], [8, 8, 9]])
    Embedding(10, 3, max_norm=1.0, norm_type=1.0)               | tensor([[8, 1, 0], [8, 8, 9]])
    Embedding(10, 3, scale_grad_by_freq=True)                   | tensor([[8, 1, 0], [8, 8, 9]])
    Embedding.from_pretrained(ones(4, 2), freeze=False)         | tensor([3, 0])
    EmbeddingBag(10, 3)                                         | randint(0, 10, (2, 5))
    EmbeddingBag(10, 3, mode="sum", padding_idx=1)              | tensor([8, 1, 0, 8, 9]), tensor([0, 3])
    EmbeddingBag(10, 3, mode="sum", include_last_offset=True)   | tensor([8, 1, 0, 8]), tensor([0, 3, 4]), randn(4)
    EmbeddingBag(10, 3, mode="max", max_norm=2.0)               | randint(0, 10, (2, 5))
    EmbeddingBag.from_pretrained(ones(4, 2))                    | tensor([[3, 0]])

    L1Loss()                                                    | randn(3, 4), randn(3, 4)
    MSELoss(reduction="none")                                   | randn(3, 4), randn(3, 4)
    SmoothL1Loss(beta=0.5)                                      | randn(3, 4), randn(3, 4)
    HuberLoss("sum", 0.5)                                       | randn(3, 4), randn(3, 4)
    NLLLoss()                                                   | randn(3, 4), randint(0, 4, (3,))
    NLLLoss(tensor([1.0, 2.0, 3.0, 4.0]), ignore_index=1)       | randn(3, 4, 2), randint(0, 4, (3, 2))
    CrossEntropyLoss()                                          | randn(3, 4), randint(0, 4, (3,))
    CrossEntropyLoss(tensor([1.0, 2.0, 3.0, 4.0]))              | randn(3, 4, 2), randint(0, 4, (3, 2))
    CrossEntropyLoss(label_smoothing=0.1, reduction="none")     | randn(3, 4), randint(0, 4, (3,))
    CrossEntropyLoss(label_smoothing=0.1)                       | randn(3, 4), rand(3, 4)
    LinearCrossEntropyLoss(3, 5)                                | randn(4, 3), randint(0, 5, (4,))
    LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True)  | randn(4, 3), randint(0, 5, (4, 2))
    BCELoss()                                                   | rand(3, 4), rand(3, 4)
    BCELoss(tensor([1.0, 2.0, 0.5, 3.0]), reduction="sum")      | rand(3, 4), rand(3, 4)
    BCEWithLogitsLoss(pos_weight=tensor([1.0, 2.0, 0.5, 3.0]))  | randn(3, 4), rand(3, 4)
    KLDivLoss(reduction="batchmean")                            | randn(3, 4), rand(3, 4)
    KLDivLoss(reduction="sum", log_target=True)                 | randn(3, 4), randn(3, 4)
    PoissonNLLLoss(full=True)                                   | randn(3, 4), rand(3, 4) * 3
    PoissonNLLLoss(log_input=False, reduction="none")           | rand(3, 4), rand(3, 4)
    GaussianNLLLoss(full=True)                                  | randn(3, 4), randn(3, 4), rand(3, 4)
    GaussianNLLLoss(reduction="sum")                            | randn(3, 4), randn(3, 4), rand(3, 1)
    HingeEmbeddingLoss(0.5)                                     | randn(3, 4), randn(3, 4).sign()
    CosineEmbeddingLoss(0.1)                                    | randn(3, 4), randn(3, 4), tensor([1, -1, 1])
    MarginRankingLoss(0.3)                                      | randn(3), randn(3), tensor([1, -1, 1])
    SoftMarginLoss()                                            | randn(3, 4), randn(3, 4).sign()
    MultiMarginLoss(2, 0.5)                                     | randn(3, 4), randint(0, 4, (3,))
    MultiLabelMarginLoss()                                      | randn(2, 4), tensor([[3, 0, -1, 1], [1, -1, 0, 0]])
    MultiLabelSoftMarginLoss()                                  | randn(3, 4), randint(0, 2, (3, 4)).double()
    TripletMarginLoss(swap=True)                                | randn(3, 4), randn(3, 4), randn(3, 4)
    TripletMarginWithDistanceLoss(margin=2.0)                   | randn(3, 4), randn(3, 4), randn(3, 4)
    CTCLoss()                                                   | leaf(randn(6, 2, 4)).log_softmax(2), tensor([[1, 2], [3, 0]]), [6, 5], [2, 1]
    AdaptiveLogSoftmaxWithLoss(6, 10, [3, 6], div_value=2.0)    | randn(5, 6), tensor([9, 0, 4, 2, 7])
    AdaptiveLogSoftmaxWithLoss(6, 10, [5], head_bias=True)      | randn(6), tensor(7)

    RNN(3, 4)                                                   | randn(5, 2, 3)
    RNN(3, 4, 2, "relu", batch_first=True)                      | randn(2, 5, 3), randn(2, 2, 4)
    LSTM(3, 4, bidirectional=True)                              | randn(5, 2, 3)
    LSTM(3, 4, 2, dropout=0.5, proj_size=2)                     | randn(5, 2, 3), (randn(2, 2, 2), randn(2, 2, 4))
    LSTM(3, 4, bias=False)                                      | randn(5, 3)
    LSTM(3, 4)                                                  | nn.utils.rnn.pack_sequence([randn(4, 3), randn(2, 3)])
    LSTM(3, 4)                                                  | randn(5, 0, 3)
    GRU(3, 4, 2, batch_first=True, bidirectional=True)          | randn(2, 5, 3)
    GRU(3, 4)                                                   | nn.utils.rnn.pack_sequence([randn(1, 3), randn(2, 3)], False)
    RNNCell(3, 4, nonlinearity="relu")                          | randn(2, 3), randn(2, 4)
    RNNCell(3, 4, bias=False)                                   | randn(3)
    LSTMCell(3, 4)                                              | randn(2, 3), (randn(2, 4), randn(2, 4))
    GRUCell(3, 4)                                               | randn(2, 3)

    MultiheadAttention(6, 2)                                    | randn(4, 2, 6), randn(3, 2, 6), randn(3, 2, 6)
    MultiheadAttention(6, 3, dropout=0.3, batch_first=True)     | *[randn(2, 4, 6)] * 3
    MultiheadAttention(6, 2, bias=False, add_bias_kv=True, kdim=3, vdim=5) | randn(4, 6), randn(3, 3), randn(3, 5)
    MultiheadAttention(6, 2, add_zero_attn=True)                | *[randn(4, 2, 6)] * 3, tensor([[False] * 4, [False] * 2 + [True] * 2])
    TransformerEncoderLayer(6, 2, 8, dropout=0.2)               | randn(4, 2, 6)
    TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", norm_first=True, bias=False) | randn(4, 2, 6), ones(4, 4).triu(1).bool()
    TransformerDecoderLayer(6, 2, 8, batch_first=True)          | randn(2, 4, 6), randn(2, 3, 6)
    TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8), 2, nn.LayerNorm(6), False) | randn(4, 2, 6)
    TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8), 1)  | randn(4, 2, 6), randn(3, 2, 6)
    DataParallel(nn.Linear(3, 4))                               | randn(2, 3)
    Transformer(6, 2, 1, 2, 8)                                  | randn(4, 2, 6), randn(3, 2, 6)
"""  # noqa: E501


def build(torch: Any, line: str) -> Any:
    """The layer of a line."""
    torch.manual_seed(0)
    return eval("nn." + line.split("|")[0].strip(), {**vars(torch), "nn": torch.nn})


def inputs(torch: Any, line: str) -> tuple[list[Any], list[Any]]:
    """The inputs of a line, in double precision, and those that want gradients; of a loss's only the first."""
    torch.manual_seed(1)
    leaves: dict[int, Any] = {}

    def leaf(x: Any) -> Any:
        if id(x) not in leaves:
            leaves[id(x)] = (x, x.detach().double().requires_grad_("Loss(" not in line or not leaves))
        return leaves[id(x)][1]

    def prepared(x: Any) -> Any:
        if isinstance(x, tuple):
            return x.double() if hasattr(x, "batch_sizes") else tuple(map(prepared, x))
        ready = not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.requires_grad
        return x if ready else leaf(x)

    args = eval(f"[{line.split('|')[1].strip()}]", {**vars(torch), "nn": torch.nn, "leaf": leaf})
    return list(map(prepared, args)), [made for _, made in leaves.values() if made.requires_grad]


def tensors(torch: Any, x: Any) -> list[Any]:
    """The tensors in arguments or results."""
    if isinstance(x, (tuple, list)):
        return [t for part in x for t in tensors(torch, part)]
    return [x] if isinstance(x, torch.Tensor) else []


def waved(torch: Any, x: Any) -> Any:
    """A tensor as one number, to which every element contributes in its own way."""
    return (x.double() * torch.arange(x.numel(), dtype=torch.float64).add(1).cos().reshape(x.shape)).sum()


def layer(torch: Any, line: str) -> Iterator[Any]:
    """All that is recorded of a layer."""
    warnings.filterwarnings("ignore", "enable_nested_tensor|Using padding='same'")
    module = build(torch, line)
    yield repr(module).splitlines()
    lazy = line.strip().startswith("Lazy")
    if not lazy:
        yield {k: [list(v.shape), v.flatten()[:2].tolist()] for k, v in module.state_dict().items()}
    else:
        torch.manual_seed(0)
        module(*(x.float() if isinstance(x, torch.Tensor) else x for x in inputs(torch, line)[0]))
        yield [type(module).__name__, repr(module), {k: list(v.shape) for k, v in module.state_dict().items()}]
    module.double()
    for mode in (True, False):
        module.train(mode).zero_grad()
        args, leaves = inputs(torch, line)
        given = [x.clone() if "inplace" in line else x for x in args]
        torch.manual_seed(2)
        results = tensors(torch, module(*given))
        yield [[list(t.shape), waved(torch, t).item()] for t in results]
        differentiable = [t for t in results if t.requires_grad]
        if differentiable:
            sum(waved(torch, t) for t in differentiable).backward()
        yield [None if t.grad is None else waved(torch, t.grad).item() for t in (*leaves, *module.parameters())]
        yield [waved(torch, b).item() for b in module.buffers()]


LINES = [line for line in LAYERS.splitlines() if line.strip()]
for _line in LINES:
    programs[" ".join(_line.split())] = lambda torch, line=_line: layer(torch, line)


REFUSED = """
    Bilinear(0, 3, 2)
    Unflatten(1, 3)
    Unflatten(1, (2, 1.5))
    Dropout(1.5)
    Dropout2d(-0.1)
    Hardtanh(1.0, 1.0)
    GroupNorm(4, 6)
    Softmax2d()(randn(3, 4))
    BatchNorm1d(3)(randn(3))
    BatchNorm2d(3)(randn(3, 4))
    SyncBatchNorm(3)(randn(3))
    InstanceNorm2d(3)(randn(2, 3))
    InstanceNorm1d(3, affine=True)(randn(2, 4, 5))
    InstanceNorm1d(3)(randn(2, 4, 5)).shape
    Conv1d(3, 4, 3, groups=0)
    Conv1d(3, 4, 3, groups=2)
    Conv1d(4, 3, 3, groups=2)
    Conv1d(3, 4, 3, padding="same", stride=2)
    ConvTranspose2d(3, 4, 3, padding_mode="reflect")
    ConvTranspose1d(3, 4, 3)(randn(2, 3, 4), [5])
    ConvTranspose1d(3, 4, 3)(randn(2, 3, 4), [5, 5])
    LazyConv1d(4, 3)(randn(2))
    LazyConv1d(4, 3, groups=2)(randn(2, 3, 5))
    LazyLinear(3).weight.shape
    FractionalMaxPool2d(2)
    FractionalMaxPool2d(2, 3, 0.5)
    FractionalMaxPool2d(2, output_ratio=1.5)
    FractionalMaxPool3d(0, 3)
    CircularPad2d(1)(randn(3, 4))
    Embedding(3, 2, padding_idx=3)
    Embedding(3, 2, _weight=ones(2, 2))
    Embedding.from_pretrained(ones(3))
    L1Loss(reduce=False).reduction
    MSELoss(size_average=False).reduction
    HuberLoss(delta="1")
    MultiMarginLoss(3)
    MultiMarginLoss(weight=ones(2, 2))
    TripletMarginLoss(margin=0)
    TripletMarginWithDistanceLoss(margin=-1)
    NLLLoss2d().ignore_index
    LinearCrossEntropyLoss(3, 4, weight=ones(3))
    LinearCrossEntropyLoss(3, 4, label_smoothing=1.5)
    LinearCrossEntropyOptions(acc_policy="x")
    LinearCrossEntropyOptions(chunking_method="aspect_ratio:0")
    LinearCrossEntropyOptions(batch_chunk_size=0)
    AdaptiveLogSoftmaxWithLoss(4, 10, [])
    AdaptiveLogSoftmaxWithLoss(4, 10, [3, 3])
    AdaptiveLogSoftmaxWithLoss(4, 10, [3])(randn(2, 4), tensor([3]))
    AdaptiveLogSoftmaxWithLoss(4, 10, [3])(randn(1), tensor([3]))
    AdaptiveLogSoftmaxWithLoss(4, 10, [3])(randn(2, 4), tensor([3, 10]))
    LSTM(3, 4, dropout=1.5)
    LSTM(3, 4, dropout=0.5).dropout
    LSTM(3, 4, bias=1)
    LSTM(3.0, 4)
    LSTM(3, 0)
    LSTM(3, 4, num_layers=0)
    LSTM(3, 4, proj_size=4)
    LSTM(3, 4, proj_size=-1)
    RNN(3, 4, nonlinearity="gelu")
    LSTM(3, 4)(randn(3))
    RNN(3, 4)(randn(5, 2, 2))
    RNN(3, 4)(randn(5, 2, 3).double())
    RNN(3, 4)(randn(5, 2, 3), randn(2, 4))
    RNN(3, 4)(randn(5, 2, 3), randn(1, 3, 4))
    LSTM(3, 4)(randn(5, 3), (randn(1, 4), randn(1, 1, 4)))
    LSTM(3, 4)(randn(5, 2, 3), (randn(1, 2, 4), randn(1, 2, 3)))
    LSTM(3, 4)(randn(0, 2, 3))
    GRUCell(3, 4)(randn(1, 2, 3))
    GRUCell(3, 4)(randn(2, 2))
    LSTMCell(3, 4)(randn(2, 3), (randn(2, 4), randn(1, 2, 4)))
    RNNCell(3, 4, nonlinearity="gelu")(randn(2, 3))
    MultiheadAttention(0, 1)
    MultiheadAttention(5, 2)
    Transformer(4, 2, 1, 1, 8)(randn(3, 2, 4), randn(3, 1, 4))
    Transformer(4, 2, 1, 1, 8)(randn(3, 2, 5), randn(3, 2, 5))
    TransformerEncoderLayer(4, 2, 8, activation="tanh")
    utils.clip_grad_norm_((p for p in []), 1.0)
    utils.vector_to_parameters([1.0], [])
    utils.rnn.pad_sequence(3)
    utils.rnn.pad_sequence([])
    utils.rnn.pad_sequence([ones(2)], padding_side="up")
    utils.rnn.pack_padded_sequence(ones(3, 2), [2, 3])
    utils.rnn.pack_padded_sequence(ones(3, 2), [3, 0])
    utils.rnn.pack_padded_sequence(ones(3, 2), [3])
    utils.rnn.pad_packed_sequence(utils.rnn.pack_sequence([ones(2)]), total_length=1)
"""


def refusal(torch: Any, line: str) -> Iterator[Any]:
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", "enable_nested_tensor")  # PyTorch's fast path is none of our business
    yield attempt(eval, line, {**vars(torch), "utils": torch.nn.utils, **vars(torch.nn)})


for _line in filter(None, map(str.strip, REFUSED.splitlines())):
    refusals[_line] = lambda torch, line=_line: refusal(torch, line)

if __name__ == "__main__":
    programs.record()
    refusals.record()
