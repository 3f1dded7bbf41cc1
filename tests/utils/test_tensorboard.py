"""Event files: read back by a decoder of their format, and by TensorBoard itself where it is installed."""

import os
import struct
import time
import zlib

import numpy as np
import pytest

import pullback as torch
from pullback.utils.tensorboard import SummaryWriter
from pullback.utils.tensorboard.records import checksum, varint, whole


def fields(data):
    """The fields of a message: number and value, undecoded where it is bytes."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = data[at], at + 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = number()
        kind, size = key & 7, {1: 8, 5: 4}.get(key & 7)
        if kind == 0:
            yield key >> 3, number()
        elif kind == 2:
            n = number()
            at += n
            yield key >> 3, data[at - n : at]
        else:
            at += size
            yield key >> 3, struct.unpack({8: "<d", 4: "<f"}[size], data[at - size : at])[0]


def events(folder):
    """Step and the fields of the value, for every event in a folder's file, whose checksums are right."""
    (path,) = [p for p in folder.iterdir() if p.name.startswith("events.out.tfevents.")]
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (n,) = struct.unpack("<Q", data[at : at + 8])
        event = data[at + 12 : at + 12 + n]
        assert struct.unpack("<I", data[at + 8 : at + 12]) == (checksum(data[at : at + 8]),)
        assert struct.unpack("<I", data[at + 12 + n : at + 16 + n]) == (checksum(event),)
        found.append(dict(fields(event)))
        at += 16 + n
    assert found[0][3] == b"brain.Event:2" and abs(found[0][1] - time.time()) < 100
    return [(e.get(2), dict(fields(dict(fields(e[5]))[1]))) for e in found[1:]]


def written(tmp_path, act):
    with SummaryWriter(tmp_path) as writer:
        act(writer)
    return events(tmp_path)


def test_the_parts_of_the_format():
    assert [varint(n) for n in (0, 127, 128, 300, -1)] == [
        b"\0",
        b"\x7f",
        b"\x80\x01",
        b"\xac\x02",
        b"\xff" * 9 + b"\x01",
    ]
    assert whole(3, 1) == b"\x18\x01"
    assert checksum(b"123456789") == (((0xE3069283 >> 15 | 0xE3069283 << 17) & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars(tmp_path):
    def act(writer):
        writer.add_scalar("loss/train", torch.tensor([0.25], requires_grad=True), 3)
        writer.add_scalar("n", 2, torch.tensor(4))
        writer.add_scalar("half", torch.tensor(1.5, dtype=torch.bfloat16), walltime=1.0)
        writer.add_scalar("precise", 0.1, 1, double_precision=True)
        with pytest.raises(AssertionError, match="scalar should be 0D"):
            writer.add_scalar("many", torch.ones(2))

    first, second, third, precise = written(tmp_path, act)
    assert (
        first == (3, {1: b"loss/train", 2: 0.25})
        and second == (4, {1: b"n", 2: 2.0})
        and third == (None, {1: b"half", 2: 1.5})
    )
    assert dict(fields(precise[1][8]))[6] == 0.1


def test_scalars_of_several_runs(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("m/n", {"a": 1, "b": np.float64(2)}, 5)
        writer.add_scalars("m/n", {"a": 3}, 6)
    assert events(tmp_path / "m_n_a") == [(5, {1: b"m/n", 2: 1.0}), (6, {1: b"m/n", 2: 3.0})]
    assert events(tmp_path / "m_n_b") == [(5, {1: b"m/n", 2: 2.0})]


def test_histograms(tmp_path):
    x = torch.tensor([-1.0, 0.0, 0.5, 3.0])

    def act(writer):
        writer.add_histogram("h", x, 1, bins=[-2.0, 0.0, 1.0, 2.0, 4.0])
        writer.add_histogram("default", x)
        writer.add_histogram("few", x, bins=np.arange(-2.0, 5.0), max_bins=3)
        writer.add_histogram_raw("raw", 0, 1, 2, 3, 4, [1.0], [2])
        with pytest.raises(ValueError, match="The input has no element"):
            writer.add_histogram("none", torch.zeros(0))

    own, default, few, raw = (dict(fields(value[5])) for _, value in written(tmp_path, act))
    unpack = lambda data: struct.unpack(f"<{len(data) // 8}d", data)
    assert [own[i] for i in range(1, 6)] == [-1.0, 3.0, 4.0, 2.5, 10.25]
    assert unpack(own[6]) == (-2.0, 0.0, 1.0, 2.0, 4.0) and unpack(own[7]) == (0.0, 1.0, 2.0, 0.0, 1.0)
    assert sum(unpack(default[7])) == sum(unpack(few[7])) == 4 and len(unpack(few[7])) == 4
    assert [raw[i] for i in range(1, 6)] == [0, 1, 2, 3, 4] and unpack(raw[7]) == (2.0,)


def pixels(value):
    """What a picture holds, from its PNG."""
    image = dict(fields(value[4]))
    data = image[4]
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at = data.index(b"IDAT")
    (n,) = struct.unpack(">I", data[at - 4 : at])
    rows = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + n]), np.uint8).reshape(image[1], -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(image[1], image[2], image[3])


def test_pictures(tmp_path):
    x = torch.rand(3, 2, 4)

    def act(writer):
        writer.add_image("float", x, 1)
        writer.add_image("grey", (x[0] * 255).byte(), dataformats="HW")
        writer.add_images("grid", torch.stack([x[:1]] * 9))
        with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
            writer.add_image("flat", x[0])

    colour, grey, grid = (pixels(value) for _, value in written(tmp_path, act))
    assert np.array_equal(colour, (x.numpy().transpose(1, 2, 0) * np.float32(255)).astype(np.uint8))
    assert grey.shape == (2, 4, 3) and np.array_equal(grey[..., 1], (x[0] * 255).byte().numpy())
    assert grid.shape == (4, 32, 3) and not grid[2:, 4:].any() and np.array_equal(grid[:2, :4], grid[2:, :4])


def test_figures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(1, 1), dpi=20)
    ((_, value),) = written(tmp_path, lambda writer: writer.add_figure("f", figure))
    assert pixels(value).shape == (20, 20, 4) and not pyplot.get_fignums()


def test_text_sound_and_curves(tmp_path):
    def act(writer):
        writer.add_text("words", "é **b**")
        writer.add_audio("tone", torch.zeros(1, 10), sample_rate=8000)
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.9, 0.4]), num_thresholds=11)

    text, sound, curve = (value for _, value in written(tmp_path, act))
    assert text[1] == b"words/text_summary" and dict(fields(text[8]))[8].decode() == "é **b**"
    wav = dict(fields(sound[6]))
    assert (wav[1], wav[2], wav[3], wav[4][:4]) == (8000.0, 1, 10, b"RIFF")
    rows = np.frombuffer(dict(fields(curve[8]))[6]).reshape(6, 11)
    assert rows[0].tolist() == [2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0] and rows[1].tolist() == [1, 1] + [0] * 9
    assert rows[5, 0] == 1 and rows[4, 0] == pytest.approx(2 / 3)


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(
            {"lr": 0.1, "name": "a", "on": True, "no": None},
            {"acc": 0.5},
            {"name": ["a", "b"]},
            run_name="run",
            global_step=2,
        )
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(TypeError, match="should be a list of same type"):
            writer.add_hparams({"lr": 0.1}, {}, {"lr": ["a"]})
        with pytest.raises(ValueError, match="value should be one of int"):
            writer.add_hparams({"lr": []}, {}, run_name="other")
    tags = [(step, value[1]) for step, value in events(tmp_path / "run")]
    assert tags == [
        (2, b"_hparams_/experiment"),
        (2, b"_hparams_/session_start_info"),
        (2, b"_hparams_/session_end_info"),
        (2, b"acc"),
    ]


def test_embeddings(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), ["a", "b"], global_step=1, tag="x")
    assert (tmp_path / "00001/x/tensors.tsv").read_text() == "1.0\t2.0\n3.0\t4.0\n"
    assert (tmp_path / "00001/x/metadata.tsv").read_text() == "a\nb\n"
    assert 'tensor_path: "00001/x/tensors.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()


def test_graphs(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net.train(), torch.ones(1, 2))
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    event = dict(fields(data[n + 16 + 12 : -4]))
    nodes = [list(fields(node)) for number, node in fields(event[4]) if number == 1]
    found = {
        dict(node)[1].decode(): (dict(node)[2].decode(), [v.decode() for k, v in node if k == 3]) for node in nodes
    }
    assert {name for name, (kind, _) in found.items() if kind == "Parameter"} == {"0/weight", "0/bias"}
    assert found["input/0"] == ("IO Node", [])
    tanh = found["output/0"][1][0]
    assert found[tanh][0] == "Tanh" and found[found[tanh][1][0]][0] == "Addmm" and net.training
    assert "input/0" in found[found[tanh][1][0]][1]


def test_charts(tmp_path):
    layout = {"losses": {"both": ["Multiline", ["a", "b"]], "band": ["Margin", ["m", "low", "high"]]}}
    ((step, event),) = written(tmp_path, lambda writer: writer.add_custom_scalars(layout))
    assert step is None and event[1] == b"custom_scalars__config__"
    config = dict(fields(event[8]))[8]
    (category,) = [v for k, v in fields(config) if k == 2]
    assert dict(fields(category))[1] == b"losses"
    both, band = [dict(fields(v)) for k, v in fields(category) if k == 2]
    assert [v for _, v in fields(both[2])] == [b"a", b"b"]
    assert dict(fields(dict(fields(band[3]))[1])) == {1: b"m", 2: b"low", 3: b"high"}


def test_the_writer_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = SummaryWriter(comment="_c")
    assert os.path.dirname(writer.get_logdir()) == "runs" and writer.log_dir.endswith("_c")
    writer.add_scalar("a", 1)
    writer.flush()
    writer.close()
    writer.add_scalar("a", 2)  # a new file
    writer.close()
    assert len(list((tmp_path / writer.log_dir).iterdir())) == 2
    with pytest.raises(NotImplementedError, match="SummaryWriter.add_video is not in Pullback"):
        writer.add_video("v", None)


def test_tensorboard_reads_it(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_histogram("h", torch.arange(4.0), 1)
        writer.add_image("i", torch.zeros(3, 2, 2), 1)
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(1, 0.5)]
    assert set(events.Tags()["images"]) == {"i"} and set(events.Tags()["histograms"]) == {"h"}
