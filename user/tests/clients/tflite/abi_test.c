/* SPDX-License-Identifier: MIT */
/*
 * Compiles only if the plug-in's abi.h agrees with the headers of Debian's libtensorflow-lite-dev:
 * layouts of structures, and values of constants.
 */
#include "clients/tflite/abi.h"
#include "clients/tflite/operations.h"

#include <tensorflow/lite/builtin_ops.h>
#include <tensorflow/lite/c/builtin_op_data.h>
#include <tensorflow/lite/c/common.h>

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SIZE_OF(type, member) sizeof(((type *)0)->member)
#define SAME(ours, m, theirs, n)						\
	_Static_assert(offsetof(ours, m) == offsetof(theirs, n) &&		\
		       SIZE_OF(ours, m) == SIZE_OF(theirs, n), #ours "." #m)

SAME_VALUE(TFL_OK, kTfLiteOk);
SAME_VALUE(TFL_ERROR, kTfLiteError);
SAME_VALUE(TFL_DELEGATE_ERROR, kTfLiteDelegateError);
SAME_VALUE(TFL_FLOAT32, kTfLiteFloat32);
SAME_VALUE(TFL_INT32, kTfLiteInt32);
SAME_VALUE(TFL_UINT8, kTfLiteUInt8);
SAME_VALUE(TFL_INT64, kTfLiteInt64);
SAME_VALUE(TFL_STRING, kTfLiteString);
SAME_VALUE(TFL_BOOL, kTfLiteBool);
SAME_VALUE(TFL_INT16, kTfLiteInt16);
SAME_VALUE(TFL_INT8, kTfLiteInt8);
SAME_VALUE(TFL_FLOAT16, kTfLiteFloat16);
SAME_VALUE(TFL_FLOAT64, kTfLiteFloat64);
SAME_VALUE(TFL_INT4, kTfLiteInt4);
SAME_VALUE(TFL_NOT_ALLOCATED, kTfLiteMemNone);
SAME_VALUE(TFL_READ_ONLY, kTfLiteMmapRo);
SAME_VALUE(TFL_DYNAMIC, kTfLiteDynamic);
SAME_VALUE(TFL_PERSISTENT_READ_ONLY, kTfLitePersistentRo);
SAME_VALUE(TFL_CUSTOM_ALLOCATION, kTfLiteCustom);
SAME_VALUE(TFL_PADDING_SAME, kTfLitePaddingSame);
SAME_VALUE(TFL_PADDING_VALID, kTfLitePaddingValid);
SAME_VALUE(TFL_ACT_NONE, kTfLiteActNone);
SAME_VALUE(TFL_ACT_RELU, kTfLiteActRelu);
SAME_VALUE(TFL_ACT_RELU_N1_TO_1, kTfLiteActReluN1To1);
SAME_VALUE(TFL_ACT_RELU6, kTfLiteActRelu6);
SAME_VALUE(TFL_ACT_TANH, kTfLiteActTanh);
SAME_VALUE(TFL_ACT_SIGN_BIT, kTfLiteActSignBit);
SAME_VALUE(TFL_ACT_SIGMOID, kTfLiteActSigmoid);
SAME_VALUE(TFL_MIRROR_REFLECT, kTfLiteMirrorPaddingReflect);
SAME_VALUE(TFL_MIRROR_SYMMETRIC, kTfLiteMirrorPaddingSymmetric);
SAME_VALUE(TFL_NO_TENSOR, kTfLiteOptionalTensor);
SAME_VALUE(TFL_NO_BUFFER, kTfLiteNullBufferHandle);
SAME_VALUE(TFL_BUILTIN_DELEGATE, kTfLiteBuiltinDelegate);
SAME_VALUE(TFL_AFFINE_QUANTIZATION, kTfLiteAffineQuantization);
SAME_VALUE(TFL_FLAG_DYNAMIC_TENSORS, kTfLiteDelegateFlagsAllowDynamicTensors);
SAME_VALUE(0, kTfLiteLSTMFullKernel);
SAME_VALUE(0, kTfLiteFullyConnectedWeightsFormatDefault);

SAME_SIZE(struct tfl_ints, TfLiteIntArray);
SAME(struct tfl_ints, size, TfLiteIntArray, size);
_Static_assert(offsetof(struct tfl_ints, data) == offsetof(TfLiteIntArray, data), "data");
_Static_assert(offsetof(struct tfl_floats, data) == offsetof(TfLiteFloatArray, data), "data");
SAME_SIZE(struct tfl_affine, TfLiteAffineQuantization);
SAME(struct tfl_affine, scale, TfLiteAffineQuantization, scale);
SAME(struct tfl_affine, zero_point, TfLiteAffineQuantization, zero_point);
SAME(struct tfl_affine, dimension, TfLiteAffineQuantization, quantized_dimension);

#define TENSOR(m, n) SAME(struct tfl_tensor, m, TfLiteTensor, n)
SAME_SIZE(struct tfl_tensor, TfLiteTensor);
TENSOR(type, type);
TENSOR(contents, data);
TENSOR(dims, dims);
TENSOR(params.scale, params.scale);
TENSOR(params.zero_point, params.zero_point);
TENSOR(allocation_type, allocation_type);
TENSOR(bytes, bytes);
TENSOR(allocation, allocation);
TENSOR(name, name);
TENSOR(delegate, delegate);
TENSOR(buffer_handle, buffer_handle);
TENSOR(data_is_stale, data_is_stale);
TENSOR(is_variable, is_variable);
TENSOR(quantization.type, quantization.type);
TENSOR(quantization.params, quantization.params);
TENSOR(sparsity, sparsity);
TENSOR(dims_signature, dims_signature);

#define NODE(m, n) SAME(struct tfl_node, m, TfLiteNode, n)
SAME_SIZE(struct tfl_node, TfLiteNode);
NODE(inputs, inputs);
NODE(outputs, outputs);
NODE(intermediates, intermediates);
NODE(temporaries, temporaries);
NODE(user_data, user_data);
NODE(builtin_data, builtin_data);
NODE(custom_data, custom_initial_data);
NODE(custom_size, custom_initial_data_size);
NODE(delegate, delegate);
NODE(side_effect, might_have_side_effect);

#define REGISTRATION(m, n) SAME(struct tfl_registration, m, TfLiteRegistration, n)
_Static_assert(offsetof(struct tfl_registration, later) == sizeof(TfLiteRegistration), "size");
REGISTRATION(init, init);
REGISTRATION(free, free);
REGISTRATION(prepare, prepare);
REGISTRATION(invoke, invoke);
REGISTRATION(profiling_string, profiling_string);
REGISTRATION(builtin_code, builtin_code);
REGISTRATION(custom_name, custom_name);
REGISTRATION(version, version);
REGISTRATION(external, registration_external);
REGISTRATION(async_kernel, async_kernel);
REGISTRATION(inplace, inplace_operator);

SAME_SIZE(struct tfl_partition, TfLiteDelegateParams);
SAME(struct tfl_partition, delegate, TfLiteDelegateParams, delegate);
SAME(struct tfl_partition, nodes, TfLiteDelegateParams, nodes_to_replace);
SAME(struct tfl_partition, inputs, TfLiteDelegateParams, input_tensors);
SAME(struct tfl_partition, outputs, TfLiteDelegateParams, output_tensors);

#define CONTEXT(m, n) SAME(struct tfl_context, m, TfLiteContext, n)
CONTEXT(num_tensors, tensors_size);
CONTEXT(get_execution_plan, GetExecutionPlan);
CONTEXT(tensors, tensors);
CONTEXT(impl, impl_);
CONTEXT(resize_tensor, ResizeTensor);
CONTEXT(report_error, ReportError);
CONTEXT(add_tensors, AddTensors);
CONTEXT(get_node, GetNodeAndRegistration);
CONTEXT(replace_nodes, ReplaceNodeSubsetsWithDelegateKernels);
CONTEXT(threads, recommended_num_threads);
CONTEXT(get_external, GetExternalContext);
CONTEXT(set_external, SetExternalContext);
CONTEXT(allow_fp16, allow_fp32_relax_to_fp16);
CONTEXT(profiler, profiler);
CONTEXT(allocate_persistent, AllocatePersistentBuffer);
CONTEXT(allocate_for_eval, AllocateBufferForEval);
CONTEXT(request_scratch, RequestScratchBufferInArena);
CONTEXT(get_scratch, GetScratchBuffer);
CONTEXT(resize_explicit, ResizeTensorExplicit);
CONTEXT(preview_partitions, PreviewDelegatePartitioning);

#define DELEGATE(m, n) SAME(struct tfl_delegate, m, TfLiteDelegate, n)
SAME_SIZE(struct tfl_delegate, TfLiteDelegate);
DELEGATE(data, data_);
DELEGATE(prepare, Prepare);
DELEGATE(copy_from_buffer, CopyFromBufferHandle);
DELEGATE(copy_to_buffer, CopyToBufferHandle);
DELEGATE(free_buffer, FreeBufferHandle);
DELEGATE(flags, flags);
DELEGATE(opaque_builder, opaque_delegate_builder);

SAME_SIZE(struct tfl_conv, TfLiteConvParams);
SAME(struct tfl_conv, padding, TfLiteConvParams, padding);
SAME(struct tfl_conv, stride_width, TfLiteConvParams, stride_width);
SAME(struct tfl_conv, stride_height, TfLiteConvParams, stride_height);
SAME(struct tfl_conv, activation, TfLiteConvParams, activation);
SAME(struct tfl_conv, dilation_width, TfLiteConvParams, dilation_width_factor);
SAME(struct tfl_conv, dilation_height, TfLiteConvParams, dilation_height_factor);
#define DEPTHWISE(m, n) SAME(struct tfl_depthwise, m, TfLiteDepthwiseConvParams, n)
SAME_SIZE(struct tfl_depthwise, TfLiteDepthwiseConvParams);
DEPTHWISE(padding, padding);
DEPTHWISE(stride_width, stride_width);
DEPTHWISE(stride_height, stride_height);
DEPTHWISE(multiplier, depth_multiplier);
DEPTHWISE(activation, activation);
DEPTHWISE(dilation_width, dilation_width_factor);
DEPTHWISE(dilation_height, dilation_height_factor);
SAME_SIZE(struct tfl_transpose_conv, TfLiteTransposeConvParams);
SAME(struct tfl_transpose_conv, padding, TfLiteTransposeConvParams, padding);
SAME(struct tfl_transpose_conv, stride_width, TfLiteTransposeConvParams, stride_width);
SAME(struct tfl_transpose_conv, stride_height, TfLiteTransposeConvParams, stride_height);
SAME(struct tfl_transpose_conv, activation, TfLiteTransposeConvParams, activation);
SAME(struct tfl_pool, padding, TfLitePoolParams, padding);
SAME(struct tfl_pool, stride_width, TfLitePoolParams, stride_width);
SAME(struct tfl_pool, stride_height, TfLitePoolParams, stride_height);
SAME(struct tfl_pool, width, TfLitePoolParams, filter_width);
SAME(struct tfl_pool, height, TfLitePoolParams, filter_height);
SAME(struct tfl_pool, activation, TfLitePoolParams, activation);
#define FULLY(m, n) SAME(struct tfl_fully_connected, m, TfLiteFullyConnectedParams, n)
SAME_SIZE(struct tfl_fully_connected, TfLiteFullyConnectedParams);
FULLY(activation, activation);
FULLY(weights_format, weights_format);
FULLY(keep_dims, keep_num_dims);
SAME(struct tfl_activated, activation, TfLiteAddParams, activation);
SAME(struct tfl_activated, activation, TfLiteSubParams, activation);
SAME(struct tfl_activated, activation, TfLiteMulParams, activation);
SAME(struct tfl_activated, activation, TfLiteDivParams, activation);
SAME(struct tfl_activated, activation, TfLiteL2NormParams, activation);
SAME(struct tfl_concatenation, axis, TfLiteConcatenationParams, axis);
SAME(struct tfl_concatenation, activation, TfLiteConcatenationParams, activation);
SAME(struct tfl_softmax, beta, TfLiteSoftmaxParams, beta);
SAME(struct tfl_response_norm, radius, TfLiteLocalResponseNormParams, radius);
SAME(struct tfl_response_norm, bias, TfLiteLocalResponseNormParams, bias);
SAME(struct tfl_response_norm, alpha, TfLiteLocalResponseNormParams, alpha);
SAME(struct tfl_response_norm, beta, TfLiteLocalResponseNormParams, beta);
SAME(struct tfl_resize, align_corners, TfLiteResizeBilinearParams, align_corners);
SAME(struct tfl_resize, half_pixels, TfLiteResizeBilinearParams, half_pixel_centers);
SAME(struct tfl_resize, align_corners, TfLiteResizeNearestNeighborParams, align_corners);
SAME(struct tfl_resize, half_pixels, TfLiteResizeNearestNeighborParams, half_pixel_centers);
SAME(struct tfl_block, size, TfLiteSpaceToDepthParams, block_size);
SAME(struct tfl_block, size, TfLiteDepthToSpaceParams, block_size);
SAME(struct tfl_gather, axis, TfLiteGatherParams, axis);
SAME(struct tfl_gather, batch_dims, TfLiteGatherParams, batch_dims);
SAME(struct tfl_reducer, keep_dims, TfLiteReducerParams, keep_dims);
SAME(struct tfl_pack, axis, TfLitePackParams, axis);
SAME(struct tfl_pack, axis, TfLiteUnpackParams, axis);
#define SLICE(m) SAME(struct tfl_strided_slice, m, TfLiteStridedSliceParams, m)
SLICE(begin_mask);
SLICE(end_mask);
SLICE(ellipsis_mask);
SLICE(new_axis_mask);
SLICE(shrink_axis_mask);
SLICE(offset);
SAME(struct tfl_leaky_relu, alpha, TfLiteLeakyReluParams, alpha);
SAME(struct tfl_one_hot, axis, TfLiteOneHotParams, axis);
SAME(struct tfl_cumsum, exclusive, TfLiteCumsumParams, exclusive);
SAME(struct tfl_cumsum, reverse, TfLiteCumsumParams, reverse);
SAME(struct tfl_reverse_sequence, seq_dim, TfLiteReverseSequenceParams, seq_dim);
SAME(struct tfl_reverse_sequence, batch_dim, TfLiteReverseSequenceParams, batch_dim);
SAME(struct tfl_gelu, approximate, TfLiteGeluParams, approximate);
SAME(struct tfl_batch_matmul, adj_x, TfLiteBatchMatMulParams, adj_x);
SAME(struct tfl_batch_matmul, adj_y, TfLiteBatchMatMulParams, adj_y);
SAME(struct tfl_mirror_pad, mode, TfLiteMirrorPaddingParams, mode);
SAME(struct tfl_lsh, type, TfLiteLSHProjectionParams, type);
SAME(struct tfl_svdf, rank, TfLiteSVDFParams, rank);
SAME(struct tfl_svdf, activation, TfLiteSVDFParams, activation);
SAME(struct tfl_activated, activation, TfLiteRNNParams, activation);
SAME(struct tfl_sequence_rnn, time_major, TfLiteSequenceRNNParams, time_major);
SAME(struct tfl_sequence_rnn, activation, TfLiteSequenceRNNParams, activation);
#define BIRNN(m) SAME(struct tfl_bidirectional_rnn, m, TfLiteBidirectionalSequenceRNNParams, m)
BIRNN(time_major);
BIRNN(activation);
BIRNN(merge_outputs);
#define LSTM(m) SAME(struct tfl_lstm, m, TfLiteLSTMParams, m)
LSTM(activation);
LSTM(cell_clip);
LSTM(proj_clip);
LSTM(kernel_type);
#define SEQUENCE(m, n) SAME(struct tfl_sequence_lstm, m, TfLiteUnidirectionalSequenceLSTMParams, n)
SEQUENCE(activation, activation);
SEQUENCE(cell_clip, cell_clip);
SEQUENCE(proj_clip, proj_clip);
SEQUENCE(time_major, time_major);
SEQUENCE(diagonal_recurrent, diagonal_recurrent_tensors);
#define BILSTM(m) SAME(struct tfl_bidirectional_lstm, m, TfLiteBidirectionalSequenceLSTMParams, m)
BILSTM(activation);
BILSTM(cell_clip);
BILSTM(proj_clip);
BILSTM(merge_outputs);
BILSTM(time_major);

/* Compares the operation codes of builtins.def with the codes in TensorFlow Lite's header. */
#define CODE(ours, theirs) SAME_VALUE(ours, kTfLiteBuiltin##theirs)
CODE(0, Add); CODE(1, AveragePool2d); CODE(2, Concatenation); CODE(3, Conv2d);
CODE(4, DepthwiseConv2d); CODE(5, DepthToSpace); CODE(6, Dequantize); CODE(7, EmbeddingLookup);
CODE(8, Floor); CODE(9, FullyConnected); CODE(11, L2Normalization); CODE(12, L2Pool2d);
CODE(13, LocalResponseNormalization); CODE(14, Logistic); CODE(16, Lstm); CODE(17, MaxPool2d);
CODE(18, Mul); CODE(19, Relu); CODE(20, ReluN1To1); CODE(21, Relu6); CODE(22, Reshape);
CODE(23, ResizeBilinear); CODE(24, Rnn); CODE(25, Softmax); CODE(26, SpaceToDepth);
CODE(27, Svdf); CODE(28, Tanh); CODE(34, Pad); CODE(35, UnidirectionalSequenceRnn);
CODE(36, Gather); CODE(37, BatchToSpaceNd); CODE(38, SpaceToBatchNd); CODE(39, Transpose);
CODE(40, Mean); CODE(41, Sub); CODE(42, Div); CODE(43, Squeeze);
CODE(44, UnidirectionalSequenceLstm); CODE(45, StridedSlice); CODE(46, BidirectionalSequenceRnn);
CODE(47, Exp); CODE(48, TopkV2); CODE(49, Split); CODE(50, LogSoftmax);
CODE(52, BidirectionalSequenceLstm); CODE(53, Cast); CODE(54, Prelu); CODE(55, Maximum);
CODE(56, ArgMax); CODE(57, Minimum); CODE(58, Less); CODE(59, Neg); CODE(60, Padv2);
CODE(61, Greater); CODE(62, GreaterEqual); CODE(63, LessEqual); CODE(64, Select); CODE(65, Slice);
CODE(66, Sin); CODE(67, TransposeConv); CODE(68, SparseToDense); CODE(69, Tile);
CODE(70, ExpandDims); CODE(71, Equal); CODE(72, NotEqual); CODE(73, Log); CODE(74, Sum);
CODE(75, Sqrt); CODE(76, Rsqrt); CODE(78, Pow); CODE(79, ArgMin); CODE(81, ReduceProd);
CODE(82, ReduceMax); CODE(83, Pack); CODE(84, LogicalOr); CODE(85, OneHot); CODE(86, LogicalAnd);
CODE(87, LogicalNot); CODE(88, Unpack); CODE(89, ReduceMin); CODE(90, FloorDiv);
CODE(91, ReduceAny); CODE(92, Square); CODE(94, Fill); CODE(96, Range);
CODE(97, ResizeNearestNeighbor); CODE(98, LeakyRelu); CODE(99, SquaredDifference);
CODE(100, MirrorPad); CODE(101, Abs); CODE(102, SplitV); CODE(103, Unique); CODE(104, Ceil);
CODE(105, ReverseV2); CODE(106, AddN); CODE(109, Where); CODE(111, Elu); CODE(114, Quantize);
CODE(117, HardSwish); CODE(118, If); CODE(119, While); CODE(120, NonMaxSuppressionV4);
CODE(121, NonMaxSuppressionV5); CODE(122, ScatterNd); CODE(123, SelectV2); CODE(125, SegmentSum);
CODE(126, BatchMatmul); CODE(130, BroadcastTo); CODE(131, Rfft2d); CODE(140, ReduceAll);
CODE(141, Conv3dTranspose); CODE(146, RandomStandardNormal); CODE(148, RandomUniform);
CODE(149, Multinomial); CODE(150, Gelu); CODE(152, Relu0To1); CODE(153, UnsortedSegmentProd);
CODE(154, UnsortedSegmentMax); CODE(155, UnsortedSegmentSum); CODE(157, UnsortedSegmentMin);
CODE(161, RightShift);
