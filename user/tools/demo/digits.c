/* SPDX-License-Identifier: MIT */
/*
 * Draws digits, each from a few splines through a few points. The code uses only +, -, *, / and
 * sqrtf(), which IEEE 754 rounds equally on all machines.
 */
#include <math.h>
#include <stdbool.h>

#include "digits.h"

#define STROKE_POINTS	9
#define DIGIT_STROKES	2
#define SHAPE_SEGMENTS	64
#define SPLINE_STEPS	4

struct point {
	float x, y;
};

/*
 * A stroke: straight lines between points, or a spline through the points. Coordinates are in
 * hundredths of the unit square; y points down.
 */
struct stroke {
	uint32_t count;
	bool straight;
	int8_t points[STROKE_POINTS][2];
};

struct shape {
	uint32_t label;
	struct stroke strokes[DIGIT_STROKES];	/* strokes; an unused stroke has count 0 */
};

struct outline {
	uint32_t count;
	struct point from[SHAPE_SEGMENTS], to[SHAPE_SEGMENTS];
};

/* Shapes of digits; some digits have several shapes. */
static const struct shape shapes[] = {
	{ 0, { { 9, 0, { { 50, 5 }, { 25, 20 }, { 18, 50 }, { 25, 80 }, { 50, 95 },
			 { 75, 80 }, { 82, 50 }, { 75, 20 }, { 50, 5 } } } } },
	{ 1, { { 2, 1, { { 50, 5 }, { 50, 95 } } } } },
	{ 1, { { 3, 1, { { 30, 25 }, { 55, 5 }, { 55, 95 } } } } },
	{ 1, { { 3, 1, { { 30, 25 }, { 52, 5 }, { 52, 95 } } },
	       { 2, 1, { { 28, 95 }, { 76, 95 } } } } },
	{ 2, { { 6, 0, { { 22, 25 }, { 45, 5 }, { 74, 20 }, { 70, 45 }, { 45, 70 },
			 { 20, 93 } } },
	       { 2, 1, { { 20, 94 }, { 80, 94 } } } } },
	{ 3, { { 5, 0, { { 24, 14 }, { 50, 5 }, { 74, 22 }, { 64, 42 }, { 42, 48 } } },
	       { 5, 0, { { 42, 48 }, { 70, 54 }, { 78, 75 }, { 52, 95 }, { 20, 85 } } } } },
	{ 4, { { 3, 1, { { 55, 5 }, { 18, 65 }, { 85, 65 } } },
	       { 2, 1, { { 64, 38 }, { 64, 95 } } } } },
	{ 4, { { 3, 1, { { 65, 95 }, { 65, 5 }, { 18, 65 } } },
	       { 2, 1, { { 18, 65 }, { 85, 65 } } } } },
	{ 5, { { 3, 1, { { 75, 6 }, { 30, 6 }, { 26, 46 } } },
	       { 6, 0, { { 26, 46 }, { 50, 38 }, { 76, 52 }, { 74, 80 }, { 48, 95 },
			 { 20, 85 } } } } },
	{ 6, { { 9, 0, { { 68, 6 }, { 40, 25 }, { 24, 60 }, { 34, 88 }, { 56, 95 },
			 { 76, 80 }, { 72, 56 }, { 50, 48 }, { 26, 64 } } } } },
	{ 7, { { 3, 1, { { 20, 7 }, { 80, 7 }, { 42, 95 } } } } },
	{ 7, { { 3, 1, { { 20, 7 }, { 80, 7 }, { 42, 95 } } },
	       { 2, 1, { { 36, 50 }, { 78, 50 } } } } },
	{ 8, { { 7, 0, { { 50, 48 }, { 26, 36 }, { 28, 13 }, { 50, 5 }, { 72, 13 },
			 { 74, 36 }, { 50, 48 } } },
	       { 7, 0, { { 50, 48 }, { 23, 60 }, { 22, 84 }, { 50, 95 }, { 78, 84 },
			 { 77, 60 }, { 50, 48 } } } } },
	{ 9, { { 9, 0, { { 74, 36 }, { 50, 52 }, { 28, 44 }, { 24, 20 }, { 44, 5 },
			 { 66, 12 }, { 76, 40 }, { 60, 75 }, { 32, 94 } } } } },
	{ 9, { { 7, 0, { { 72, 30 }, { 50, 50 }, { 28, 40 }, { 26, 17 }, { 48, 5 },
			 { 70, 14 }, { 72, 30 } } },
	       { 2, 1, { { 72, 30 }, { 66, 95 } } } } },
};

static const struct shape *pick(struct random *r)
{
	uint32_t label = random_below(r, DIGITS_CLASSES);
	uint32_t first = 0, count = 0;

	while (shapes[first].label != label)
		first++;
	while (first + count < sizeof(shapes) / sizeof(shapes[0]) &&
	       shapes[first + count].label == label)
		count++;
	return &shapes[first + random_below(r, count)];
}

/*
 * A random affine transform from the unit square to pixels: rotation, shear and scale about the
 * middle, then a shift.
 */
struct transform {
	float xx, xy, yx, yy, dx, dy;
};

static struct transform random_transform(struct random *r)
{
	float t = random_range(r, -.18f, .18f);	/* tangent of half the angle of rotation */
	float c = (1 - t * t) / (1 + t * t), s = 2 * t / (1 + t * t);
	float shear = random_range(r, -.3f, .3f);
	float width = random_range(r, 10, 21), height = random_range(r, 13, 23);
	struct transform m = {
		.xx = c * width, .xy = (c * shear - s) * height,
		.yx = s * width, .yy = (s * shear + c) * height,
		.dx = DIGITS_SIZE / 2 + random_range(r, -3, 3),
		.dy = DIGITS_SIZE / 2 + random_range(r, -3, 3),
	};

	return m;
}

static struct point apply(const struct transform *m, struct point p)
{
	float x = p.x - .5f, y = p.y - .5f;

	return (struct point){ m->xx * x + m->xy * y + m->dx, m->yx * x + m->yy * y + m->dy };
}

/* Returns the Catmull-Rom curve from b to c at t in [0, 1]; a and d are the neighbouring points. */
static float spline(float a, float b, float c, float d, float t)
{
	return b + .5f * t * (c - a + t * (2 * a - 5 * b + 4 * c - d +
					   t * (3 * (b - c) + d - a)));
}

static struct point spline_point(const struct point *p, uint32_t count, uint32_t i, float t)
{
	const struct point *a = &p[i ? i - 1 : 0], *b = &p[i], *c = &p[i + 1];
	const struct point *d = &p[i + 2 < count ? i + 2 : count - 1];

	return (struct point){ spline(a->x, b->x, c->x, d->x, t),
			       spline(a->y, b->y, c->y, d->y, t) };
}

static void add_stroke(struct outline *o, const struct stroke *s, const struct transform *m,
		       struct random *r)
{
	uint32_t steps = s->straight ? 1 : SPLINE_STEPS;
	struct point p[STROKE_POINTS];

	for (uint32_t i = 0; i < s->count; i++) {
		p[i].x = (float)s->points[i][0] / 100 + random_range(r, -.045f, .045f);
		p[i].y = (float)s->points[i][1] / 100 + random_range(r, -.045f, .045f);
		p[i] = apply(m, p[i]);
	}
	for (uint32_t i = 0; i + 1 < s->count; i++) {
		for (uint32_t k = 0; k < steps; k++) {
			o->from[o->count] = spline_point(p, s->count, i, (float)k / (float)steps);
			o->to[o->count] = spline_point(p, s->count, i,
						       (float)(k + 1) / (float)steps);
			o->count++;
		}
	}
}

static float distance_squared(struct point p, struct point a, struct point b)
{
	float dx = b.x - a.x, dy = b.y - a.y;
	float length = dx * dx + dy * dy;
	float t = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;

	t = t < 0 ? 0 : t > 1 ? 1 : t;
	dx = p.x - a.x - t * dx;
	dy = p.y - a.y - t * dy;
	return dx * dx + dy * dy;
}

/*
 * Returns the ink at a pixel: 1 inside a stroke, falling to 0 at the stroke's edge over the width
 * of a pixel.
 */
static float ink(const struct outline *o, struct point p, float radius)
{
	float best = distance_squared(p, o->from[0], o->to[0]);

	for (uint32_t i = 1; i < o->count; i++) {
		float d = distance_squared(p, o->from[i], o->to[i]);

		best = d < best ? d : best;
	}
	best = radius + .5f - sqrtf(best);
	return best < 0 ? 0 : best > 1 ? 1 : best;
}

void digit_draw(struct random *r, struct digit *digit)
{
	const struct shape *shape = pick(r);
	struct transform m = random_transform(r);
	struct outline o = { .count = 0 };
	float radius = random_range(r, .7f, 1.7f);
	float strength = random_range(r, .65f, 1);
	float noise = random_range(r, 0, .3f);

	for (uint32_t i = 0; i < DIGIT_STROKES; i++)
		if (shape->strokes[i].count)
			add_stroke(&o, &shape->strokes[i], &m, r);
	for (uint32_t i = 0; i < DIGITS_PIXELS; i++) {
		struct point p = { (float)(i % DIGITS_SIZE) + .5f, (float)(i / DIGITS_SIZE) + .5f };
		float v = strength * ink(&o, p, radius);

		v += random_range(r, -noise, noise) + random_range(r, -noise, noise);
		v = v < 0 ? 0 : v > 1 ? 1 : v;
		digit->pixels[i] = (uint8_t)(v * 255 + .5f);
	}
	digit->label = shape->label;
}
