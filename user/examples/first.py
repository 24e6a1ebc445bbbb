#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The first network, of the NNAPI, by ctypes: the exclusive or of two numbers.

See Documentation/tutorial.rst. The argument is the device's name: nnaccel, or nnapi-reference,
which computes in this process.
"""

import ctypes
import sys

# library
FLOAT32, INT32 = 3, 1                  # ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_INT32
FULLY_CONNECTED, NONE, RELU = 9, 0, 1
nn = ctypes.CDLL('libneuralnetworks.so.1')


class OperandType(ctypes.Structure):
    _fields_ = [('type', ctypes.c_int32), ('dimensionCount', ctypes.c_uint32),
                ('dimensions', ctypes.POINTER(ctypes.c_uint32)),
                ('scale', ctypes.c_float), ('zeroPoint', ctypes.c_int32)]


def call(name, *arguments):
    status = getattr(nn, 'ANeuralNetworks' + name)(*arguments)
    if status:
        sys.exit(f'first.py: {name}: status {status}')


def make(name, *arguments):
    """An object that a call makes."""
    made = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(made))
    return made


def indices(*values):
    return (ctypes.c_uint32 * len(values))(*values)


# model
class Model:
    def __init__(self):
        self.handle = make('Model_create')
        self.count = 0
        self.kept = []                 # values, until the model is finished

    def operand(self, dimensions, value=None, code=FLOAT32):
        sizes = indices(*dimensions) if dimensions else None
        item = OperandType(code, len(dimensions), sizes, 0, 0)
        call('Model_addOperand', self.handle, ctypes.byref(item))
        if value is not None:
            c_type = ctypes.c_float if code == FLOAT32 else ctypes.c_int32
            data = (c_type * len(value))(*value)
            self.kept.append(data)
            call('Model_setOperandValue', self.handle, ctypes.c_int32(self.count), data,
                 ctypes.c_size_t(ctypes.sizeof(data)))
        self.count += 1
        return self.count - 1

    def layer(self, source, target, weights, shape, bias, activation):
        inputs = indices(source, self.operand(shape, weights), self.operand([shape[0]], bias),
                         self.operand([], [activation], INT32))
        call('Model_addOperation', self.handle, FULLY_CONNECTED, len(inputs), inputs,
             1, indices(target))


def exclusive_or():
    model = Model()
    source, hidden, answer = model.operand([4, 2]), model.operand([4, 2]), model.operand([4, 1])
    model.layer(source, hidden, [1, 1, 1, 1], [2, 2], [0, -1], RELU)
    model.layer(hidden, answer, [1, -2], [1, 2], [0], NONE)
    call('Model_identifyInputsAndOutputs', model.handle, 1, indices(source), 1, indices(answer))
    call('Model_finish', model.handle)
    return model


# execution
def find_device(wanted):
    count = ctypes.c_uint32()
    call('_getDeviceCount', ctypes.byref(count))
    for i in range(count.value):
        device, name = make('_getDevice', i), ctypes.c_char_p()
        call('Device_getName', device, ctypes.byref(name))
        if name.value.decode() == wanted:
            return device
    sys.exit(f'first.py: there is no {wanted}: nnaccel doctor tells why')


def main():
    if len(sys.argv) > 2 or sys.argv[-1].startswith('-'):
        is_help = sys.argv[1] in ('-h', '--help')
        print('usage: first.py [DEVICE]', file=sys.stdout if is_help else sys.stderr)
        sys.exit(0 if is_help else 2)
    device = find_device(sys.argv[1] if len(sys.argv) > 1 else 'nnaccel')
    model = exclusive_or()
    compilation = make('Compilation_createForDevices', model.handle,
                       (ctypes.c_void_p * 1)(device), 1)
    call('Compilation_finish', compilation)
    execution = make('Execution_create', compilation)
    pairs, answers = (ctypes.c_float * 8)(0, 0, 0, 1, 1, 0, 1, 1), (ctypes.c_float * 4)()
    call('Execution_setInput', execution, 0, None, pairs, ctypes.c_size_t(ctypes.sizeof(pairs)))
    call('Execution_setOutput', execution, 0, None, answers,
         ctypes.c_size_t(ctypes.sizeof(answers)))
    call('Execution_compute', execution)
    for i, answer in enumerate(answers):
        print(f'{pairs[2 * i]:g} xor {pairs[2 * i + 1]:g} = {answer:g}')


main()
