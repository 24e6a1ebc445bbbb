/* SPDX-License-Identifier: MIT */
/*
 * Tests that BOX_WITH_NMS_LIMIT and DETECTION_POSTPROCESSING may drop a candidate early if the
 * limits would drop this candidate at the end. The results are compared with an algorithm that
 * selects the best of all candidates at the end.
 */
#include <math.h>

#include "op_case.h"
#include "ops/nms.h"
#include "vectors/random.h"
#include "tests/heap_blocks.h"

#define ROUNDS 1500
#define MAX_REGIONS 60
#define MAX_CLASSES 7
#define MAX_ALL (MAX_REGIONS * MAX_CLASSES)

static int compare(const void *a, const void *b)
{
	const struct nn_candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->box > y->box) - (x->box < y->box);
}

/* Makes random scores; in half of the cases many scores are equal. */
static void any_scores(float *scores, size_t count)
{
	bool few = chance(2);

	for (size_t i = 0; i < count; i++)
		scores[i] = few ? (float)pick(0, 6) / 8 : random_float(-0.5f, 1);
}

struct limits {
	uint32_t regions;
	uint32_t classes;
	float scores[MAX_ALL];
	struct nn_box boxes[MAX_ALL];
	float threshold;
	struct nn_nms nms;
};

/*
 * Selects the boxes of one class from the regions `first` to `last` - 1. The coordinates of a
 * region's box begin at `offset`; regions are `step` coordinates apart.
 */
static size_t select_class(struct limits *l, uint32_t class, uint32_t first, uint32_t last,
			   uint32_t step, uint32_t offset, struct nn_candidate *to)
{
	float room[5 * MAX_REGIONS];
	size_t count = 0;

	for (uint32_t i = first; i < last; i++)
		if (l->scores[i * l->classes + class] > l->threshold)
			to[count++] = (struct nn_candidate){ l->scores[i * l->classes + class],
							     i * step + offset };
	return nn_nms(&l->nms, l->boxes, to, count, room);
}

static size_t cut(struct nn_candidate *list, size_t count, size_t limit)
{
	struct nn_candidate best[MAX_ALL];
	size_t kept = 0;

	if (count <= limit)
		return count;
	memcpy(best, list, count * sizeof(*list));
	qsort(best, count, sizeof(*best), compare);
	for (size_t i = 0; i < count; i++)
		if (limit && compare(&list[i], &best[limit - 1]) <= 0)
			list[kept++] = list[i];
	return kept;
}

static void check_box_limit(struct limits *l, uint32_t in_first)
{
	const uint32_t all = l->regions * l->classes;
	struct nn_candidate list[MAX_ALL];
	int32_t batch[MAX_REGIONS];
	size_t count = 0;
	struct op_case c;

	for (uint32_t i = 0; i < l->regions; i++)
		batch[i] = i < in_first ? 0 : 1;
	oc_init(&c, "BOX_WITH_NMS_LIMIT");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(l->regions, l->classes), l->scores);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(l->regions, 4 * l->classes), l->boxes);
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(l->regions), batch);
	oc_float(&c, l->threshold);
	oc_int(&c, l->nms.limit);
	oc_int(&c, (int32_t)l->nms.kernel);
	oc_float(&c, l->nms.threshold);
	oc_float(&c, l->nms.sigma);
	oc_float(&c, l->nms.floor);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_INT32);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	for (uint32_t image = 0; image < 2; image++) {
		size_t of_image = 0, limit = l->nms.limit < 0 ? all : (size_t)l->nms.limit;

		for (uint32_t class = 1; class < l->classes; class++)
			of_image += select_class(l, class, image ? in_first : 0,
						 image ? l->regions : in_first, l->classes, class,
						 list + count + of_image);
		count += cut(list + count, of_image, limit);
	}
	assert_int_equal(nn_tensor_count(oc_result(&c, 0)), count);
	for (size_t i = 0; i < count; i++) {
		const float *score = oc_result(&c, 0)->data;
		const struct nn_box *box = oc_result(&c, 1)->data;
		const int32_t *class = oc_result(&c, 2)->data;

		assert_memory_equal(&score[i], &list[i].score, sizeof(*score));
		assert_memory_equal(&box[i], &l->boxes[list[i].box], sizeof(*box));
		assert_int_equal(class[i], list[i].box % l->classes);
	}
	oc_free(&c);
}

static void test_box_limit(void **state)
{
	static struct limits l;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		l.regions = pick(1, MAX_REGIONS);
		l.classes = pick(2, MAX_CLASSES);
		l.threshold = chance(4) ? -0.25f : random_float(0, 0.3f);
		l.nms = (struct nn_nms){
			.kernel = chance(2) ? NN_NMS_HARD : (enum nn_nms_kernel)pick(0, 2),
			.threshold = random_float(0.05f, 0.8f),
			.sigma = 0.5f,
			.floor = chance(3) ? random_float(-0.2f, 0) : random_float(0, 0.4f),
			.limit = chance(6) ? -1 : (int32_t)pick(0, 15),
		};
		any_scores(l.scores, (size_t)l.regions * l.classes);
		for (uint32_t i = 0; i < l.regions * l.classes; i++) {
			struct nn_box *b = &l.boxes[i];

			*b = (struct nn_box){ random_float(0, 20), random_float(0, 20), 0, 0 };
			b->x2 = b->x1 + random_float(0, 20);
			b->y2 = b->y1 + random_float(0, 20);
		}
		check_box_limit(&l, pick(0, l.regions));
	}
}

/* Tests detections with deltas of 0, so that each box is its anchor. */
static void check_detections(struct limits *l, uint32_t most)
{
	static const float zeros[4 * MAX_REGIONS];
	float anchors[MAX_REGIONS][4];
	struct nn_candidate list[MAX_ALL];
	size_t count = 0, of_class;
	struct op_case c;

	for (uint32_t i = 0; i < l->regions; i++) {
		float y = random_float(0, 20), x = random_float(0, 20);
		float h = random_float(0, 20), w = random_float(0, 20);

		memcpy(anchors[i], (float[]){ y, x, h, w }, sizeof(anchors[i]));
		l->boxes[i] = (struct nn_box){ x - w / 2, y - h / 2, x + w / 2, y + h / 2 };
	}
	oc_init(&c, "DETECTION_POSTPROCESSING");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, l->regions, l->classes), l->scores);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, l->regions, 4), zeros);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(l->regions, 4), anchors);
	for (int i = 0; i < 4; i++)
		oc_float(&c, 1);
	oc_bool(&c, true);
	oc_int(&c, (int32_t)most);
	oc_int(&c, 1);
	oc_int(&c, l->nms.limit);
	oc_float(&c, l->threshold);
	oc_float(&c, l->nms.threshold);
	oc_bool(&c, true);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_INT32);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	for (uint32_t class = 1; class < l->classes; class++) {
		of_class = select_class(l, class, 0, l->regions, 1, 0, list + count);
		for (size_t i = 0; i < of_class; i++)
			list[count + i].box += class * l->regions;
		count += of_class;
	}
	qsort(list, count, sizeof(*list), compare);
	count = count < most ? count : most;
	assert_int_equal(*(const int32_t *)oc_result(&c, 3)->data, count);
	for (size_t i = 0; i < count; i++) {
		const struct nn_box *b = &l->boxes[list[i].box % l->regions];
		const float box[4] = { b->y1, b->x1, b->y2, b->x2 };

		assert_memory_equal((const float *)oc_result(&c, 0)->data + i, &list[i].score,
				    sizeof(float));
		assert_memory_equal((const float *)oc_result(&c, 1)->data + 4 * i, box,
				    sizeof(box));
		assert_int_equal(((const int32_t *)oc_result(&c, 2)->data)[i],
				 list[i].box / l->regions);
	}
	oc_free(&c);
}

static void test_detections(void **state)
{
	static struct limits l;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		l.regions = pick(1, MAX_REGIONS);
		l.classes = pick(2, MAX_CLASSES);
		l.threshold = random_float(0, 0.5f);
		l.nms = (struct nn_nms){
			.kernel = NN_NMS_DISCARD,
			.threshold = random_float(0, 0.8f),
			.floor = -INFINITY,
			.limit = (int32_t)pick(1, 30),
		};
		any_scores(l.scores, (size_t)l.regions * l.classes);
		check_detections(&l, pick(1, 25));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_box_limit),
		heap_unit_test(test_detections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
