# SPDX-License-Identifier: MIT
"""Models of one operation: every operation of the plug-in's table, in its types and parameters."""
import random

from model import (BOOL, FLOAT16, FLOAT32, INT16, INT32, INT64, INT8, NAMES, NONE, RELU, RELU6,
                   RELU_N1_TO_1, SAME, TANH, UINT8, VALID, count)

ALL = (FLOAT32, UINT8, INT8)
MOVED = (FLOAT32, INT32, UINT8, INT8)


class Case:
    """`make` adds inputs and operators to a model and returns its outputs. `left`: what the
    plug-in says of the operation, which it leaves to TensorFlow Lite. `quanta`: how far a
    quantised result may be off: 1 where TensorFlow Lite rounds twice, or looks a function up
    in a table, and NNAPI computes in fixed point, or the other way round. `reference`: another
    model that TensorFlow Lite computes the same by, whose results `join` puts together."""

    def __init__(self, name, make, left=None, quanta=1, runs=1, tolerance=1e-5, reference=None,
                 join=None):
        self.name = name
        self.make = make
        self.left = left
        self.quanta = quanta
        self.runs = runs
        self.tolerance = tolerance
        self.reference = reference
        self.join = join


CASES = []


def case(name, make, **keys):
    CASES.append(Case(name, make, **keys))


def quant(kind, low=-1.0, high=1.0):
    """Scale and zero point for a range; none for what is not quantised."""
    if kind not in (UINT8, INT8):
        return {}
    least = 0 if kind == UINT8 else -128
    scale = (high - low) / 255
    return {"kind": kind, "scale": scale, "zero": max(least, min(least + 255,
                                                                 least + round(-low / scale)))}


def typed(kind, low=-1.0, high=1.0):
    return quant(kind, low, high) or {"kind": kind}


def values(kind, shape):
    n = count(shape)
    if kind == FLOAT32:
        return [random.uniform(-1, 1) for _ in range(n)]
    if kind == UINT8:
        return [random.randrange(256) for _ in range(n)]
    if kind == INT8:
        return [random.randrange(-127, 128) for _ in range(n)]
    return [random.randrange(-20, 20) for _ in range(n)]


def weights(m, kind, shape, per_channel=None):
    if kind == INT8 and per_channel is not None:
        scales = [random.uniform(.5, 1.5) / 127 for _ in range(shape[per_channel])]
        return m.tensor(shape, INT8, scale=scales, axis=per_channel, data=values(INT8, shape))
    if kind == INT8:
        return m.tensor(shape, INT8, scale=1 / 127, zero=0, data=values(INT8, shape))
    if kind == UINT8:
        return m.tensor(shape, UINT8, scale=2 / 255, zero=119, data=values(UINT8, shape))
    return m.tensor(shape, kind, data=values(kind, shape))


def bias(m, kind, size):
    if kind == FLOAT32:
        return m.tensor([size], data=values(FLOAT32, [size]))
    return m.tensor([size], INT32, scale=1e-4,
                    data=[random.randrange(-5000, 5000) for _ in range(size)])


def ints(m, data, shape=None, kind=INT32):
    return m.tensor([len(data)] if shape is None else shape, kind, data=data)


# ---- Convolutions ----

def out_size(size, window, stride, padding, dilation=1):
    reach = (window - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - reach) // stride + 1


def conv(kind, per_channel=False, n=1, size=9, ci=6, co=8, window=3, stride=1, padding=SAME,
         activation=NONE, dilation=1, groups=1, weight=None):
    def make(m):
        x = m.input([n, size, size, ci], **typed(kind))
        w = weights(m, weight or kind, [co, window, window, ci // groups],
                    0 if per_channel else None)
        o = out_size(size, window, stride, padding, dilation)
        y = m.tensor([n, o, o, co], **typed(kind, -5, 5))
        return [m.op("CONV_2D", [x, w, bias(m, kind, co)], [y], padding, stride, stride,
                     activation, dilation, dilation)]
    return make


def depthwise(kind, per_channel=False, multiplier=1, window=3, stride=1, padding=SAME,
              activation=NONE, dilation=1, weight=None):
    def make(m):
        x = m.input([2, 9, 9, 4], **typed(kind))
        co = 4 * multiplier
        w = weights(m, weight or kind, [1, window, window, co], 3 if per_channel else None)
        o = out_size(9, window, stride, padding, dilation)
        y = m.tensor([2, o, o, co], **typed(kind, -4, 4))
        return [m.op("DEPTHWISE_CONV_2D", [x, w, bias(m, kind, co)], [y], padding, stride, stride,
                     multiplier, activation, dilation, dilation)]
    return make


def transpose_conv(kind, per_channel=False, stride=2, window=3, padding=SAME, with_bias=True,
                   size=5, out=None):
    def make(m):
        o = out or (size * stride if padding == SAME else (size - 1) * stride + window)
        x = m.input([2, size, size, 3], **typed(kind))
        w = weights(m, kind, [4, window, window, 3], 0 if per_channel else None)
        y = m.tensor([2, o, o, 4], **typed(kind, -4, 4))
        inputs = [ints(m, [2, o, o, 4]), w, x] + ([bias(m, kind, 4)] if with_bias else [])
        return [m.op("TRANSPOSE_CONV", inputs, [y], padding, stride, stride, NONE)]
    return make


def transpose_conv_bias(padding, builtin):
    """MediaPipe's operation, whose padding is 1 or 2, as in memory."""
    def make(m):
        x = m.input([2, 5, 5, 3])
        w, b = weights(m, FLOAT32, [4, 3, 3, 3]), bias(m, FLOAT32, 4)
        out = [2, 9, 9, 4] if padding == SAME else [2, 11, 11, 4]
        if builtin:
            return [m.op("TRANSPOSE_CONV", [ints(m, out), w, x, b], [m.tensor(out)], padding, 2, 2, NONE)]
        return [m.op("Convolution2DTransposeBias", [x, w, b], [m.tensor(out)], 1 + padding, 2, 2)]
    return make


for padding in (SAME, VALID):
    case(f"transpose conv with bias of MediaPipe, padding {padding}", transpose_conv_bias(padding, False),
         reference=transpose_conv_bias(padding, True), join=list)


def fully(kind, per_channel=False, shape=(3, 20), units=7, activation=NONE, no_bias=False,
          keep=False):
    def make(m):
        x = m.input(list(shape), **typed(kind))
        size = shape[-1]
        rows = count(shape) // size
        w = weights(m, kind, [units, size], 0 if per_channel else None)
        y = m.tensor(list(shape[:-1]) + [units] if keep else [rows, units],
                     **typed(kind, -8, 8))
        return [m.op("FULLY_CONNECTED", [x, w] + ([-1] if no_bias else [bias(m, kind, units)]),
                     [y], activation, 0, keep)]
    return make


for kind in ALL:
    t = NAMES[kind]
    case(f"conv {t}", conv(kind))
    case(f"conv {t} valid, stride 2, relu6", conv(kind, padding=VALID, stride=2, activation=RELU6))
    case(f"conv {t} dilation 2, relu", conv(kind, dilation=2, activation=RELU))
    case(f"conv {t} 1x1, batch 3, relu_n1_to_1",
         conv(kind, n=3, window=1, activation=RELU_N1_TO_1))
    case(f"conv {t} fused tanh", conv(kind, activation=TANH), left="fused activation TANH")
    case(f"depthwise {t}", depthwise(kind))
    case(f"depthwise {t} multiplier 3, stride 2, relu6",
         depthwise(kind, multiplier=3, stride=2, activation=RELU6))
    case(f"depthwise {t} dilation 2, valid", depthwise(kind, dilation=2, padding=VALID))
    case(f"transpose conv {t}", transpose_conv(kind))
    case(f"transpose conv {t} valid, no bias",
         transpose_conv(kind, padding=VALID, with_bias=False))
    case(f"transpose conv {t} same, odd output", transpose_conv(kind, out=9))
    case(f"fully connected {t}", fully(kind))
    case(f"fully connected {t} of 4 dimensions, relu, no bias",
         fully(kind, shape=(2, 3, 2, 8), activation=RELU, no_bias=True))
    case(f"fully connected {t} kept dimensions", fully(kind, shape=(2, 3, 8), keep=True))
# Convolutions whose filter taps are read from the input, are read from a copy, or lie outside of the input.
case("conv float32 of 20 channels", conv(FLOAT32, n=2, size=19, ci=20))
case("conv float32 of 20 channels, stride 2", conv(FLOAT32, n=2, size=20, ci=20, stride=2))
case("conv float32 of 20 channels, dilation 12",
     conv(FLOAT32, n=2, size=33, ci=20, co=40, dilation=12))
case("conv int8 per channel", conv(INT8, True))
case("conv int8 per channel, stride 2, relu6", conv(INT8, True, stride=2, activation=RELU6))
case("conv float32 groups", conv(FLOAT32, groups=2))
case("conv int8 per channel groups", conv(INT8, True, groups=3, co=9))
case("depthwise int8 per channel", depthwise(INT8, True, multiplier=2))
case("transpose conv int8 per channel", transpose_conv(INT8, True))
case("fully connected int8 per channel", fully(INT8, True))


def hybrid(per_channel=None, asymmetric=False):
    def make(m):
        x = m.input([3, 20])
        w = weights(m, INT8, [7, 20], per_channel)
        y = m.tensor([3, 7])
        return [m.op("FULLY_CONNECTED", [x, w, bias(m, FLOAT32, 7)], [y], NONE, 0, False, asymmetric)]
    return make


def hybrid_matmul(asymmetric):
    def make(m):
        x = m.input([2, 3, 20])
        y = weights(m, INT8, [2, 20, 5])
        return [m.op("BATCH_MATMUL", [x, y], [m.tensor([2, 3, 5])], False, False, asymmetric)]
    return make


def hybrid_pixels(m):
    x = m.input([3, 1, 1, 20])
    w = weights(m, INT8, [7, 1, 1, 20], 0)
    return [m.op("CONV_2D", [x, w, bias(m, FLOAT32, 7)], [m.tensor([3, 1, 1, 7])], VALID, 1, 1, NONE, 1, 1)]


# Activations that are quantised at run time may differ by one quantum, if they are rounded differently.
case("fully connected hybrid", hybrid())
case("fully connected hybrid, asymmetric", hybrid(asymmetric=True))
# The tested version of TensorFlow Lite computes only zeros if these weights have a scale for each
# channel; so the reference is a convolution of one pixel.
case("fully connected hybrid per channel", hybrid(0, True), reference=hybrid_pixels, join=list)
case("batch matmul hybrid", hybrid_matmul(False))
case("batch matmul hybrid, asymmetric", hybrid_matmul(True))
case("conv hybrid", conv(FLOAT32, n=2, weight=INT8))
case("conv hybrid per channel, stride 2, relu6",
     conv(FLOAT32, True, n=2, stride=2, activation=RELU6, weight=INT8))
case("conv hybrid per channel, one pixel", conv(FLOAT32, True, n=2, window=1, weight=INT8))
case("depthwise hybrid per channel", depthwise(FLOAT32, True, weight=INT8))
case("depthwise hybrid per channel, two times", depthwise(FLOAT32, True, 2, stride=2, weight=INT8))


def float16_weights(m):
    x = m.input([1, 8, 8, 4])
    half = m.tensor([6, 3, 3, 4], FLOAT16, data=values(FLOAT32, [6, 3, 3, 4]))
    half_bias = m.tensor([6], FLOAT16, data=values(FLOAT32, [6]))
    w, b = m.tensor([6, 3, 3, 4]), m.tensor([6])
    m.op("DEQUANTIZE", [half], [w])
    m.op("DEQUANTIZE", [half_bias], [b])
    return [m.op("CONV_2D", [x, w, b], [m.tensor([1, 8, 8, 6])], SAME, 1, 1, RELU, 1, 1)]


case("conv with float16 weights", float16_weights)


def matmul(kind, a, b, out, adj_x=False, adj_y=False):
    def make(m):
        x, y = m.input(a, **typed(kind)), m.input(b, **typed(kind))
        return [m.op("BATCH_MATMUL", [x, y], [m.tensor(out, **typed(kind, -4, 4))], adj_x, adj_y,
                     False)]
    return make


for kind in (FLOAT32, INT8):
    t = NAMES[kind]
    case(f"batch matmul {t}", matmul(kind, [2, 3, 5], [2, 5, 4], [2, 3, 4]))
    case(f"batch matmul {t} adjoint y", matmul(kind, [2, 2, 3, 5], [2, 2, 4, 5], [2, 2, 3, 4],
                                                adj_y=True))
    case(f"batch matmul {t} broadcast", matmul(kind, [2, 3, 5], [5, 4], [2, 3, 4]))
case("batch matmul float32 adjoint x", matmul(FLOAT32, [2, 5, 3], [2, 5, 4], [2, 3, 4], adj_x=True))


# ---- Poolings ----

def pool(name, kind, window=3, stride=2, padding=SAME, activation=NONE):
    def make(m):
        x = m.input([2, 9, 9, 5], **typed(kind))
        o = out_size(9, window, stride, padding)
        y = m.tensor([2, o, o, 5], **typed(kind))
        return [m.op(name, [x], [y], padding, stride, stride, window, window, activation)]
    return make


for kind in ALL:
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        t = f"{name.lower()} {NAMES[kind]}"
        case(t, pool(name, kind))
        case(f"{t} valid, relu", pool(name, kind, padding=VALID, activation=RELU))
        case(f"{t} whole image", pool(name, kind, window=9, stride=1, padding=VALID))
case("l2_pool_2d float32", pool("L2_POOL_2D", FLOAT32))


# ---- Arithmetic ----

def binary(name, kind, a=(2, 3, 4), b=(2, 3, 4), out=None, high=2.0, activation=NONE,
           out_kind=None, constant=False, low_b=-1.0):
    def make(m):
        x = m.input(list(a), **typed(kind))
        if constant:
            y = m.tensor(list(b), data=[v or 3 for v in values(kind, b)], **typed(kind, low_b))
        else:
            y = m.input(list(b), **typed(kind, low_b))
        to = m.tensor(list(out or a), **(typed(kind, -high, high) if out_kind is None
                                         else {"kind": out_kind}))
        return [m.op(name, [x, y], [to], activation)]
    return make


for kind in ALL + (INT32,):
    for name in ("ADD", "SUB", "MUL"):
        case(f"{name.lower()} {NAMES[kind]}", binary(name, kind))
        case(f"{name.lower()} {NAMES[kind]} broadcast",
             binary(name, kind, (2, 3, 4), (1, 4)))
        if kind != INT32:
            case(f"{name.lower()} {NAMES[kind]} of a constant, relu6",
                 binary(name, kind, constant=True, activation=RELU6, b=(4,)))
    for name in ("MAXIMUM", "MINIMUM"):
        case(f"{name.lower()} {NAMES[kind]}", binary(name, kind, high=1.0))
        case(f"{name.lower()} {NAMES[kind]} broadcast", binary(name, kind, b=(4,), high=1.0))
    for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        case(f"{name.lower()} {NAMES[kind]}", binary(name, kind, out_kind=BOOL))
        case(f"{name.lower()} {NAMES[kind]} broadcast",
             binary(name, kind, b=(4,), out_kind=BOOL))
case("mul uint8, a small output scale", binary("MUL", UINT8, high=.004))
case("less uint8 of two scales", binary("LESS", UINT8, out_kind=BOOL, low_b=-.3),
     left="the same scale")
case("add int32 relu", binary("ADD", INT32, activation=RELU), left="int32 with a fused activation")
case("add float32 of 5 dimensions", binary("ADD", FLOAT32, (1, 2, 1, 2, 2), (1, 2, 1, 2, 2)))
case("div float32", binary("DIV", FLOAT32, constant=True))
case("div int32", binary("DIV", INT32, constant=True), left="int32")
case("floor div float32", binary("FLOOR_DIV", FLOAT32, constant=True), left="in double")
case("floor div int32", binary("FLOOR_DIV", INT32, constant=True))
case("floor mod int32", binary("FLOOR_MOD", INT32, constant=True))
case("floor div int32 of an input", binary("FLOOR_DIV", INT32), left="may be 0")
case("squared difference float32", binary("SQUARED_DIFFERENCE", FLOAT32))
case("squared difference int32", binary("SQUARED_DIFFERENCE", INT32))
case("squared difference int8", binary("SQUARED_DIFFERENCE", INT8, high=4.0))
case("add int64", binary("ADD", INT64), left="int64")


def pow_case(m):
    x = m.input([2, 3])
    two = m.tensor([1], data=[2.0])
    return [m.op("POW", [x, two], [m.tensor([2, 3])])]


def add_n(kind):
    def make(m):
        xs = [m.input([2, 3], kind) for _ in range(3)]
        return [m.op("ADD_N", xs, [m.tensor([2, 3], kind)])]
    return make


def logical(name):
    def make(m):
        a, b = m.input([2, 3], BOOL), m.input([1, 3], BOOL)
        return [m.op(name, [a, b], [m.tensor([2, 3], BOOL)])]
    return make


def select(name, kind, condition=(2, 3), a=(2, 3), b=(2, 3), out=(2, 3)):
    def make(m):
        c = m.input(list(condition), BOOL)
        xs = [m.input(list(shape), **typed(kind)) for shape in (a, b)]
        return [m.op(name, [c] + xs, [m.tensor(list(out), **typed(kind))])]
    return make


case("pow float32", pow_case)
case("add_n float32", add_n(FLOAT32))
case("add_n int32", add_n(INT32))
case("logical_and", logical("LOGICAL_AND"))
case("logical_or", logical("LOGICAL_OR"))
for kind in MOVED:
    case(f"select {NAMES[kind]}", select("SELECT", kind))
    case(f"select_v2 {NAMES[kind]}", select("SELECT_V2", kind))
    case(f"select_v2 {NAMES[kind]}, a condition of fewer dimensions",
         select("SELECT_V2", kind, (3,)))
    case(f"select_v2 {NAMES[kind]}, all three broadcast",
         select("SELECT_V2", kind, (4, 1, 1), (3, 2), (1, 1, 2), (4, 3, 2)))
case("select float32 by rows", select("SELECT", FLOAT32, (2,)))
case("select int8 by rows", select("SELECT", INT8, (2,), (2, 2, 3), (2, 2, 3), (2, 2, 3)))
case("select float32 of one condition", select("SELECT", FLOAT32, ()))
case("select_v2 float32 of a scalar", select("SELECT_V2", FLOAT32, (2, 3), ()))
case("select_v2 of 5 dimensions", select("SELECT_V2", FLOAT32, (1, 3), (2, 1, 2, 2, 3),
                                         (2, 1, 2, 2, 3), (2, 1, 2, 2, 3)))


# ---- Functions of one tensor ----

def unary(name, kind, low=-1.0, high=1.0, out=None, shape=(2, 3, 5), *options):
    def make(m):
        x = m.input(list(shape), **typed(kind, low, high))
        y = m.tensor(list(shape), **(out if out and kind != FLOAT32 else typed(kind, low, high)))
        return [m.op(name, [x], [y], *options)]
    return make


for name in ("FLOOR", "CEIL", "EXP", "SIN", "COS", "NEG", "ABS", "SQUARE", "ZEROS_LIKE",
             "ROUND", "SIGN"):
    case(f"{name.lower()} float32", unary(name, FLOAT32))


def positive(name):
    def make(m):
        x = m.input([2, 3])
        absolute = m.op("ABS", [x], [m.tensor([2, 3])])
        return [m.op(name, [absolute], [m.tensor([2, 3])])]
    return make


for name in ("LOG", "SQRT", "RSQRT"):
    case(f"{name.lower()} float32", positive(name))
case("bitcast float32", unary("BITCAST", FLOAT32), left="NNAPI has no such operation")
case("logical_not", unary("LOGICAL_NOT", BOOL))
for kind in ALL:
    t = NAMES[kind]
    unsigned = kind == UINT8
    for name in ("RELU", "RELU_N1_TO_1", "RELU6"):
        case(f"{name.lower()} {t}", unary(name, kind, -8, 8))
        if kind != FLOAT32:
            case(f"{name.lower()} {t}, another scale",
                 unary(name, kind, -8, 8, quant(kind, 0, 6)))
    case(f"logistic {t}", unary("LOGISTIC", kind, -8, 8,
                                {"kind": kind, "scale": 1 / 256, "zero": 0 if unsigned else -128}))
    case(f"tanh {t}", unary("TANH", kind, -4, 4,
                            {"kind": kind, "scale": 1 / 128, "zero": 128 if unsigned else 0}))
    for shape in ((2, 10), (1, 3, 4, 7), (6,)):
        case(f"softmax {t} of {len(shape)} dimensions",
             unary("SOFTMAX", kind, -4, 4,
                   {"kind": kind, "scale": 1 / 256, "zero": 0 if unsigned else -128}, shape, 1.0))
    case(f"softmax {t}, beta 0.5",
         unary("SOFTMAX", kind, -4, 4,
               {"kind": kind, "scale": 1 / 256, "zero": 0 if unsigned else -128}, (2, 10), .5))
    case(f"log_softmax {t}", unary("LOG_SOFTMAX", kind, -4, 4,
                                   {"kind": kind, "scale": 16 / 256,
                                    "zero": 255 if unsigned else 127}, (2, 10)))
    case(f"hard_swish {t}", unary("HARD_SWISH", kind, -8, 8, quant(kind, -.4, 8)))
    case(f"leaky_relu {t}", unary("LEAKY_RELU", kind, -4, 4, None, (2, 3, 5), .1))
    case(f"l2_normalization {t}",
         unary("L2_NORMALIZATION", kind, -1, 1,
               {"kind": kind, "scale": 1 / 128, "zero": 128 if unsigned else 0}, (1, 2, 3, 8),
               NONE))
case("relu float32 of rank 1", unary("RELU", FLOAT32, shape=(7,)))
case("elu float32", unary("ELU", FLOAT32))
case("elu int8", unary("ELU", INT8, -4, 4))
case("gelu float32, approximate", unary("GELU", FLOAT32, -4, 4, None, (2, 3, 5), True),
     tolerance=1e-4)
case("gelu float32, exact", unary("GELU", FLOAT32, -4, 4, None, (2, 3, 50), False))
for kind in (UINT8, INT8):
    for how in (True, False):
        case(f"gelu {NAMES[kind]}, {'approximate' if how else 'exact'}",
             unary("GELU", kind, -4, 4, quant(kind, -.2, 4), (2, 3, 50), how))
case("local_response_normalization",
     unary("LOCAL_RESPONSE_NORMALIZATION", FLOAT32, -1, 1, None, (1, 2, 3, 8), 2, 1.0, .5, .75))


def prelu(kind):
    def make(m):
        x = m.input([1, 4, 4, 3], **typed(kind))
        a = m.tensor([1, 1, 3], data=values(kind, [3]), **typed(kind))
        return [m.op("PRELU", [x, a], [m.tensor([1, 4, 4, 3], **typed(kind))])]
    return make


for kind in ALL:
    case(f"prelu {NAMES[kind]}", prelu(kind))


# ---- Types ----

def change(name, source, target, *options):
    def make(m):
        x = m.input([2, 3, 4], **source)
        return [m.op(name, [x], [m.tensor([2, 3, 4], **target)], *options)]
    return make


for kind in (UINT8, INT8):
    case(f"quantize float32 to {NAMES[kind]}",
         change("QUANTIZE", {"kind": FLOAT32}, quant(kind, -.8, .9)), quanta=0)
    case(f"dequantize {NAMES[kind]}", change("DEQUANTIZE", quant(kind), {"kind": FLOAT32}))
    case(f"quantize {NAMES[kind]} to another scale",
         change("QUANTIZE", quant(kind), quant(kind, -2, 1.5)))
case("quantize uint8 to int8",
     change("QUANTIZE", {"kind": UINT8, "scale": .1, "zero": 128},
            {"kind": INT8, "scale": .1, "zero": 0}), quanta=0)
case("cast float32 to int32", change("CAST", {"kind": FLOAT32}, {"kind": INT32}, 0, 2))
case("cast int32 to float32", change("CAST", {"kind": INT32}, {"kind": FLOAT32}, 2, 0))
case("cast uint8 to float32", change("CAST", {"kind": UINT8}, {"kind": FLOAT32}, 3, 0))
case("cast int32 to uint8", change("CAST", {"kind": INT32}, {"kind": UINT8}, 2, 3), left="wraps")
case("cast int32 to int64", change("CAST", {"kind": INT32}, {"kind": INT64}, 2, 4))
case("cast int64 to int32", change("CAST", {"kind": INT64}, {"kind": INT32}, 4, 2))
case("cast int64 to float32", change("CAST", {"kind": INT64}, {"kind": FLOAT32}, 4, 0), left="exceed NNAPI's 32 bits")


# ---- Shapes ----

def moved(name, kind, shape, out, constants=(), *options, first=()):
    """An operation that moves elements: its other inputs are constant."""
    def make(m):
        x = m.input(list(shape), **typed(kind))
        before = [ints(m, list(c), s) for c, s in first]
        rest = [ints(m, list(c), s) for c, s in constants]
        outs = out if isinstance(out, list) else [out]
        ys = [m.tensor(list(o), **typed(kind)) for o in outs]
        m.op(name, before + [x] + rest, ys, *options)
        return ys
    return make


for kind in MOVED:
    t = NAMES[kind]
    case(f"reshape {t}", moved("RESHAPE", kind, (2, 3, 4), (6, 4), [((6, -1), None)]))
    case(f"squeeze {t}", moved("SQUEEZE", kind, (2, 1, 4), (2, 4)))
    case(f"expand_dims {t}", moved("EXPAND_DIMS", kind, (2, 4), (2, 1, 4), [((1,), [])]))
    case(f"split {t}", moved("SPLIT", kind, (2, 6), [(2, 3), (2, 3)], [], 2,
                             first=[((1,), [])]))
    case(f"split_v {t}", moved("SPLIT_V", kind, (2, 6), [(2, 1), (2, 5)],
                               [((1, 5), None), ((-1,), [])], 2))
    case(f"unpack {t}", moved("UNPACK", kind, (2, 3, 4), [(2, 4)] * 3, [], 3, 1))
    case(f"slice {t}", moved("SLICE", kind, (3, 4, 5), (2, 4, 2),
                             [((1, 0, 2), None), ((2, -1, 2), None)]))
    case(f"strided_slice {t}, strides of 1",
         moved("STRIDED_SLICE", kind, (3, 4, 5), (1, 2, 5),
               [((1, 1, 0), None), ((2, -1, 5), None), ((1, 1, 1), None)], 0, 0, 0, 0, 0))
    case(f"strided_slice {t}, masks and a dropped axis",
         moved("STRIDED_SLICE", kind, (3, 4, 5), (4, 3),
               [((-1, 2, 1), None), ((0, 3, 4), None), ((1, 1, 1), None)], 2, 2, 0, 0, 1))
    case(f"tile {t}", moved("TILE", kind, (2, 3), (4, 9), [((2, 3), None)]))
    case(f"broadcast_to {t}", moved("BROADCAST_TO", kind, (1, 3), (2, 4, 3),
                                    [((2, 4, 3), None)]))
    case(f"mirror_pad {t}, reflect", moved("MIRROR_PAD", kind, (3, 4), (5, 7),
                                           [((1, 1, 2, 1), [2, 2])], 0))
    case(f"mirror_pad {t}, symmetric", moved("MIRROR_PAD", kind, (3, 4), (5, 7),
                                             [((1, 1, 2, 1), [2, 2])], 1))
    case(f"reverse {t}", moved("REVERSE_V2", kind, (2, 3, 4), (2, 3, 4), [((1,), None)]))
for kind in ALL:
    t = NAMES[kind]
    case(f"transpose {t}", moved("TRANSPOSE", kind, (2, 3, 4), (4, 2, 3), [((2, 0, 1), None)]))
    case(f"strided_slice {t}, backwards",
         moved("STRIDED_SLICE", kind, (3, 7), (2, 7),
               [((-1, -1), None), ((0, 0), None), ((-1, -1), None)], 0, 2, 0, 0, 0))
    case(f"strided_slice {t}, stride 2",
         moved("STRIDED_SLICE", kind, (3, 7), (2, 3),
               [((0, 1), None), ((3, 7), None), ((2, 2), None)], 0, 0, 0, 0, 0))
    case(f"pad {t}", moved("PAD", kind, (2, 3, 4), (2, 6, 5), [((0, 0, 1, 2, 0, 1), [3, 2])]))
    case(f"space_to_batch {t}",
         moved("SPACE_TO_BATCH_ND", kind, (1, 4, 5, 3), (4, 2, 3, 3),
               [((2, 2), None), ((0, 0, 0, 1), [2, 2])]))
    case(f"batch_to_space {t}, cropped",
         moved("BATCH_TO_SPACE_ND", kind, (4, 2, 3, 3), (1, 4, 5, 3),
               [((2, 2), None), ((0, 0, 0, 1), [2, 2])]))
    case(f"batch_to_space {t}",
         moved("BATCH_TO_SPACE_ND", kind, (4, 2, 3, 3), (1, 4, 6, 3),
               [((2, 2), None), ((0, 0, 0, 0), [2, 2])]))
    case(f"space_to_depth {t}", moved("SPACE_TO_DEPTH", kind, (1, 4, 4, 3), (1, 2, 2, 12), [], 2))
    case(f"depth_to_space {t}", moved("DEPTH_TO_SPACE", kind, (1, 2, 2, 12), (1, 4, 4, 3), [], 2))
    for align, half in ((0, 0), (1, 0), (0, 1)):
        for size in ((8, 10), (3, 2)):
            out = (1, size[0], size[1], 3)
            case(f"resize_bilinear {t} {size[0]}x{size[1]} {align}{half}",
                 moved("RESIZE_BILINEAR", kind, (1, 4, 5, 3), out, [(size, None)], align, half))
            case(f"resize_nearest {t} {size[0]}x{size[1]} {align}{half}",
                 moved("RESIZE_NEAREST_NEIGHBOR", kind, (1, 4, 5, 3), out, [(size, None)],
                       align, half), quanta=0)
case("transpose int32", moved("TRANSPOSE", INT32, (2, 3), (3, 2), [((1, 0), None)]))
case("pad int32", moved("PAD", INT32, (2, 3), (2, 4), [((0, 0, 0, 1), [2, 2])]), left="int32")


def concatenation(kind, low=-1.0):
    def make(m):
        a, b = m.input([2, 3, 4], **typed(kind, low)), m.input([2, 5, 4], **typed(kind))
        return [m.op("CONCATENATION", [a, b], [m.tensor([2, 8, 4], **typed(kind))], -2, NONE)]
    return make


def pack(kind, shape=(2, 3)):
    def make(m):
        xs = [m.input(list(shape), **typed(kind)) for _ in range(3)]
        out = list(shape[:1]) + [3] + list(shape[1:]) if shape else [3]
        return [m.op("PACK", xs, [m.tensor(out, **typed(kind))], 3, 1 if shape else 0)]
    return make


def pad_v2(kind):
    def make(m):
        x = m.input([2, 3], **typed(kind))
        value = m.tensor([], data=values(kind, [1]), **typed(kind))
        return [m.op("PADV2", [x, ints(m, [1, 0, 0, 2], [2, 2]), value],
                     [m.tensor([3, 5], **typed(kind))])]
    return make


def gather(kind, index=(2, 0, 1), axis=1, out=(2, 3, 4)):
    def make(m):
        x = m.input([2, 3, 4], **typed(kind))
        i = ints(m, list(index), [] if len(index) == 1 else None)
        return [m.op("GATHER", [x, i], [m.tensor(list(out), **typed(kind))], axis, 0)]
    return make


def embedding(kind):
    def make(m):
        rows = m.tensor([5, 3], data=values(kind, [5, 3]), **typed(kind))
        return [m.op("EMBEDDING_LOOKUP", [ints(m, [4, 0, 2]), m.op(
            "MAXIMUM", [rows, m.input([5, 3], **typed(kind))],
            [m.tensor([5, 3], **typed(kind))])], [m.tensor([3, 3], **typed(kind))])]
    return make


for kind in ALL:
    t = NAMES[kind]
    case(f"concatenation {t}", concatenation(kind))
    case(f"pad_v2 {t}", pad_v2(kind))
case("concatenation uint8 of two scales", concatenation(UINT8, -.5))
for kind in MOVED:
    t = NAMES[kind]
    case(f"pack {t}", pack(kind))
    case(f"gather {t}", gather(kind))
    case(f"gather {t} of one index", gather(kind, (2,), 1, (2, 4)))
case("pack int32 of scalars", pack(INT32, ()))
case("gather float32, axis -1", gather(FLOAT32, (3, 1), -1, (2, 3, 2)))
case("embedding_lookup float32", embedding(FLOAT32))


def fill(kind):
    def make(m):
        value = m.input([], **typed(kind))
        return [m.op("FILL", [ints(m, [2, 3, 4]), value], [m.tensor([2, 3, 4], **typed(kind))])]
    return make


def shape_of(name, kind, out=INT32):
    def make(m):
        x = m.input([2, 3, 4], **typed(kind))
        y = m.tensor([3] if name == "SHAPE" else [], out)
        return [m.op(name, [x], [y], 2 if out == INT32 else 4)]
    return make


def hashtable(kind, keys=(-7, -2, 0, 5, 11, 12), shape=(6, 3), constant=True):
    def make(m):
        lookups = m.input([40], INT32)
        table = ints(m, list(keys)) if constant else m.input([6], INT32)
        rows = m.tensor(list(shape), data=values(kind, shape), **typed(kind))
        out = m.tensor([40] + list(shape[1:]), **typed(kind))
        hits = m.tensor([40], UINT8)
        m.op("HASHTABLE_LOOKUP", [lookups, table, rows], [out, hits])
        return [out, hits]
    return make


def lsh(kind, dense, weighted, bits=8):
    def make(m):
        x = m.input([5, 3], **typed(kind))
        functions = m.tensor([4, bits], data=values(FLOAT32, [4, bits]))
        more = [m.tensor([5], data=values(FLOAT32, [5]))] if weighted else []
        y = m.tensor([4 * bits] if dense else [4], INT32)
        return [m.op("LSH_PROJECTION", [functions, x] + more, [y], 2 if dense else 1)]
    return make


for kind in (FLOAT32, INT32, INT8):
    t = NAMES[kind]
    case(f"fill {t}", fill(kind), quanta=0)
    case(f"shape of {t}", shape_of("SHAPE", kind))
    case(f"rank of {t}", shape_of("RANK", kind))
case("shape of bool", shape_of("SHAPE", BOOL))
case("shape to int64", shape_of("SHAPE", FLOAT32, INT64))
for kind in (FLOAT32, INT32):
    t = NAMES[kind]
    case(f"hashtable_lookup {t}", hashtable(kind))
    case(f"hashtable_lookup {t} of images", hashtable(kind, shape=(6, 2, 2, 3)))
case("hashtable_lookup uint8", hashtable(UINT8), quanta=0)
case("hashtable_lookup, keys in no order", hashtable(FLOAT32, (3, 1, 2, 4, 5, 6)),
     left="ascending")
case("hashtable_lookup, an equal key", hashtable(FLOAT32, (1, 1, 2, 4, 5, 6)), left="ascending")
case("lsh_projection int8", lsh(INT8, True, False), left="int8")
for kind in (FLOAT32, INT32, UINT8):
    t = NAMES[kind]
    case(f"lsh_projection {t}, dense", lsh(kind, True, False))
    case(f"lsh_projection {t}, dense with weights", lsh(kind, True, True))
    case(f"lsh_projection {t}, sparse", lsh(kind, False, False))
case("lsh_projection of 32 bits", lsh(FLOAT32, True, False, 32))
case("lsh_projection, sparse with weights", lsh(FLOAT32, False, True), left="with weights")


# ---- Reductions ----

def reduce(name, kind, axes=(1,), keep=False, shape=(2, 3, 4), target=None):
    def make(m):
        x = m.input(list(shape), **typed(kind))
        n = len(shape)
        dropped = {a % n for a in axes}
        out = [1 if i in dropped else s for i, s in enumerate(shape) if keep or i not in dropped]
        return [m.op(name, [x, ints(m, list(axes))], [m.tensor(out, **(target or typed(kind)))],
                     keep)]
    return make


for kind in ALL:
    t = NAMES[kind]
    case(f"mean {t} of an image", reduce("MEAN", kind, (1, 2), True, (2, 7, 7, 5)))
    case(f"mean {t} of an image, dropped", reduce("MEAN", kind, (1, 2), False, (2, 7, 7, 5)))
    case(f"mean {t} of the last axis", reduce("MEAN", kind, (-1,), True))
    if kind != FLOAT32:
        case(f"mean {t} of an image, another scale",
             reduce("MEAN", kind, (1, 2), False, (2, 7, 7, 5), quant(kind, -.4, .4)))
        case(f"mean {t} of an axis, another scale",
             reduce("MEAN", kind, (2,), False, (2, 3, 4), quant(kind, -.7, .7)))
        case(f"sum {t}", reduce("SUM", kind, (1,), False, target=quant(kind, -3, 3)))
    case(f"reduce_max {t}", reduce("REDUCE_MAX", kind, (1,)), quanta=0)
    case(f"reduce_min {t} kept", reduce("REDUCE_MIN", kind, (0, 2), True), quanta=0)
case("sum float32", reduce("SUM", FLOAT32, (0, 2)))
case("sum float32 of all", reduce("SUM", FLOAT32, (0, 1, 2)))
case("reduce_prod float32", reduce("REDUCE_PROD", FLOAT32))
case("reduce_any", reduce("REDUCE_ANY", BOOL, (1,)))
case("reduce_all", reduce("REDUCE_ALL", BOOL, (1,), True))
case("sum int32", reduce("SUM", INT32), left="int32")


def arg(name, kind, out=INT32):
    def make(m):
        x = m.input([3, 7], **typed(kind))
        return [m.op(name, [x, ints(m, [-1], [])], [m.tensor([3], out)], 2 if out == INT32 else 4)]
    return make


def top_k(kind):
    def make(m):
        x = m.input([3, 9], **typed(kind))
        ys = [m.tensor([3, 4], **typed(kind)), m.tensor([3, 4], INT32)]
        m.op("TOPK_V2", [x, ints(m, [4], [])], ys)
        return ys
    return make


for kind in MOVED:
    case(f"arg_max {NAMES[kind]}", arg("ARG_MAX", kind))
    case(f"arg_min {NAMES[kind]}", arg("ARG_MIN", kind))
    case(f"topk_v2 {NAMES[kind]}", top_k(kind))
case("arg_max to int64", arg("ARG_MAX", FLOAT32, INT64))


def cumsum(exclusive, reverse):
    def make(m):
        return [m.op("CUMSUM", [m.input([2, 9, 3]), ints(m, [1], [])], [m.tensor([2, 9, 3])], exclusive, reverse)]
    return make


for exclusive in (False, True):
    for reverse in (False, True):
        case(f"cumsum{' exclusive' * exclusive}{' reverse' * reverse}", cumsum(exclusive, reverse))


def reverse_sequence(kind, lengths, seq_dim=1, batch_dim=0):
    def make(m):
        x = m.input([3, 5, 2], **typed(kind))
        return [m.op("REVERSE_SEQUENCE", [x, ints(m, lengths, kind=INT64)], [m.tensor([3, 5, 2], **typed(kind))],
                     seq_dim, batch_dim)]
    return make


for kind in (FLOAT32, INT32, UINT8):
    case(f"reverse_sequence {NAMES[kind]}", reverse_sequence(kind, [5, 1, 3]), quanta=0)
case("reverse_sequence along the batch", reverse_sequence(FLOAT32, [1, 3], 0, 2))


# ---- Cases that NNAPI computes differently ----

def random_uniform(m):
    x = m.input([2, 3])
    y = m.op("RANDOM_UNIFORM", [ints(m, [2, 3])], [m.tensor([2, 3])], 1, 2)
    return [m.op("MUL", [m.op("MUL", [x, m.tensor([1], data=[0.0])], [m.tensor([2, 3])], NONE),
                         y], [m.tensor([2, 3])], NONE)]


case("random_uniform", random_uniform, left="the same random numbers in each execution")


# ---- Recurrent ----

def matrix(m, rows, columns):
    if m.hybrid:
        return weights(m, INT8, [rows, columns])
    return m.tensor([rows, columns], data=[random.uniform(-.3, .3) for _ in range(rows * columns)])


def vector(m, size):
    return m.tensor([size], data=[random.uniform(-.3, .3) for _ in range(size)])


def hybrid(make):
    """The same with weights of 8 bits, which TensorFlow Lite multiplies by activations that it quantises."""
    def made(m):
        m.hybrid = True
        return make(m)
    return made


def lstm_inputs(m, x, size, units, out, batch, cifg, peephole, projection, norm):
    none = [-1]
    inputs = [x] + (none if cifg else [matrix(m, units, size)])
    inputs += [matrix(m, units, size) for _ in range(3)]
    inputs += (none if cifg else [matrix(m, units, out)])
    inputs += [matrix(m, units, out) for _ in range(3)]
    inputs += [vector(m, units) if peephole and not (cifg and i == 0) else -1 for i in range(3)]
    inputs += (none if cifg else [vector(m, units)]) + [vector(m, units) for _ in range(3)]
    inputs += [matrix(m, out, units), vector(m, out)] if projection else [-1, -1]
    inputs += [m.tensor([batch, out], variable=True), m.tensor([batch, units], variable=True)]
    if norm:
        inputs += (none if cifg else [vector(m, units)]) + [vector(m, units) for _ in range(3)]
    return inputs


def lstm(sequence, cifg=False, peephole=False, projection=False, norm=False, time_major=False):
    def make(m):
        units, size = 6, 5
        out = 4 if projection else units
        shape = [2, 3, size] if sequence else [2, size]
        x = m.input(shape)
        batch = shape[1] if sequence and time_major else 2
        inputs = lstm_inputs(m, x, size, units, out, batch, cifg, peephole, projection, norm)
        y = m.tensor(shape[:-1] + [out])
        options = (TANH, 10.0, 0.0) + ((time_major, False, False) if sequence else (0, False))
        m.op("UNIDIRECTIONAL_SEQUENCE_LSTM" if sequence else "LSTM", inputs, [y], *options)
        return [y]
    return make


for sequence in (False, True):
    t = "sequence lstm" if sequence else "lstm"
    case(t, lstm(sequence), runs=3)
    case(f"{t}, cifg", lstm(sequence, cifg=True), runs=3)
    case(f"{t}, peephole and projection", lstm(sequence, peephole=True, projection=True), runs=3)
    case(f"{t}, layer normalisation", lstm(sequence, norm=True), runs=3, tolerance=1e-4)
case("sequence lstm, time major", lstm(True, time_major=True), runs=3)


def basic_lstm(kind, size=5, units=6):
    """The kernel of one matrix for all gates; its result and its state are read."""
    def make(m):
        small = {} if kind == FLOAT32 else {"kind": UINT8, "scale": 1 / 128, "zero": 128}
        wide = {} if kind == FLOAT32 else {"kind": INT16, "scale": 2 ** -11}
        x = m.input([2, size], **small)
        last = m.tensor([2, units], variable=True, **small)
        state = m.tensor([2, units], variable=True, **wide)
        if kind == FLOAT32:
            w, b = matrix(m, 4 * units, size + units), vector(m, 4 * units)
        else:
            shape = [4 * units, size + units]
            w = m.tensor(shape, UINT8, scale=1 / 127, zero=121, data=values(UINT8, shape))
            b = m.tensor([4 * units], INT32, scale=1 / 127 / 128,
                         data=[random.randrange(-9000, 9000) for _ in range(4 * units)])
        result, new = m.tensor([2, units], **small), m.tensor([2, units], **wide)
        m.op("LSTM", [x, last, w, b, state],
             [result, new, m.tensor([2, size + units], **small), m.tensor([2, 4 * units], **wide)],
             TANH, 0.0, 0.0, 1)
        return [result, new]
    return make


def integer_lstm(sequence, cifg=False, peephole=False, projection=False, norm=False,
                 time_major=False, clip=0.0, steps=3):
    """A cell of 8-bit weights and 16-bit state."""
    def make(m):
        size, units = 5, 6
        out = 4 if projection else units

        def w(rows, columns):
            return m.tensor([rows, columns], INT8, scale=random.uniform(.5, 1.5) / 127, zero=0,
                            data=values(INT8, [rows, columns]))

        def wide(scale):
            return m.tensor([units], INT16, scale=scale, zero=0,
                            data=[random.randrange(-20000, 20000) for _ in range(units)])

        def b(count, most=3000):
            return m.tensor([count], INT32, scale=1e-5, zero=0,
                            data=[random.randrange(-most, most) for _ in range(count)])

        def gates(make_one):
            return [-1 if cifg and i == 0 else make_one() for i in range(4)]

        shape = [3, 2, size] if time_major else [2, steps, size] if sequence else [2, size]
        x = m.input(shape, **quant(INT8, -1, 1.2))
        inputs = [x] + gates(lambda: w(units, size)) + gates(lambda: w(units, out))
        inputs += [wide(2 ** -15) if peephole and not (cifg and i == 0) else -1 for i in range(3)]
        inputs += gates(lambda: b(units))
        inputs += [w(out, units), b(out)] if projection else [-1, -1]
        inputs += [m.tensor([2, out], variable=True, **quant(INT8, -1, 1.1)),
                   m.tensor([2, units], INT16, scale=2 ** -11, variable=True)]
        if norm:
            inputs += gates(lambda: wide(2 ** -15))
        between = [m.tensor([], INT16, scale=random.uniform(.5, 1) * 2 ** -12, zero=0)
                   for _ in range(4)] + [m.tensor([], **quant(INT8, -1, 1))]
        y = m.tensor(shape[:-1] + [out], **quant(INT8, -1, 1.1))
        options = (TANH, clip, 0.0) + ((time_major, False, False) if sequence else (0, False))
        m.op("UNIDIRECTIONAL_SEQUENCE_LSTM" if sequence else "LSTM", inputs, [y], *options,
             intermediates=between)
        return [y]
    return make


def bidirectional_lstm(merge):
    def make(m):
        x = m.input([2, 3, 5])
        inputs = lstm_inputs(m, x, 5, 4, 4, 2, False, False, False, False)[:18]
        back = lstm_inputs(m, x, 5, 4, 4, 2, False, False, False, False)[1:18]
        inputs += back + [m.tensor([2, 4], variable=True) for _ in range(4)] + [-1] * 9
        ys = [m.tensor([2, 3, 8])] if merge else [m.tensor([2, 3, 4]), m.tensor([2, 3, 4])]
        m.op("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, ys, TANH, 0.0, 0.0, merge, False, False)
        return ys
    return make


def rnn(m):
    x = m.input([2, 5])
    state = m.tensor([2, 4], variable=True)
    return [m.op("RNN", [x, matrix(m, 4, 5), matrix(m, 4, 4), vector(m, 4), state],
                 [m.tensor([2, 4])], TANH, False)]


def sequence_rnn(time_major):
    def make(m):
        x = m.input([2, 3, 5])
        state = m.tensor([3 if time_major else 2, 4], variable=True)
        return [m.op("UNIDIRECTIONAL_SEQUENCE_RNN",
                     [x, matrix(m, 4, 5), matrix(m, 4, 4), vector(m, 4), state],
                     [m.tensor([2, 3, 4])], time_major, RELU, False)]
    return make


def bidirectional_rnn(merge):
    def make(m):
        x = m.input([2, 3, 5])
        inputs = [x]
        for _ in range(2):
            inputs += [matrix(m, 4, 5), matrix(m, 4, 4), vector(m, 4),
                       m.tensor([2, 4], variable=True)]
        ys = [m.tensor([2, 3, 8])] if merge else [m.tensor([2, 3, 4]), m.tensor([2, 3, 4])]
        m.op("BIDIRECTIONAL_SEQUENCE_RNN", inputs + [-1] * 3, ys, False, TANH, merge, False)
        return ys
    return make


def svdf(rank, activation):
    def make(m):
        x = m.input([2, 5])
        state = m.tensor([2, 8 * 3], variable=True)
        return [m.op("SVDF", [x, matrix(m, 8, 5), matrix(m, 8, 3), vector(m, 8 // rank), state],
                     [m.tensor([2, 8 // rank])], rank, activation, False)]
    return make


case("basic lstm float32", basic_lstm(FLOAT32), runs=3)
# The SIMD kernel and the scalar kernel of TensorFlow Lite round the 16-bit state differently. A
# quantum of the output equals 16 quanta of the state.
case("basic lstm uint8", basic_lstm(UINT8), runs=3, quanta=4)
case("basic lstm uint8 of one unit", basic_lstm(UINT8, 3, 1), runs=2, quanta=4)
case("basic lstm uint8, more units than inputs", basic_lstm(UINT8, 3, 40), runs=2,
     quanta=4)
case("basic lstm uint8, fewer units than inputs", basic_lstm(UINT8, 40, 5), runs=4,
     quanta=4)
for sequence in (False, True):
    t = "integer sequence lstm" if sequence else "integer lstm"
    case(t, integer_lstm(sequence), runs=3, quanta=0)
    case(f"{t}, cifg", integer_lstm(sequence, cifg=True), runs=3, quanta=0)
    case(f"{t}, projection", integer_lstm(sequence, projection=True), runs=3, quanta=0)
    case(f"{t}, layer normalisation", integer_lstm(sequence, norm=True), runs=3, quanta=0)
    case(f"{t}, peephole and clipped", integer_lstm(sequence, peephole=True, clip=1.5), runs=3,
         quanta=0)
    case(f"{t}, peephole and normalisation, cifg",
         integer_lstm(sequence, cifg=True, peephole=True, norm=True), runs=3, quanta=0)
    case(f"{t}, projection and normalisation, cifg",
         integer_lstm(sequence, cifg=True, projection=True, norm=True), runs=3, quanta=0)
    case(f"{t}, peephole and projection", integer_lstm(sequence, peephole=True, projection=True),
         left="peepholes with a projection")
case("integer sequence lstm, time major", integer_lstm(True, time_major=True), runs=3, quanta=0)
case("integer sequence lstm of one step", integer_lstm(True, steps=1), runs=3, quanta=0)
case("bidirectional sequence lstm", bidirectional_lstm(False), runs=3)
# If the outputs are merged, TensorFlow Lite 2.14.1 itself computes different results in each run.
case("bidirectional sequence lstm, merged", bidirectional_lstm(True), runs=3,
     reference=bidirectional_lstm(False),
     join=lambda r: [b"".join(r[0][i:i + 16] + r[1][i:i + 16] for i in range(0, 96, 16))])
case("rnn", rnn, runs=3)
case("sequence rnn", sequence_rnn(False), runs=3)
case("sequence rnn, time major", sequence_rnn(True), runs=3)
case("bidirectional sequence rnn", bidirectional_rnn(False), runs=3)
case("bidirectional sequence rnn, merged", bidirectional_rnn(True), runs=3)
case("svdf rank 1", svdf(1, NONE), runs=4)
case("svdf rank 2, relu", svdf(2, RELU), runs=4)
for t, make in (("lstm", lstm(False)), ("sequence lstm", lstm(True)), ("sequence lstm, cifg", lstm(True, cifg=True)),
                ("sequence lstm, projection", lstm(True, projection=True)),
                ("sequence lstm, time major", lstm(True, time_major=True)),
                ("bidirectional sequence lstm", bidirectional_lstm(False)), ("rnn", rnn),
                ("sequence rnn", sequence_rnn(False)), ("bidirectional sequence rnn", bidirectional_rnn(False)),
                ("svdf", svdf(1, NONE))):
    case(f"hybrid {t}", hybrid(make), runs=3, tolerance=.03)

# ---- Shapes that are computed at run time ----

def late(name, inputs, given, rank, *options, kind=FLOAT32, outputs=1, before=None, behind=None):
    """`inputs` are shapes of data, or ranks of values: what `given` has, a list for each run. Values of rank
    2 are pairs."""
    def make(m):
        ins, at = [], 0
        for shape in inputs:
            if isinstance(shape, list):
                ins.append(before(m, shape) if before else m.input(shape, **typed(kind)))
                continue
            values_ = [run[at] for run in given]
            n = len(values_[0])
            ins.append(m.input([[], [n], [n // 2, 2]][shape], INT32))
            m.given[ins[-1]] = values_
            at += 1
        outs = [m.tensor([1] * rank, known=False, **typed(kind)) for _ in range(outputs)]
        m.op(name, ins, outs, *options)
        return [behind(m, o) if behind else o for o in outs]
    return make


for kind in ALL:
    t = NAMES[kind]
    for name, inputs, given, rank, *options in (
            ("RESHAPE", [[2, 3, 4], 1], [[[6, 4]], [[3, 8]]], 2),
            ("TRANSPOSE", [[2, 3, 4], 1], [[[2, 0, 1]], [[0, 2, 1]]], 3),
            ("PAD", [[2, 3], 2], [[[1, 0, 2, 1]], [[0, 0, 3, 3]]], 2),
            ("SLICE", [[4, 5], 1, 1], [[[1, 2], [2, -1]], [[0, 1], [-1, 3]]], 2),
            ("STRIDED_SLICE", [[4, 5], 1, 1, 1], [[[0, 1], [3, 5], [2, 1]], [[3, 4], [0, 0], [-1, -2]]], 2,
             0, 0, 0, 0, 0, False),
            ("TILE", [[2, 3], 1], [[[2, 1]], [[1, 3]]], 2),
            ("BROADCAST_TO", [[3, 1], 1], [[[3, 4]], [[3, 2]]], 2),
            ("EXPAND_DIMS", [[3, 2], 0], [[[0]], [[-1]]], 3),
            ("RESIZE_BILINEAR", [[1, 4, 5, 2], 1], [[[8, 7]], [[3, 9]]], 4, False, True),
            ("RESIZE_NEAREST_NEIGHBOR", [[1, 4, 5, 2], 1], [[[8, 7]], [[3, 9]]], 4, False, False),
            ("REDUCE_MAX", [[2, 3, 4], 1], [[[0, 2]], [[1, -1]]], 1, False),
            ("MEAN", [[2, 3, 4], 1], [[[0]], [[2]]], 2, False),
            ("BATCH_TO_SPACE_ND", [[4, 2, 3, 1], 1, 2], [[[2, 2], [0, 0, 0, 0]], [[2, 2], [1, 0, 0, 1]]], 4),
            ("SPACE_TO_BATCH_ND", [[1, 4, 6, 1], 1, 2], [[[2, 2], [0, 0, 0, 0]], [[2, 3], [0, 2, 3, 0]]], 4)):
        case(f"late {name.lower()} {t}", late(name, inputs, given, rank, *options, kind=kind), runs=2)
case("late fill", late("FILL", [1, []], [[[2, 3]], [[4, 1]]], 2), runs=2)
