/* SPDX-License-Identifier: MIT */
/*
 * Compares all kinds of non-maximum suppression with a simple implementation. Some of the random
 * boxes are equal, are infinite, or have corners in the wrong order. Some of the random scores are
 * equal, 0 or negative.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/nms.h"
#include "vectors/random.h"
#include "tests/heap_blocks.h"

#define ROUNDS 4000
#define MAX_BOXES 120

static bool comes_before(struct nn_candidate a, struct nn_candidate b)
{
	return a.score != b.score ? a.score > b.score : a.box < b.box;
}

static float overlap(const struct nn_box *a, const struct nn_box *b)
{
	float w = fminf(a->x2, b->x2) - fmaxf(a->x1, b->x1);
	float h = fminf(a->y2, b->y2) - fmaxf(a->y1, b->y1);
	float both = fmaxf(w, 0) * fmaxf(h, 0);

	return both > 0 ? both / ((a->x2 - a->x1) * (a->y2 - a->y1) +
				  (b->x2 - b->x1) * (b->y2 - b->y1) - both) : 0;
}

static float weight_of(const struct nn_nms *n, float o)
{
	if (n->kernel == NN_NMS_GAUSSIAN)
		return expf(-o * o / n->sigma);
	return o >= n->threshold ? (n->kernel == NN_NMS_LINEAR ? 1 - o : 0) : 1;
}

/*
 * Repeatedly selects the best remaining candidate, and lowers the scores of the candidates that
 * overlap the selected candidate.
 */
static size_t suppress_simply(const struct nn_nms *n, const struct nn_box *boxes,
			      struct nn_candidate *list, size_t count, struct nn_candidate *kept)
{
	size_t num = 0;

	while (count && (n->limit < 0 || num < (size_t)n->limit)) {
		size_t best = 0, left = 0;

		for (size_t i = 1; i < count; i++)
			if (comes_before(list[i], list[best]))
				best = i;
		kept[num] = list[best];
		list[best] = list[--count];
		for (size_t i = 0; i < count; i++) {
			struct nn_candidate c = list[i];
			float weight = weight_of(n, overlap(&boxes[kept[num].box],
							    &boxes[c.box]));

			c.score *= weight;
			if (c.score >= n->floor && (weight != 0 || n->kernel != NN_NMS_DISCARD))
				list[left++] = c;
		}
		count = left;
		num++;
	}
	return num;
}

static struct nn_box any_box(void)
{
	static const float odd[] = { INFINITY, -INFINITY, NAN, 0, -5 };
	struct nn_box b = { (float)pick(0, 20), (float)pick(0, 20), 0, 0 };

	b.x2 = b.x1 + (float)pick(0, 20);
	b.y2 = b.y1 + (float)pick(0, 20);
	if (chance(20))
		*(pick(0, 1) ? &b.x2 : &b.y1) = odd[pick(0, 4)];
	return b;
}

static float any_score(bool is_positive)
{
	float score = chance(3) ? (float)pick(0, 4) / 4 : random_float(is_positive ? 0 : -1, 1);

	return chance(50) ? (chance(2) ? INFINITY : -0.0f) : score;
}

static void test_suppression(void **unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		const struct nn_nms n = {
			.kernel = (enum nn_nms_kernel)((int)pick(0, 3) - 1),
			.threshold = chance(8) ? 0 : random_float(0, 0.8f),
			.sigma = random_float(0.1f, 2),
			.floor = chance(3) ? -INFINITY : random_float(-0.2f, 0.5f),
			.limit = chance(3) ? -1 : (int32_t)pick(0, 20),
		};
		struct nn_candidate list[MAX_BOXES], same[MAX_BOXES], kept[MAX_BOXES];
		size_t count = pick(0, MAX_BOXES), num, right;
		bool is_positive = !chance(3);
		struct nn_box boxes[MAX_BOXES];
		float room[5 * MAX_BOXES];

		for (size_t i = 0; i < count; i++) {
			boxes[i] = i && chance(4) ? boxes[pick(0, (uint32_t)i - 1)] : any_box();
			list[i] = same[i] = (struct nn_candidate){ any_score(is_positive),
								   (uint32_t)i };
		}
		num = nn_nms(&n, boxes, list, count, room);
		right = suppress_simply(&n, boxes, same, count, kept);
		if (num != right)
			fail_msg("round %d: %zu stay, not %zu", round, num, right);
		for (size_t i = 0; i < num; i++)
			if (list[i].box != kept[i].box ||
			    memcmp(&list[i].score, &kept[i].score, sizeof(float)))
				fail_msg("round %d, kernel %d: %zu is box %u of %g, not %u of %g",
					 round, n.kernel, i, list[i].box, (double)list[i].score,
					 kept[i].box, (double)kept[i].score);
	}
}

/* The context of place(): boxes that were computed in advance, and a flag for each valid box. */
struct placing {
	const struct nn_box *boxes;
	const bool *is_box;
	uint32_t last;
	float last_score;
	const float *scores;
};

static bool place(const void *context, struct nn_box *boxes, uint32_t box)
{
	struct placing *p = *(struct placing *const *)context;
	const struct nn_candidate last = { p->last_score, p->last };

	if (p->last != UINT32_MAX &&
	    !comes_before(last, (struct nn_candidate){ p->scores[box], box }))
		fail_msg("box %u is made behind box %u", box, p->last);
	p->last = box;
	p->last_score = p->scores[box];
	boxes[box] = p->boxes[box];
	return p->is_box[box];
}

static int compare(const void *a, const void *b)
{
	const struct nn_candidate *x = a, *y = b;

	return comes_before(*x, *y) ? -1 : comes_before(*y, *x);
}

/*
 * The result is the same whether non-maximum suppression computes a box when it first examines the
 * box, or all boxes are computed in advance. Boxes with low scores may never be examined.
 */
static void test_placing(void **unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct nn_candidate list[MAX_BOXES], same[MAX_BOXES], kept[MAX_BOXES];
		struct nn_box boxes[MAX_BOXES], made[MAX_BOXES];
		float room[5 * MAX_BOXES], scores[MAX_BOXES];
		bool is_box[MAX_BOXES];
		struct placing p = { boxes, is_box, UINT32_MAX, 0, scores }, *context = &p;
		struct nn_nms n = {
			.kernel = NN_NMS_DISCARD,
			.threshold = random_float(0, 0.8f),
			.floor = -INFINITY,
			.limit = chance(3) ? -1 : (int32_t)pick(0, 20),
			.most = chance(3) ? 0 : pick(1, MAX_BOXES),
			.place = place,
			.context = &context,
		};
		size_t count = pick(0, MAX_BOXES), left = 0, right, num;

		for (size_t i = 0; i < count; i++) {
			boxes[i] = any_box();
			made[i] = (struct nn_box){ 0, 0, 0, 0 };
			is_box[i] = !chance(4);
			scores[i] = any_score(false);
			list[i] = same[i] = (struct nn_candidate){ scores[i], (uint32_t)i };
		}
		assert_true(nn_nms_room(&n, count) <= sizeof(room) / sizeof(room[0]));
		num = nn_nms(&n, made, list, count, room);
		qsort(same, count, sizeof(*same), compare);
		for (size_t i = 0; i < count && (!n.most || i < n.most); i++)
			if (is_box[same[i].box])
				same[left++] = same[i];
		right = suppress_simply(&n, boxes, same, left, kept);
		assert_int_equal(num, right);
		assert_memory_equal(list, kept, num * sizeof(*list));
	}
}

#define MANY 5000

/* Selects the best candidates of long lists whose scores a quickselect cannot divide evenly. */
static void test_best_of_many(void **unused)
{
	static struct nn_candidate list[MANY], sorted[MANY];

	(void)unused;
	for (int round = 0; round < 60; round++) {
		size_t count = pick(1000, MANY), most = chance(2) ? count : pick(0, MANY);

		for (size_t i = 0; i < count; i++) {
			const float scores[] = {
				any_score(false), 1, (float)i, -(float)i, (float)(i % 7),
				(float)(i < count / 2 ? i : count - i),
				(float)(i % 2 ? i : count / 2 - i),
			};

			list[i] = (struct nn_candidate){ scores[round % 7], (uint32_t)i };
		}
		for (size_t i = 0; chance(2) && i < count; i++)
			list[i].box = (uint32_t)(count - i);
		memcpy(sorted, list, sizeof(sorted));
		qsort(sorted, count, sizeof(*sorted), compare);
		most = most < count ? most : count;
		assert_int_equal(nn_candidates_best(list, count, most), most);
		assert_memory_equal(list, sorted, most * sizeof(*list));
	}
}

static void test_best(void **unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct nn_candidate list[MAX_BOXES], sorted[MAX_BOXES];
		size_t count = pick(0, MAX_BOXES), most = pick(0, MAX_BOXES);

		for (size_t i = 0; i < count; i++)
			list[i] = sorted[i] = (struct nn_candidate){ any_score(false),
								     (uint32_t)i };
		qsort(sorted, count, sizeof(*sorted), compare);
		assert_int_equal(nn_candidates_best(list, count, most),
				 most < count ? most : count);
		assert_memory_equal(list, sorted, (most < count ? most : count) * sizeof(*list));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_suppression),
		heap_unit_test(test_placing),
		heap_unit_test(test_best),
		heap_unit_test(test_best_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
