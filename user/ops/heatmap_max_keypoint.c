/* SPDX-License-Identifier: MIT */
/*
 * HEATMAP_MAX_KEYPOINT: finds the highest pixel of each heat map. A quadratic fitted to the pixels
 * around the highest pixel refines its position.
 */
#include <math.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/floats.h"
#include "ops/image.h"

enum { HEATMAP, BOXES, NCHW };
enum { SCORE, KEYPOINT };

/*
 * A Hessian whose determinant is below TOLERANCE, or below TOLERANCE_FLOAT16 for float16, counts as
 * singular.
 */
#define TOLERANCE 1e-5f
#define TOLERANCE_FLOAT16 1e-3f

/* Maximum distance of the refined peak from the highest pixel. */
#define MAX_DELTA 1.5f

/* A square heat map: element (y, x) is at index (y * size + x) * stride. */
struct map {
	const float *values;
	size_t size;
	size_t stride;
	float tolerance;
};

struct peak {
	float x;
	float y;
	float score;
};

static enum nn_status infer(struct nn_run *r)
{
	const struct nn_image s = nn_image_of(&r->inputs[HEATMAP], nn_run_bool(r, NCHW, false));
	struct nn_tensor *score = &r->outputs[SCORE], *keypoint = &r->outputs[KEYPOINT];

	if (s.h != s.w || s.h < 2)
		return nn_run_fail(r, "input 0: maps of %u by %u, must be square, of at least 2",
				   s.h, s.w);
	nn_box_quantise(keypoint);
	score->rank = 2;
	keypoint->rank = 3;
	score->dims[0] = keypoint->dims[0] = s.n;
	score->dims[1] = keypoint->dims[1] = s.c;
	keypoint->dims[2] = 2;
	return nn_box_check_scale(r, BOXES);
}

static size_t find_peak(const struct map *m)
{
	size_t peak = 0;

	for (size_t i = 1; i < m->size * m->size; i++)
		if (m->values[i * m->stride] > m->values[peak * m->stride])
			peak = i;
	return peak;
}

/*
 * MAPS adjacent NHWC heat maps are searched together, and each step of the search compares PIXELS
 * pixels.
 */
#define MAPS 4
#define PIXELS 32

/*
 * Finds the highest pixels of MAPS adjacent heat maps. Each step compares PIXELS pixels of each
 * heat map. The position of a maximum is searched only in a step that has a new maximum, which is
 * rare.
 */
static void find_peaks(const struct map *m, size_t peaks[MAPS])
{
	const size_t count = m->size * m->size;
	nn_dot_four best = nn_dot_load(m->values);

	memset(peaks, 0, MAPS * sizeof(*peaks));
	for (size_t i = 0, end; i < count; i = end) {
		nn_dot_four most = best;

		end = count - i < PIXELS ? count : i + PIXELS;
		for (size_t k = i; k < end; k++)
			most = nn_dot_largest(nn_dot_load(m->values + k * m->stride), most);
		for (size_t c = 0; c < MAPS; c++) {
			size_t at = i;

			if (!(most[c] > best[c]))
				continue;
			while (at < end - 1 && !(m->values[at * m->stride + c] >= most[c]))
				at++;
			peaks[c] = at;
		}
		best = most;
	}
}

/* Finds the highest pixel of each of the `c` adjacent heat maps of an image. */
static void find_all_peaks(const struct map *m, size_t c, size_t *peaks)
{
	struct map some = *m;
	size_t i = 0;

	for (; i < c && c >= MAPS; i += MAPS) {
		i = i < c - MAPS ? i : c - MAPS;
		some.values = m->values + i;
		find_peaks(&some, peaks + i);
	}
	for (; i < c; i++) {
		some.values = m->values + i;
		peaks[i] = find_peak(&some);
	}
}

/*
 * Returns the position `at` + `offset` - 1, mirrored at the borders: position -1 is mirrored to 1,
 * and position `size` to `size` - 2.
 */
static size_t mirrored(size_t at, size_t offset, size_t size)
{
	size_t shifted = at + offset;

	return shifted == 0 ? 1 : shifted == size + 1 ? size - 2 : shifted - 1;
}

/* Reads the 3 x 3 pixels around the pixel (y, x); at the borders, the heat map is mirrored. */
static void read_around(const struct map *m, size_t y, size_t x, float g[3][3])
{
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++)
			g[i][j] = m->values[(mirrored(y, i, m->size) * m->size +
					     mirrored(x, j, m->size)) * m->stride];
}

/*
 * Returns the peak of a quadratic through the pixels `g`: the position relative to the center
 * pixel, and the value.
 */
static struct peak refine(float g[3][3], float tolerance)
{
	float bx = (g[1][0] - g[1][2]) / 2, by = (g[0][1] - g[2][1]) / 2;
	float axx = g[1][0] - 2 * g[1][1] + g[1][2], ayy = g[0][1] - 2 * g[1][1] + g[2][1];
	float axy = (g[2][2] - g[2][0] - g[0][2] + g[0][0]) / 4;
	float det = axx * ayy - axy * axy, x, y, far;

	if (fabsf(det) < tolerance + tolerance * axx * ayy)
		return (struct peak){ 0, 0, g[1][1] };
	x = (ayy * bx - axy * by) / det;
	y = (axx * by - axy * bx) / det;
	far = fmaxf(fabsf(x), fabsf(y));
	if (far > MAX_DELTA) {
		x *= MAX_DELTA / far;
		y *= MAX_DELTA / far;
	}
	return (struct peak){ x, y, g[1][1] - (bx * x + by * y) +
			      (axx * x * x + 2 * axy * x * y + ayy * y * y) / 2 };
}

/*
 * Refines the peak of a heat map, starting at its highest pixel. Converts the position of the peak
 * to coordinates in the map's box.
 */
static struct peak locate(const struct map *m, size_t at, const struct nn_box *box)
{
	size_t y = at / m->size, x = at % m->size;
	struct peak p;
	float g[3][3];

	read_around(m, y, x, g);
	p = refine(g, m->tolerance);
	p.x = box->x1 + ((float)x + p.x + 0.5f) / (float)m->size * (box->x2 - box->x1);
	p.y = box->y1 + ((float)y + p.y + 0.5f) / (float)m->size * (box->y2 - box->y1);
	return p;
}

static enum nn_status execute(struct nn_run *r)
{
	const struct nn_tensor *heatmap = &r->inputs[HEATMAP];
	bool nchw = nn_run_bool(r, NCHW, false);
	struct nn_image s = nn_image_of(heatmap, nchw);
	/*
	 * Read float values without a copy: if other threads change the values during the search,
	 * the worst effect is a wrong peak.
	 */
	const float *values = heatmap->type == NN_TENSOR_FLOAT32 ? heatmap->data :
			      nn_floats_read(r, heatmap);
	const struct nn_box *boxes = (void *)nn_floats_read(r, &r->inputs[BOXES]);
	float *score = nn_run_alloc(r, nn_tensor_count(&r->outputs[SCORE]), sizeof(*score));
	float *keypoint = nn_run_alloc(r, (size_t)s.n * s.c, 2 * sizeof(*keypoint));
	float tolerance = nn_run_is_widened(r) ? TOLERANCE_FLOAT16 : TOLERANCE;
	size_t pixels = (size_t)s.h * s.w, *peaks = nn_run_room(r, s.c, sizeof(*peaks));

	if (!values || !boxes || !score || !keypoint || !peaks)
		return NN_OUT_OF_MEMORY;
	for (size_t n = 0, i = 0; n < s.n; n++) {
		struct map m = { values + n * pixels * s.c, s.h, nchw ? 1 : s.c, tolerance };

		if (!nn_box_is_valid(&boxes[n]))
			return nn_run_fail(r, "input 1: box %zu has its corners out of order", n);
		if (!nchw)
			find_all_peaks(&m, s.c, peaks);
		for (size_t c = 0; c < s.c; c++, i++, m.values += nchw ? pixels : 1) {
			struct peak p = locate(&m, nchw ? find_peak(&m) : peaks[c], &boxes[n]);

			score[i] = p.score;
			keypoint[2 * i] = p.x;
			keypoint[2 * i + 1] = p.y;
		}
	}
	nn_floats_write(&r->outputs[SCORE], score);
	nn_floats_write(&r->outputs[KEYPOINT], keypoint);
	return NN_OK;
}

NN_OPERATION(HEATMAP_MAX_KEYPOINT,
	NN_INPUTS(3, { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_BOX_OF, 2, 2 }, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 2, 2 }, { NN_BOX_OF, 3, 3 }),
	.dims = "n*** n4", .float16_as_float32 = true,
	.infer = infer, .execute = execute);
