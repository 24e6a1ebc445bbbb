/* SPDX-License-Identifier: MIT */
/* Draws images of digits on a terminal, and the network's answer beside each image. */
#ifndef NN_DEMO_IMAGE_H
#define NN_DEMO_IMAGE_H

#include <stdbool.h>

#include "digits.h"

struct image_answer {
	uint32_t digit;
	float probability;
};

/*
 * Prints `count` images, two side by side, with the network's answers in float32 and in quant8. The
 * characters are Unicode half blocks, or ASCII.
 */
void images_print(const struct digit *digits, const struct image_answer *float32,
		  const struct image_answer *quant8, uint32_t count, bool ascii);

#endif /* NN_DEMO_IMAGE_H */
