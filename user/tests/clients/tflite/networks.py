# SPDX-License-Identifier: MIT
"""Networks with random weights in float32, uint8 and int8, run through TensorFlow Lite with and
without the plug-in and compared: TAP.

usage: networks.py LIBTENSORFLOW_LITE LIBNNACCEL_TFLITE DEVICE BUILTINS [NAME...]
"""
import random
import struct
import sys
from array import array

import model
import runtime
from model import FLOAT32, INT32, INT8, NAMES, NONE, RELU, RELU6, SAME, TANH, UINT8, VALID

RANGES = {NONE: (-4.0, 4.0), RELU: (0.0, 6.0), RELU6: (0.0, 6.0)}


def gauss(count, deviation):
    """Pseudo-random floats: sums of two uniform ones from a table, as fast as Python allows."""
    table = [random.uniform(-1.2, 1.2) * deviation for _ in range(4093)]
    start = random.randrange(4093)
    repeats = -(-(count + start) // 4093)
    return array("f", (table * repeats)[start:start + count])


class Net:
    """A model of one kind: tensors have the scales that fit their ranges."""

    def __init__(self, operators, kind, per_tensor=False):
        self.m = model.Model(operators)
        self.kind = kind
        self.per_tensor = per_tensor

    def quant(self, low, high):
        if self.kind == FLOAT32:
            return {"kind": FLOAT32}
        least = 0 if self.kind == UINT8 else -128
        scale = (high - low) / 255
        return {"kind": self.kind, "scale": scale, "zero": least + round(-low / scale)}

    def like(self, x, shape):
        scale, zero = self.m.quants[x]
        return self.m.tensor(shape, self.m.types[x], scale=scale, zero=zero)

    def tensor(self, shape, low=-4.0, high=4.0):
        return self.m.tensor(shape, **self.quant(low, high))

    def input(self, shape, low=-1.0, high=1.0):
        return self.m.input(shape, **self.quant(low, high))

    def shape(self, x):
        return self.m.shapes[x]

    def weights(self, shape, fan_in, axis=0):
        """Weights, and what a bias has to be scaled by."""
        deviation = 1.5 / fan_in ** .5
        n = model.count(shape)
        if self.kind == FLOAT32:
            return self.m.tensor(shape, data=gauss(n, deviation).tobytes()), None
        scale = deviation * 1.2 / 127
        numbers = gauss(n, deviation / scale)
        if self.kind == UINT8:
            data = bytes(max(0, min(255, int(v) + 128)) for v in numbers)
            return self.m.tensor(shape, UINT8, scale=scale, zero=128, data=data), scale
        data = bytes(max(-127, min(127, int(v))) & 255 for v in numbers)
        if axis is None or self.per_tensor:
            return self.m.tensor(shape, INT8, scale=scale, data=data), scale
        scales = [scale * random.uniform(.8, 1.25) for _ in range(shape[axis])]
        return self.m.tensor(shape, INT8, scale=scales, axis=axis, data=data), scale

    def bias(self, x, size, scale):
        if scale is None:
            return self.m.tensor([size], data=gauss(size, .1).tobytes())
        unit = self.m.quants[x][0] * scale
        return self.m.tensor([size], INT32, scale=unit,
                             data=[int(v / unit) for v in gauss(size, .1)])

    def conv(self, x, channels, window=1, stride=1, activation=RELU6, dilation=1, padding=SAME):
        n, h, w, ci = self.shape(x)
        weight, scale = self.weights([channels, window, window, ci], window * window * ci)
        reach = (window - 1) * dilation + 1
        size = [-(-v // stride) if padding == SAME else (v - reach) // stride + 1 for v in (h, w)]
        y = self.tensor([n] + size + [channels], *RANGES[activation])
        return self.m.op("CONV_2D", [x, weight, self.bias(x, channels, scale)], [y], padding,
                         stride, stride, activation, dilation, dilation)

    def depthwise(self, x, window=3, stride=1, activation=RELU6):
        n, h, w, c = self.shape(x)
        weight, scale = self.weights([1, window, window, c], window * window, 3)
        y = self.tensor([n, -(-h // stride), -(-w // stride), c], *RANGES[activation])
        return self.m.op("DEPTHWISE_CONV_2D", [x, weight, self.bias(x, c, scale)], [y], SAME,
                         stride, stride, 1, activation, 1, 1)

    def fully(self, x, units, activation=NONE):
        rows, size = model.count(self.shape(x)[:-1]), self.shape(x)[-1]
        weight, scale = self.weights([units, size], size, None)
        y = self.tensor([rows, units], *RANGES[activation])
        return self.m.op("FULLY_CONNECTED", [x, weight, self.bias(x, units, scale)], [y],
                         activation, 0, False)

    def reshape(self, x, shape):
        return self.m.op("RESHAPE", [x, self.m.tensor([len(shape)], INT32, data=shape)],
                         [self.like(x, shape)])

    def transpose(self, x, order):
        shape = [self.shape(x)[i] for i in order]
        return self.m.op("TRANSPOSE", [x, self.m.tensor([len(order)], INT32, data=order)],
                         [self.like(x, shape)])

    def add(self, a, b):
        return self.m.op("ADD", [a, b], [self.tensor(self.shape(a), -6, 6)], NONE)

    def softmax(self, x):
        y = {FLOAT32: {"kind": FLOAT32}, UINT8: {"kind": UINT8, "scale": 1 / 256, "zero": 0},
             INT8: {"kind": INT8, "scale": 1 / 256, "zero": -128}}[self.kind]
        return self.m.op("SOFTMAX", [x], [self.m.tensor(self.shape(x), **y)], 1.0)

    def logistic(self, x):
        y = {FLOAT32: {"kind": FLOAT32}, UINT8: {"kind": UINT8, "scale": 1 / 256, "zero": 0},
             INT8: {"kind": INT8, "scale": 1 / 256, "zero": -128}}[self.kind]
        return self.m.op("LOGISTIC", [x], [self.m.tensor(self.shape(x), **y)])

    def concat(self, xs, axis):
        shape = list(self.shape(xs[0]))
        shape[axis] = sum(self.shape(x)[axis] for x in xs)
        return self.m.op("CONCATENATION", xs, [self.like(xs[0], shape)], axis, NONE)

    def pool(self, x):
        n, h, w, c = self.shape(x)
        return self.m.op("AVERAGE_POOL_2D", [x], [self.like(x, [n, 1, 1, c])], VALID, 1, 1, w, h,
                         NONE)


def mobilenet_v1(net, size=224, width=1.0):
    def c(channels):
        return max(8, int(channels * width))

    x = net.conv(net.input([1, size, size, 3]), c(32), 3, 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1),
                             (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)):
        x = net.conv(net.depthwise(x, 3, stride), c(channels))
    x = net.conv(net.pool(x), 1001, activation=NONE)
    x = net.reshape(x, [1, 1001])
    return x, net.softmax(x)


def mobilenet_v2(net, size=224, width=1.0):
    def c(channels):
        return max(8, int(channels * width))

    x = net.conv(net.input([1, size, size, 3]), c(32), 3, 2)
    for expansion, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                               (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                               (6, 320, 1, 1)):
        for i in range(count):
            before = x
            inner = net.shape(x)[3] * expansion
            y = net.conv(x, inner) if expansion > 1 else x
            y = net.depthwise(y, 3, stride if i == 0 else 1)
            x = net.conv(y, c(channels), activation=NONE)
            if i:
                x = net.add(before, x)
    x = net.conv(x, 1280)
    axes = net.m.tensor([2], INT32, data=[1, 2])
    x = net.m.op("MEAN", [x, axes], [net.tensor([1, 1280], 0, 6)], False)
    x = net.fully(x, 1001)
    return x, net.softmax(x)


def ssd_head(net, size=19, channels=576):
    x = net.input([1, size, size, channels], 0, 6)
    boxes, classes = [], []
    for out in (512, 256, 256):
        for parts, per_anchor in ((boxes, 4), (classes, 91)):
            y = net.conv(net.depthwise(x), 6 * per_anchor, activation=NONE)
            n = model.count(net.shape(y)) // per_anchor
            parts.append(net.reshape(y, [1, n, per_anchor]))
        x = net.conv(net.depthwise(net.conv(x, out // 2), 3, 2), out)
    return net.concat(boxes, 1), net.logistic(net.concat(classes, 1))


def deeplab_head(net, size=33, channels=320):
    x = net.input([1, size, size, channels])
    parts = [net.conv(x, 128, activation=RELU)]
    for dilation in (6, 12):
        parts.append(net.conv(x, 64, 3, activation=RELU, dilation=dilation))
    y = net.conv(net.pool(x), 128, activation=RELU)
    shape = net.m.tensor([2], INT32, data=[size, size])
    parts.append(net.m.op("RESIZE_BILINEAR", [y, shape],
                          [net.like(y, [1, size, size, 128])], True, False))
    y = net.conv(net.concat(parts, 3), 128, activation=RELU)
    y = net.conv(y, 21, activation=NONE)
    large = 4 * size - 3
    shape = net.m.tensor([2], INT32, data=[large, large])
    y = net.m.op("RESIZE_BILINEAR", [y, shape], [net.like(y, [1, large, large, 21])], True, False)
    return y


def keyword_spotting(net):
    x = net.conv(net.input([1, 49, 40, 1]), 32, 5, 2, RELU)
    n, h, w, c = net.shape(x)
    x = net.reshape(net.fully(x, 16, RELU), [n, h, w * 16])
    if net.kind != FLOAT32:
        x = net.m.op("DEQUANTIZE", [x], [net.m.tensor(net.shape(x))])
    units, size = 128, w * 16

    def matrix(rows, columns):
        return net.m.tensor([rows, columns], data=gauss(rows * columns, columns ** -.5).tobytes())

    inputs = [x] + [matrix(units, size) for _ in range(4)] + [matrix(units, units)
                                                              for _ in range(4)] + [-1] * 3
    inputs += [net.m.tensor([units], data=gauss(units, .1).tobytes()) for _ in range(4)] + [-1] * 2
    inputs += [net.m.tensor([1, units], variable=True) for _ in range(2)]
    y = net.m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [net.m.tensor([1, h, units])], TANH, 0.0,
                 0.0, False, False, False)
    y = net.m.op("STRIDED_SLICE", [y] + [net.m.tensor([3], INT32, data=d) for d in
                                         ([0, -1, 0], [1, h, units], [1, 1, 1])],
                 [net.m.tensor([1, units])], 0, 0, 0, 0, 2)
    if net.kind != FLOAT32:
        y = net.m.op("QUANTIZE", [y], [net.tensor([1, units], -1, 1)])
    y = net.fully(y, 12)
    return y, net.softmax(y)


def transformer_block(net, steps=128, width=256, heads=4):
    x = net.input([1, steps, width])
    depth = width // heads

    def split(y, order):
        return net.transpose(net.reshape(y, [1, steps, heads, depth]), order)

    q, k, v = (split(net.fully(x, width), [0, 2, 1, 3]) for _ in range(3))
    scores = net.m.op("BATCH_MATMUL", [q, k], [net.tensor([1, heads, steps, steps], -16, 16)],
                      False, True, False)
    scale = net.m.tensor([1], **net.quant(0, 1), data=[depth ** -.5] if net.kind == FLOAT32 else
                         [-128 + round(255 * depth ** -.5)])
    scores = net.m.op("MUL", [scores, scale], [net.tensor([1, heads, steps, steps], -4, 4)], NONE)
    y = net.m.op("BATCH_MATMUL", [net.softmax(scores), v],
                 [net.tensor([1, heads, steps, depth], -4, 4)], False, False, False)
    y = net.reshape(net.transpose(y, [0, 2, 1, 3]), [1, steps, width])
    y = net.add(x, net.reshape(net.fully(y, width), [1, steps, width]))
    if net.kind == FLOAT32:
        axis = net.m.tensor([1], INT32, data=[-1])
        mean = net.m.op("MEAN", [y, axis], [net.m.tensor([1, steps, 1])], True)
        square = net.m.op("SQUARED_DIFFERENCE", [y, mean], [net.m.tensor([1, steps, width])])
        variance = net.m.op("MEAN", [square, axis], [net.m.tensor([1, steps, 1])], True)
        small = net.m.tensor([1], data=[1e-5])
        factor = net.m.op("RSQRT", [net.m.op("ADD", [variance, small],
                                             [net.m.tensor([1, steps, 1])], NONE)],
                          [net.m.tensor([1, steps, 1])])
        y = net.m.op("MUL", [net.m.op("SUB", [y, mean], [net.m.tensor([1, steps, width])], NONE),
                             factor], [net.m.tensor([1, steps, width])], NONE)
    hidden = net.fully(y, 4 * width, RELU)
    return net.add(y, net.reshape(net.fully(hidden, width), [1, steps, width]))


KINDS = (FLOAT32, UINT8, INT8)
NETWORKS = {
    "mobilenet_v1": (mobilenet_v1, KINDS), "mobilenet_v2": (mobilenet_v2, KINDS),
    "ssd_head": (ssd_head, KINDS), "deeplab_head": (deeplab_head, KINDS),
    "keyword_spotting": (keyword_spotting, KINDS),
    "transformer_block": (transformer_block, (FLOAT32, INT8)),
}
# Arguments that make smaller versions of the networks, for tests.
SMALL = {"mobilenet_v1": (96, .25), "mobilenet_v2": (96, .25), "ssd_head": (10, 32),
         "deeplab_head": (9, 24), "transformer_block": (16, 32, 2)}


def make(operators, name, kind, *arguments, per_tensor=False):
    """A model, and data for its input; `per_tensor`: int8 weights have one scale a tensor."""
    random.seed(name)
    net = Net(operators, kind, per_tensor)
    outputs = NETWORKS[name][0](net, *arguments)
    data = net.m.finish(*(outputs if isinstance(outputs, tuple) else (outputs,)))
    n = model.count(net.shape(net.m.inputs[0]))
    image = gauss(n, .8).tobytes() if kind == FLOAT32 else random.randbytes(n)
    return net.m, data, image


def furthest(kind, a, b):
    """The largest difference, in quanta or as a share of the largest value."""
    letter = model.FORMATS[kind]
    n = len(a) // struct.calcsize(letter)
    a, b = struct.unpack(f"{n}{letter}", a), struct.unpack(f"{n}{letter}", b)
    worst = max(abs(x - y) for x, y in zip(a, b))
    return worst / max(map(abs, a)) if kind == FLOAT32 else worst


def main(library, plugin, device, builtins, *names):
    tflite = runtime.Tflite(library)
    operators = model.codes(builtins)
    tests = [(n, k) for n in NETWORKS if n in names or len(names) < 2 for k in NETWORKS[n][1]]
    failed = 0
    print(f"1..{len(tests)}")
    for i, (name, kind) in enumerate(tests, 1):
        made, data, image = make(operators, name, kind, *SMALL.get(name, ()))
        plain = runtime.Interpreter(tflite, data)
        plain.allocate()
        with runtime.Stderr() as said:
            delegate = runtime.Delegate(plugin, {"device": device, "verbosity": 1})
            ours = runtime.Interpreter(tflite, data, [delegate.handle])
            ours.allocate()
        wrong = None if f"{len(made.nodes)} of {len(made.nodes)} nodes in 1 " in said.text else \
            said.text
        for a, b, tensor in zip(plain.run(image), ours.run(image), made.outputs):
            # The errors of consecutive layers may add up in the outputs.
            off = furthest(made.types[tensor], a, b)
            if off > (1e-4 if kind == FLOAT32 else 3):
                wrong = f"{wrong or ''} off by {off:g}"
        if len(set(ours.get(0))) < 6:
            wrong = f"{wrong or ''} nearly all results are the same"
        ours.close()
        delegate.close()
        plain.close()
        failed += wrong is not None
        print(f"{'ok' if wrong is None else 'not ok'} {i} - tflite {device}: {name} "
              f"{NAMES[kind]}", flush=True)
        if wrong:
            print("# " + wrong.strip().replace("\n", "\n# "))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
