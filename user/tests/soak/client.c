/* SPDX-License-Identifier: MIT */
/*
 * A client process of the soak test. Clients of different kinds use different calls to execute
 * models. A client repeatedly opens the device, prepares and executes random graphs, compares the
 * outputs with the reference kernels, and closes the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/dma-buf.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <liburing.h>

#include <nnaccel/operation.h>
#include <nnaccel/uring.h>

#include "../examples/extensions/fibonacci.h"
#include "../examples/extensions/golden.h"
#include "base/clock.h"
#include "base/round.h"
#include "exporters.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tests/model_builder.h"
#include "tests/open_files.h"
#include "tests/plan_diff/compare.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/random.h"
#include "tests/soak/soak.h"

#define ALIGN		64
#define MODELS		4	/* number of models prepared on each opened device */
#define MOST		400	/* maximum number of executions of one model */
#define RATIOS		7	/* number of elements in the extension's model */
#define KEPT		40	/* number of graphs that a caching client uses repeatedly */
/*
 * The number of bytes by which a client's heap may grow after the client has closed the device for
 * the second time.
 */
#define HEAP_SLACK	((size_t)256 << 10)

const char *const soak_kinds[SOAK_KINDS] = {
	[SOAK_SYNC] = "sync", [SOAK_MEASURED] = "measured", [SOAK_FENCED] = "fenced",
	[SOAK_URING] = "uring", [SOAK_BURST] = "burst", [SOAK_SLEEPY_BURST] = "sleepy burst",
	[SOAK_BUFFERS] = "buffers", [SOAK_CACHED] = "cached", [SOAK_EXTENSION] = "extension",
	[SOAK_FRAMES] = "frames",
};

/* A model, its memory, its inputs and the expected outputs. */
struct job {
	struct nna_prepared_model *prepared;
	struct nna_memory *constants, *memory, *frame;
	int frame_fd;
	uint8_t *map, *frame_map;
	uint64_t frame_size;
	void *input;
	uint32_t input_size;
	uint32_t num_outputs;
	uint32_t sizes[MAX_OUTPUTS];
	void *right[MAX_OUTPUTS];
	void *seen[MAX_OUTPUTS];	/* outputs of the job's first execution */
	struct nna_argument in, out[MAX_OUTPUTS];
	struct nna_memory *memories[2];
	uint32_t tokens[1 + MAX_OUTPUTS];
	struct nna_buffer *buffers[1 + MAX_OUTPUTS];
	struct nna_request request;
	struct nna_burst *burst;
	struct nna_submission *submission;
};

static struct soak *soak;
static struct soak_client *me;
static enum soak_kind kind;
static struct nna_device *device;
static struct nn_error err;
static struct io_uring ring;
static uint64_t seed;
static int vgem = -1;

static _Noreturn void fail(const char *what, const char *why)
{
	snprintf(me->message, sizeof(me->message), "%s, seed %llu: %.100s: %.150s", soak_kinds[kind],
		 (unsigned long long)seed, what, why);
	_exit(1);
}

/*
 * Returns true if a call succeeded. If a call failed, ends the client, unless the soak test allows
 * calls to fail.
 */
static bool good(const char *what, enum nn_status status)
{
	if (!status)
		return true;
	/*
	 * A call may fail with NN_MISSED_DEADLINE_TRANSIENT, because on a slow machine the module's
	 * time limit for a fence may pass.
	 */
	if (!soak->disturbed && status != NN_MISSED_DEADLINE_TRANSIENT)
		fail(what, err.message);
	snprintf(me->refusal, sizeof(me->refusal), "%.40s: %.150s", what, err.message);
	atomic_fetch_add(&me->refused, 1);
	return false;
}

/* ---- expected outputs ---- */

static void set_right(struct job *j)
{
	const struct nn_plan_options options = { .kernels = "none" };
	struct nn_arg in = { .data = j->input, .length = j->input_size };
	struct nn_arg out[MAX_OUTPUTS] = { 0 };
	struct nn_output_shape shapes[MAX_OUTPUTS];
	struct nn_execution e = {
		.num_inputs = 1, .num_outputs = j->num_outputs, .inputs = &in, .outputs = out,
		.shapes = shapes,
	};
	struct nn_plan *plan;

	for (uint32_t i = 0; i < j->num_outputs; i++)
		out[i] = (struct nn_arg){ .data = j->right[i], .length = j->sizes[i] };
	if (nn_plan_create(&g.model, &options, &plan, &err) || nn_plan_execute(plan, &e, &err))
		fail("the reference", err.message);
	nn_plan_free(plan);
}

static void compare(struct job *j, uint32_t output, const void *data)
{
	const float *ratios = data;
	char text[64];

	if (j->seen[output]) {
		if (memcmp(data, j->seen[output], j->sizes[output]))
			fail("an answer", "it is another one than the first");
		return;
	}
	if (kind == SOAK_EXTENSION) {
		static const float right[RATIOS] = { 0, 2, 3, 2.5f, 8.f / 3, 2.6f, 2.625f };

		for (int i = 1; i < RATIOS; i++)
			if (ratios[i] < right[i] - 1e-5f || ratios[i] > right[i] + 1e-5f)
				fail("an answer", "a ratio is wrong");
	} else if (graph_differs(output, data, j->right[output]) >= 0) {
		snprintf(text, sizeof(text), "output %u differs in element %lld", output,
			 (long long)graph_differs(output, data, j->right[output]));
		fail("an answer", text);
	}
	j->seen[output] = malloc(j->sizes[output]);
	memcpy(j->seen[output], data, j->sizes[output]);
}

/* ---- models ---- */

/*
 * Prepares a model that uses two plug-ins. The model computes the ratio of each Fibonacci number to
 * the previous Fibonacci number, and adds 1 to each ratio.
 */
static enum nn_status prepare_golden(struct nna_prepared_model **prepared)
{
	static const struct fibonacci_quant quant = { .scale = 0.25, .zero_point = -3 };
	static const float ones[RATIOS] = { 1, 1, 1, 1, 1, 1, 1 };
	struct model_builder b;

	mb_init(&b);
	b.model.num_extensions = 2;
	b.extensions[0] = (struct nn_extension_prefix){ GOLDEN_NAME, 700 };
	b.extensions[1] = (struct nn_extension_prefix){ FIBONACCI_NAME, 1 };
	mb_operand(&b, 1 << 16 | FIBONACCI_INT64, NN_SUBGRAPH_INPUT, MB_NONE);
	mb_operand(&b, 1 << 16 | FIBONACCI_TENSOR_QUANT64, NN_TEMPORARY, MB_DIMS(RATIOS + 1));
	b.operands[0][1].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION, .bytes = (const uint8_t *)&quant,
		.count = sizeof(quant),
	};
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(RATIOS));
	mb_constant(&b, NN_TENSOR_FLOAT32, ones, sizeof(ones), MB_DIMS(RATIOS));
	mb_int32(&b, 0);
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(RATIOS));
	mb_operation(&b, 1 << 16 | FIBONACCI_FIBONACCI, MB_LIST(0), MB_LIST(1));
	mb_operation(&b, 700 << 16 | GOLDEN_RATIOS, MB_LIST(1), MB_LIST(2));
	mb_operation(&b, NN_OP_ADD, MB_LIST(2, 3, 4), MB_LIST(5));
	return nna_prepare_model(device, &b.model, NULL, NULL, prepared, &err);
}

static int open_part(const char *part)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%llu.%s", soak->folder, (unsigned long long)seed, part);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/*
 * Loads a model from its cache files. If loading fails, prepares the model and saves it to the
 * cache files.
 */
static enum nn_status prepare_cached(struct job *j)
{
	int model = open_part("model"), data = open_part("data");
	struct nna_cache cache = {
		.size = sizeof(cache), .model_files = &model, .num_model_files = 1,
		.data_files = &data, .num_data_files = 1,
	};
	struct nna_prepare_options options = { .size = sizeof(options), .cache = &cache };
	enum nn_status status;

	if (model < 0 || data < 0)
		fail("a cache file", strerror(errno));
	memcpy(cache.token, &seed, sizeof(seed));
	status = nna_prepare_model_from_cache(device, &cache, NULL, &j->prepared, &err);
	if (!status) {
		atomic_fetch_add(&me->cached, 1);
		status = nna_prepared_model_set_signature(j->prepared, &g.model, &err);
	} else {
		status = nna_prepare_model(device, &g.model, &j->constants, &options, &j->prepared,
					   &err);
	}
	close(model);
	close(data);
	return status;
}

static bool prepare_graph(struct job *j)
{
	/* Only clients of the kind SOAK_MEASURED let the engine cache their plans. */
	struct nna_prepare_options options = {
		.size = sizeof(options), .preference = pick(0, 2),
		.engine_cache = kind == SOAK_MEASURED,
	};
	void *constants;

	if (!good("memory of constants", nna_memory_alloc(device, g.used ? g.used : 1, &j->constants,
							  &err)))
		return false;
	constants = nna_memory_map(j->constants, &err);
	if (!constants)
		return good("mapping constants", NN_GENERAL_FAILURE);
	memcpy(constants, g.values, g.used);
	if (kind == SOAK_CACHED)
		return good("preparing by the cache", prepare_cached(j));
	return good("preparing", nna_prepare_model(device, &g.model, &j->constants, &options,
						   &j->prepared, &err));
}

/* ---- memory ---- */

/*
 * Opens a frame. The frame is memory of another driver, or memory of another context if the machine
 * has no such driver.
 */
static bool open_frame(struct job *j)
{
	static struct nna_device *other;
	struct nna_memory *memory;
	uint32_t handle;

	j->frame_size = round_up(j->input_size, 4096);
	if (vgem >= 0) {
		j->frame_fd = vgem_buffer(vgem, j->frame_size, &handle);
		if (j->frame_fd < 0)
			fail("vgem", strerror(errno));
	} else {
		if (!other && !good("another context", nna_device_open(NULL, &other, &err)))
			return false;
		if (!good("a frame", nna_memory_alloc(other, j->frame_size, &memory, &err)))
			return false;
		if (!good("exporting", nna_memory_export(memory, &j->frame_fd, &err)))
			return false;
		nna_memory_free(memory);
	}
	j->frame_map = mmap(NULL, j->frame_size, PROT_READ | PROT_WRITE, MAP_SHARED, j->frame_fd, 0);
	if (j->frame_map == MAP_FAILED)
		fail("mapping a frame", strerror(errno));
	return good("importing a frame", nna_memory_import(device, NNA_SIZED(nna_file,
							   .fd = j->frame_fd, .prot = PROT_READ,
							   .length = j->frame_size), &j->frame,
							   &err));
}

static bool open_memory(struct job *j)
{
	uint64_t at = round_up(j->input_size, ALIGN);

	for (uint32_t i = 0; i < j->num_outputs; i++) {
		j->out[i] = (struct nna_argument){ .offset = at, .length = j->sizes[i] };
		at += round_up(j->sizes[i], ALIGN);
	}
	if (!good("memory", nna_memory_alloc(device, at, &j->memory, &err)))
		return false;
	j->map = nna_memory_map(j->memory, &err);
	if (!j->map)
		return good("mapping", NN_GENERAL_FAILURE);
	memcpy(j->map, j->input, j->input_size);
	j->in = (struct nna_argument){ .length = j->input_size };
	j->memories[0] = j->memory;
	j->request = (struct nna_request){
		.size = sizeof(j->request), .num_inputs = 1, .num_outputs = j->num_outputs,
		.inputs = &j->in, .outputs = j->out, .num_memories = 1, .memories = j->memories,
	};
	if (kind != SOAK_FRAMES)
		return true;
	j->in.pool = 1;
	j->request.num_memories = 2;
	if (!open_frame(j))
		return false;
	j->memories[1] = j->frame;
	return true;
}

static bool open_buffers(struct job *j)
{
	struct nna_role role = { .frequency = 1 };

	for (uint32_t i = 0; i <= j->num_outputs; i++) {
		bool is_input = !i;

		role.index = i ? i - 1 : 0;
		if (!good("a buffer", nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles,
							  .models = &j->prepared, .num_models = 1,
							  .inputs = &role, .num_inputs = is_input,
							  .outputs = &role,
							  .num_outputs = !is_input), &j->buffers[i],
							  &j->tokens[i], &err)))
			return false;
		if (i)
			j->out[i - 1] = (struct nna_argument){ .pool = i };
	}
	j->in = (struct nna_argument){ 0 };
	j->request.num_memories = 0;
	j->request.num_tokens = 1 + j->num_outputs;
	j->request.tokens = j->tokens;
	return true;
}

/* ---- executions ---- */

static enum nn_status await(int fence)
{
	struct pollfd fd = { .fd = fence, .events = POLLIN };
	enum nn_status status;

	if (poll(&fd, 1, -1) != 1)
		fail("a fence", strerror(errno));
	status = nna_fence_get_info(device, fence, NULL, NULL, &err);
	close(fence);
	return status;
}

static enum nn_status execute_uring(struct job *j)
{
	struct nna_output_shape shapes[MAX_OUTPUTS];
	uint32_t count = MAX_OUTPUTS;
	struct io_uring_cqe *cqe;
	struct nna_timing timing;
	int result;

	if (!j->submission) {
		enum nn_status status = nna_submission_create(j->prepared, &j->request, NULL,
							      &j->submission, &err);

		if (status)
			return status;
	}
	if (nna_submission_prepare(j->submission, io_uring_get_sqe(&ring), &err))
		fail("a submission", err.message);
	io_uring_submit(&ring);
	do {
		result = io_uring_wait_cqe(&ring, &cqe);
	} while (result == -EINTR);
	if (result)
		fail("a submission", strerror(-result));
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return nna_submission_result(j->submission, result, NNA_SIZED(nna_results, .shapes = shapes,
				     .num_shapes = &count, .timing = &timing), &err);
}

static enum nn_status execute(struct job *j)
{
	const struct nna_execute_options measured = { .size = sizeof(measured), .measure = true };
	struct nna_timing timing;
	enum nn_status status;
	int fence;

	switch (kind) {
	case SOAK_FENCED:
		status = nna_execute_fenced(j->prepared, &j->request, NULL, NULL, &fence, &err);
		return status ? status : await(fence);
	case SOAK_URING:
		return execute_uring(j);
	case SOAK_BURST:
	case SOAK_SLEEPY_BURST:
		return nna_burst_execute(j->burst, &j->request, NULL, NULL, &err);
	case SOAK_MEASURED:
		return nna_execute(j->prepared, &j->request, &measured, NNA_SIZED(nna_results,
				   .timing = &timing), &err);
	default:
		return nna_execute(j->prepared, &j->request, NULL, NULL, &err);
	}
}

static void sync_frame(struct job *j, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags | DMA_BUF_SYNC_WRITE };

	if (ioctl(j->frame_fd, DMA_BUF_IOCTL_SYNC, &sync))
		fail("a frame's access", strerror(errno));
}

/* Prepares the memory for an execution: writes the input, and overwrites old outputs. */
static bool before(struct job *j)
{
	if (j->frame) {
		sync_frame(j, DMA_BUF_SYNC_START);
		memcpy(j->frame_map, j->input, j->input_size);
		sync_frame(j, DMA_BUF_SYNC_END);
	}
	if (kind == SOAK_BUFFERS)
		return good("writing a buffer", nna_buffer_write(j->buffers[0], j->input,
								 j->input_size, 0, NULL, &err));
	for (uint32_t i = 0; i < j->num_outputs; i++)
		memset(j->map + j->out[i].offset, 0xa5, j->sizes[i]);
	return true;
}

static bool after(struct job *j)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < j->num_outputs; i++) {
		const void *data = j->map + j->out[i].offset;

		if (kind == SOAK_BUFFERS) {
			data = j->map + at;
			if (!good("reading a buffer", nna_buffer_read(j->buffers[1 + i], j->map + at,
								      j->sizes[i], &err)))
				return false;
			at += j->sizes[i];
		}
		compare(j, i, data);
	}
	return true;
}

/*
 * Sometimes sets a timer that kills this process after a random time, which may end during or after
 * the next execution.
 */
static void maybe_die(void)
{
	struct sigevent kill = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_nsec = 1 + pick(0, 3000000) };
	static timer_t timer;
	static bool armed;

	if (armed || !soak->kill_one_in || !chance(soak->kill_one_in))
		return;
	armed = true;
	if (timer_create(CLOCK_MONOTONIC, &kill, &timer) || timer_settime(timer, 0, &when, NULL))
		fail("a timer", strerror(errno));
}

/* ---- a client's life ---- */

static void free_job(struct job *j)
{
	nna_burst_free(j->burst);
	nna_submission_free(j->submission);
	for (uint32_t i = 0; i <= MAX_OUTPUTS; i++)
		if (j->buffers[i])
			nna_buffer_free(j->buffers[i]);
	nna_prepared_model_free(j->prepared);
	nna_memory_free(j->frame);
	if (j->frame_map && j->frame_map != MAP_FAILED)
		munmap(j->frame_map, j->frame_size);
	if (j->frame_fd >= 0)
		close(j->frame_fd);
	nna_memory_free(j->memory);
	nna_memory_free(j->constants);
	for (uint32_t i = 0; i < MAX_OUTPUTS; i++) {
		free(j->right[i]);
		free(j->seen[i]);
	}
	free(j->input);
}

static void make_input(struct job *j)
{
	const int64_t count = RATIOS + 1;

	if (kind == SOAK_EXTENSION) {
		j->input_size = sizeof(count);
		j->input = malloc(j->input_size);
		memcpy(j->input, &count, sizeof(count));
		j->num_outputs = 1;
		j->sizes[0] = RATIOS * sizeof(float);
		return;
	}
	random_start(seed * 7919);
	make_graph();
	if (nn_model_check(&g.model, &err) || nn_ops_check_model(&g.model, NULL, &err))
		fail("the graph", err.message);
	nn_operand_size(&g.operands[g.input], &j->input_size);
	j->input = malloc(j->input_size);
	fill(g.type, j->input, j->input_size, 2);
	j->num_outputs = g.subgraph.num_outputs;
	for (uint32_t i = 0; i < j->num_outputs; i++) {
		nn_operand_size(&g.operands[g.outputs[i]], &j->sizes[i]);
		j->right[i] = calloc(1, j->sizes[i]);
	}
	set_right(j);
}

static bool begin_job(struct job *j)
{
	const struct nna_burst_options sleepy = { .size = sizeof(sleepy), .spin_us = -1 };

	if (kind == SOAK_EXTENSION ? !good("preparing", prepare_golden(&j->prepared)) :
				     !prepare_graph(j))
		return false;
	if (!open_memory(j))
		return false;
	if (kind == SOAK_BURST || kind == SOAK_SLEEPY_BURST)
		return good("a burst", nna_burst_create(j->prepared, kind == SOAK_BURST ? NULL : &sleepy,
							&j->burst, &err));
	return kind != SOAK_BUFFERS || open_buffers(j);
}

static void keep_longest(uint64_t began)
{
	uint64_t took = clock_ns() - began;

	if (took > atomic_load(&me->longest_ns))
		atomic_store(&me->longest_ns, took);
}

/*
 * Prepares one model and executes it many times. Returns false if an allowed failure ended the
 * executions.
 */
static bool do_job(void)
{
	struct job j = { .frame_fd = -1 };
	uint64_t began;
	bool done;

	make_input(&j);
	/* Start a random sequence for the executions that differs from the sequence for graphs. */
	random_start(seed ^ atomic_load(&me->executions));
	began = clock_ns();
	done = begin_job(&j);
	keep_longest(began);
	for (uint32_t n = pick(20, MOST); done && n && !atomic_load(&soak->stop); n--) {
		maybe_die();
		began = clock_ns();
		done = before(&j) && good("an execution", execute(&j)) && after(&j);
		keep_longest(began);
		if (done)
			atomic_fetch_add(&me->executions, 1);
	}
	atomic_fetch_add(&me->models, done);
	free_job(&j);
	return done;
}

/*
 * Called after each close of the device. Checks that this process has no more open files and no
 * more heap than after the second close.
 */
static void check_self(void)
{
	static int lives, fds;
	static size_t heap;
	char text[96];

	if (++lives == 2) {
		fds = count_files();
		heap = mallinfo2().uordblks;
	} else if (lives > 2 && (count_files() > fds || mallinfo2().uordblks > heap + HEAP_SLACK)) {
		snprintf(text, sizeof(text), "%d fds, not %d; %zu bytes of heap, not %zu", count_files(),
			 fds, mallinfo2().uordblks, heap);
		fail("what a life leaves", text);
	}
}

static void become_kind(void)
{
	const struct group *group = getgrnam("nnaccel-ext");
	struct stat node;

	if (kind == SOAK_URING && io_uring_queue_init(4, &ring, 0))
		fail("a ring", strerror(errno));
	if (kind == SOAK_FRAMES)
		vgem = vgem_open();
	if (kind == SOAK_EXTENSION && (!group || stat(NNA_DEVICE_PATH, &node) ||
				       setgroups(2, (gid_t[]){ node.st_gid, group->gr_gid })))
		fail("becoming a member of nnaccel-ext", strerror(errno));
}

void soak_client(struct soak *all, enum soak_kind which, uint64_t first)
{
	uint64_t next = first;

	soak = all;
	kind = which;
	me = &soak->clients[which];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mallopt(M_ARENA_MAX, 1);
	g.values = malloc(VALUES_SIZE);
	if (!g.values)
		_exit(2);
	become_kind();
	while (!atomic_load(&soak->stop)) {
		bool done = good("opening the device", nna_device_open(NULL, &device, &err));

		for (int i = 0; done && i < MODELS && !atomic_load(&soak->stop); i++) {
			seed = kind == SOAK_CACHED ? 1 + next % KEPT : next;
			next++;
			done = do_job();
		}
		nna_device_close(device);
		device = NULL;
		if (done)
			check_self();
		else
			usleep(20000);
	}
	_exit(0);
}
