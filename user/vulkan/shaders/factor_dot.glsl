/* SPDX-License-Identifier: MIT */
/*
 * Four signed bytes in an integer, for OpSDotKHR; a uint8 is 128 less, its zero point too. The zero
 * points are taken off the sum, so elements outside of the image or the filter are zero points. The
 * compiler of Debian 12 does not know GL_EXT_integer_dot_product.
 */
#define WITH_ZEROS
#define FACTOR int
#define ONES 0x01010101
#define SHIFT(type) ((type) == TYPE_U8 ? 128 : 0)
#define inside(x, zero, type) ((x) - SHIFT(type))
#define outside(zero) (zero)

/* DotProductKHR, DotProductInput4x8BitPackedKHR; format 0 is PackedVectorFormat4x8BitKHR. */
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018],
		  id = 4450)
int dot_packed(int a, int b, spirv_literal int format);

int product(int a, int b)
{
	return dot_packed(a, b, 0);
}

int factor(ivec4 x)
{
	return (x.x & 255) | (x.y & 255) << 8 | (x.z & 255) << 16 | x.w << 24;
}
