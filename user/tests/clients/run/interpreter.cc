// SPDX-License-Identifier: MIT
// A program of the C++ interface of TensorFlow Lite. usage: interpreter MODEL
#include <cstdio>
#include <memory>
#include <tensorflow/lite/interpreter.h>
#include <tensorflow/lite/interpreter_builder.h>
#include <tensorflow/lite/kernels/register.h>
#include <tensorflow/lite/model_builder.h>
int main(int, char **argv)
{
	auto model = tflite::FlatBufferModel::BuildFromFile(argv[1]);
	tflite::ops::builtin::BuiltinOpResolver resolver;
	std::unique_ptr<tflite::Interpreter> interpreter;
	if (!model || tflite::InterpreterBuilder(*model, resolver)(&interpreter) || interpreter->AllocateTensors())
		return 1;
	return interpreter->Invoke();
}
