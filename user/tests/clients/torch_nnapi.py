# SPDX-License-Identifier: MIT
"""PyTorch's NNAPI backend as a client of libneuralnetworks.so: converts small models,
runs them and compares with what PyTorch computes itself. Prints TAP.

usage: torch_nnapi.py LIBRARY nnaccel|nnapi-reference

PyTorch opens "libneuralnetworks.so" by itself and names no device. That it got LIBRARY is
seen in the process's mappings; that nnaccel did the work is seen in the module's counter
of executions, which each run must move. nnapi-reference is what is left without it.
"""
import os
import sys
import warnings
from functools import partial

import torch
from torch import nn
from torch.backends._nnapi.prepare import convert_model_to_nnapi

SUMMARY = "/sys/kernel/debug/nnaccel/summary"
RUNS = 3
FLOAT_TOLERANCE = 1e-5  # of the greatest absolute value
QUANT_TOLERANCE = 1  # quanta of the output


class Residual(nn.Module):
    """MobileNetV2's block: expand, depthwise, project, add."""

    def __init__(self, channels, expansion=4):
        super().__init__()
        inner = channels * expansion
        self.block = nn.Sequential(
            nn.Conv2d(channels, inner, 1), nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, padding=1, groups=inner), nn.ReLU6(),
            nn.Conv2d(inner, channels, 1))

    def forward(self, x):
        return x + self.block(x)


class MobileNet(nn.Module):
    """A stem, three such blocks and a classifier."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU6(), Residual(8), Residual(8),
            nn.Conv2d(8, 16, 1), nn.ReLU6(), Residual(16), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(16, 10)

    def forward(self, x):
        return torch.softmax(self.classifier(self.features(x).flatten(1)), 1)


class Function(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Dequantized(nn.Module):
    """A quantized model between QUANTIZE and DEQUANTIZE, for calibration by PyTorch."""

    def __init__(self, body):
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.body = body
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.body(self.quant(x)))


class QuantizedResidual(nn.Module):
    """A convolution, ReLU and quantized addition."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.relu = nn.ReLU()
        self.add = nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.add.add(x, self.relu(self.conv(x)))


def nhwc(*shape):
    """An image as PyTorch's NNAPI backend wants it: channels last, and marked so."""
    x = torch.randn(*shape).contiguous(memory_format=torch.channels_last)
    x.nnapi_nhwc = True
    return x


def quantize(body, example):
    """Calibrates a float model on random inputs and quantizes it, fused where it can be."""
    model = Dequantized(body).eval()
    children = list(body.named_modules())
    pairs = [["body." + a[0], "body." + b[0]] for a, b in zip(children, children[1:])
             if isinstance(a[1], (nn.Conv2d, nn.Linear)) and isinstance(b[1], nn.ReLU)]
    if pairs:
        torch.ao.quantization.fuse_modules(model, pairs, inplace=True)
    model.qconfig = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.MinMaxObserver.with_args(dtype=torch.quint8),
        weight=torch.ao.quantization.MinMaxObserver.with_args(
            dtype=torch.qint8, qscheme=torch.per_tensor_symmetric))
    torch.ao.quantization.prepare(model, inplace=True)
    for _ in range(8):
        model(torch.randn_like(example))
    return torch.ao.quantization.convert(model)


class Inner(nn.Module):
    """The quantized part of a model, whose input and output are quantized tensors."""

    def __init__(self, model):
        super().__init__()
        self.body = model.body

    def forward(self, x):
        return self.body(x)


def quantized(body, example):
    """A quantized model and its quantized example, of the scale it was calibrated for."""
    model = quantize(body, example)
    x = model.quant(example)
    x.nnapi_nhwc = getattr(example, "nnapi_nhwc", False)
    return Inner(model), [x]


def float_cases():
    image, row = nhwc(1, 3, 16, 16), torch.randn(4, 12)
    yield "conv-relu-pool", nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 6, 5, stride=2), nn.ReLU(), nn.AvgPool2d(2)), [image]
    yield "conv-nchw", nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), [torch.randn(2, 3, 9, 7)]
    yield "conv-depthwise", nn.Conv2d(4, 4, 3, groups=4), [nhwc(1, 4, 8, 8)]
    yield "linear", nn.Sequential(
        nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5), nn.LogSoftmax(1)), [row]
    yield "mobilenet", MobileNet(), [nhwc(1, 3, 32, 32)]
    yield "activations", Function(
        lambda x: torch.sigmoid(x) + torch.relu(x) * nn.functional.hardtanh(x)), [row]
    yield "prelu", nn.PReLU(3), [image]
    yield "broadcast", Function(lambda x, y: (x - y) * x / torch.sigmoid(y)), [row, torch.randn(1, 12)]
    yield "concatenate-mean", Function(
        lambda x, y: torch.cat([x, y], 1).mean([2, 3])), [image, nhwc(1, 5, 16, 16)]
    yield "upsample", nn.UpsamplingNearest2d(scale_factor=2), [image]
    yield "slice-reshape", Function(lambda x: x[:, 2:8:2].reshape(6, 2).unsqueeze(1)), [row]
    yield "two-outputs", Function(lambda x: (torch.relu(x), x + x)), [row]


def quantized_cases():
    torch.backends.quantized.engine = "qnnpack"
    image = nhwc(1, 4, 12, 12)
    yield ("quantized-conv-pool", *quantized(nn.Sequential(
        nn.Conv2d(4, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 6, 3)), image))
    yield ("quantized-depthwise", *quantized(nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=4), nn.ReLU(), nn.Conv2d(4, 8, 1)), image))
    yield ("quantized-residual", *quantized(QuantizedResidual(), image))
    yield ("quantized-linear", *quantized(nn.Sequential(
        nn.Linear(12, 16), nn.Linear(16, 5)), torch.randn(3, 12)))
    both = quantize(nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU()), image)
    both.quantum = both.body[0].scale
    yield "quantize-dequantize", both, [image]


def executions():
    """The module's counter of executions by command; None where there is no module."""
    try:
        with open(SUMMARY) as lines:
            return next(int(line.split()[1]) for line in lines
                        if line.startswith("executions-total"))
    except FileNotFoundError:
        return None


def like(example):
    """Other values of the example's shape, type and layout."""
    x = torch.randn(example.shape) * 1.5
    if example.is_quantized:
        x = torch.quantize_per_tensor(x, example.q_scale(), example.q_zero_point(), example.dtype)
    if example.dim() == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    return x


def difference(got, want):
    """How far apart two outputs are, and what is allowed, in the output's own unit."""
    if got.shape != want.shape:
        raise ValueError(f"shape {tuple(got.shape)}, not {tuple(want.shape)}")
    if want.is_quantized:
        apart = (got.int_repr().int() - want.int_repr().int()).abs().max().item()
        return apart, QUANT_TOLERANCE, "quanta"
    apart = (got - want).abs().max().item()
    return apart, FLOAT_TOLERANCE * max(1.0, want.abs().max().item()), ""


def compare(model, inputs):
    """Converts a model, runs it, and returns what differed most as text; raises when too much."""
    model = model.eval()
    # A float output that the model computes from quantised values may differ by QUANT_TOLERANCE quanta.
    step = QUANT_TOLERANCE * getattr(model, "quantum", 0)
    traced = torch.jit.trace(model, inputs)
    converted = convert_model_to_nnapi(traced, inputs)
    worst = []
    for _ in range(RUNS):
        args = [like(x) for x in inputs]
        want, got = model(*args), converted(*args)
        if not isinstance(want, tuple):
            want, got = (want,), (got,)
        for g, w in zip(got, want):
            apart, allowed, unit = difference(g, w)
            allowed += step
            if not apart <= allowed:
                raise ValueError(f"differs by {apart:.3g} {unit}, more than {allowed:.3g}")
            worst.append((apart, allowed, unit))
    worst = max(worst, key=lambda d: d[0] / d[1])
    return "differs by {:.2g}, allowed {:.2g} {}".format(*worst).rstrip()


def check(model, inputs, device):
    before = executions()
    text = compare(model, inputs)
    if device == "nnaccel":
        done = executions() - before
        if done < RUNS:
            raise ValueError(f"{RUNS} runs, but the module counted {done} executions")
        text += f", {done} executions"
    return text


def check_library(path):
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "libneuralnetworks" in line}
    if loaded != {os.path.realpath(path)}:
        raise ValueError(f"PyTorch loaded {loaded}, not {os.path.realpath(path)}")
    return path


def main():
    library, device = sys.argv[1:]
    if (device == "nnaccel") != (executions() is not None):
        sys.exit(f"{device}: {SUMMARY} has to be there for nnaccel, and for it only")
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tests = [(name, partial(check, model, inputs, device))
             for cases in (float_cases, quantized_cases) for name, model, inputs in cases()]
    tests.append(("library", partial(check_library, library)))
    failed = 0
    print(f"1..{len(tests)}")
    print(f"# PyTorch {torch.__version__}, {RUNS} runs each")
    for number, (name, test) in enumerate(tests, 1):
        with torch.no_grad():
            try:
                print(f"ok {number} - torch {device} {name}: {test()}", flush=True)
            except Exception as error:  # each model is a test of its own
                failed += 1
                reason = (str(error).strip() or repr(error)).splitlines()[0]
                print(f"not ok {number} - torch {device} {name}: {reason}", flush=True)
    return 1 if failed else 0


sys.exit(main())
