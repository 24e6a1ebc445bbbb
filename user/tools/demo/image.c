/* SPDX-License-Identifier: MIT */
/* Draws images on a terminal; each character shows two pixels, one above the other. */
#include <stdio.h>

#include "image.h"

#define TEXT_ROW	4	/* image row beside which the first line of text is printed */
#define INK		100	/* brightness above which a block of pixels counts as ink */

static void print_pair(uint8_t above, uint8_t below, bool ascii)
{
	static const char *const blocks[] = { " ", "\u2580", "\u2584", "\u2588" };
	static const char shades[] = " .:-=+*#%@";

	if (ascii)
		putchar(shades[(above + below) * (sizeof(shades) - 2) / (2 * 255)]);
	else
		fputs(blocks[(above > INK) + 2 * (below > INK)], stdout);
}

static void print_answer(const char *name, const struct image_answer *a)
{
	printf(" %-3s %u %3.0f%%", name, a->digit, (double)a->probability * 100);
}

static void print_text(uint32_t row, const struct digit *digit, const struct image_answer *f,
		       const struct image_answer *q)
{
	switch (row) {
	case TEXT_ROW:
		printf(" is  %u     ", digit->label);
		break;
	case TEXT_ROW + 2:
		print_answer("f32", f);
		break;
	case TEXT_ROW + 3:
		print_answer("q8", q);
		break;
	default:
		printf("           ");
	}
}

void images_print(const struct digit *digits, const struct image_answer *float32,
		  const struct image_answer *quant8, uint32_t count, bool ascii)
{
	for (uint32_t first = 0; first < count; first += 2) {
		for (uint32_t row = 0; row < DIGITS_SIZE / 2; row++) {
			for (uint32_t i = first; i < first + 2 && i < count; i++) {
				const uint8_t *p = digits[i].pixels + 2 * row * DIGITS_SIZE;

				for (uint32_t x = 0; x < DIGITS_SIZE; x++)
					print_pair(p[x], p[x + DIGITS_SIZE], ascii);
				print_text(row, &digits[i], &float32[i], &quant8[i]);
			}
			putchar('\n');
		}
		putchar('\n');
	}
}
