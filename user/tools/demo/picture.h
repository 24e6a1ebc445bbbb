/* SPDX-License-Identifier: MIT */
/*
 * Draws pictures of digits on a terminal, each beside what the network says.
 */
#ifndef NN_DEMO_PICTURE_H
#define NN_DEMO_PICTURE_H

#include <stdbool.h>

#include "digits.h"

struct picture_answer {
	uint32_t digit;
	float probability;
};

/*
 * Prints `count` pictures, two beside each other, with the answers in float32
 * and in quant8: in half blocks of Unicode, or in ASCII.
 */
void pictures_print(const struct digit *digits, const struct picture_answer *float32,
		    const struct picture_answer *quant8, uint32_t count, bool ascii);

#endif /* NN_DEMO_PICTURE_H */
