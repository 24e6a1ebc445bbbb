/* SPDX-License-Identifier: MIT */
/*
 * Numbers of IEEE half precision (fp16). Conversion from fp16 to float is exact; conversion from
 * float to fp16 rounds to nearest even.
 */
#ifndef NN_OPS_FLOAT16_H
#define NN_OPS_FLOAT16_H

#include <stddef.h>
#include <stdint.h>

float nn_fp16_to_float(uint16_t fp16);
uint16_t nn_float_to_fp16(float value);

/*
 * The functions nn_fp16_to_fp32() and nn_fp32_to_fp16() convert arrays; the fp16 array may be
 * unaligned.
 */
void nn_fp16_to_fp32(const void *fp16, float *floats, size_t count);
void nn_fp32_to_fp16(const float *floats, void *fp16, size_t count);

#endif /* NN_OPS_FLOAT16_H */
