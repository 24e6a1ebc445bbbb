/* SPDX-License-Identifier: MIT */
/*
 * Measures networks on one and two threads, preparation, memory, and the cost of the API; compares
 * with XNNPACK on the same graph in the same run. Writes lines "figure value unit peer peer_value
 * ratio where"; writes 99th percentiles to standard error.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/option.h"
#include "compute/api.h"
#include "compute/calibrate.h"
#include "compute/clients.h"
#include "compute/schedule.h"
#include "compute/sequence.h"
#include "compute/subject.h"
#include "count/mark.h"
#include "plan/kernels/isa.h"
#include "plan/run/pages.h"

#define WARM_UP 5
#define RUNS 100
#define PREPARES 9
#define LOADED_RUNS 100
#define WORKER_RUNS 9
#define NETS_RUNS 24
#define SPINNING_US 200000
#define WAKING_US 20000

static double now_us(void)
{
	return (double)clock_ns() * 1e-3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(double *times, size_t count, size_t percent)
{
	qsort(times, count, sizeof(*times), by_value);
	return times[count * percent / 100];
}

/* Returns the kind of machine that the environment names, because a program cannot detect a VM. */
static const char *where(void)
{
	const char *given = getenv("NN_BENCH_WHERE");

	return given ? given : "native";
}

static void report(const char *figure, double value, const char *unit, const char *peer,
		   double peer_value)
{
	printf("%s\t%.3f\t%s\t", figure, value, unit);
	if (peer)
		printf("%s\t%.3f\t%.3f", peer, peer_value, value / peer_value);
	else
		printf("none\t\t");
	printf("\t%s\n", where());
	fflush(stdout);
}

static double time_run(const struct subject *s)
{
	double start = now_us();

	s->run(s->state);
	return now_us() - start;
}

/* Runs the subject repeatedly, at least WARM_UP times and for at least the given time. */
static void warm_up(const struct subject *s, double us)
{
	double start = now_us();

	for (size_t i = 0; i < WARM_UP || now_us() - start < us; i++)
		time_run(s);
}

static void time_runs(const struct subject *s, double *times, size_t count)
{
	for (size_t i = 0; i < count; i++)
		times[i] = time_run(s);
}

/*
 * Runs subject and peer in turn, so that other work on the machine disturbs the subject as much as
 * the peer. With several threads subject and peer alternate less often, because the peer's threads
 * spin long after the peer's last run. After the peer's runs the function waits until the peer's
 * threads sleep. Before each turn, warm-up runs end the idle states of the CPUs.
 */
static void compare_runs(const char *figure, struct subject ours, struct subject peer,
			 uint32_t threads, size_t runs, size_t percent)
{
	static double times[RUNS], peer_times[RUNS];
	size_t turn = threads > 1 ? runs / 4 : 1;

	warm_up(&ours, 0);
	for (size_t i = 0; i < runs; i += turn) {
		if (threads > 1)
			warm_up(&ours, WAKING_US);
		time_runs(&ours, times + i, turn);
		if (!peer.state)
			continue;
		if (threads > 1)
			warm_up(&peer, WAKING_US);
		time_runs(&peer, peer_times + i, turn);
		if (threads > 1)
			usleep(SPINNING_US);
	}
	report(figure, percentile(times, runs, percent), "us",
	       peer.state ? subject_peer() : NULL, percentile(peer_times, runs, percent));
	fprintf(stderr, "%s: p99 %.0f us, peer %.0f us\n", figure, percentile(times, runs, 99),
		percentile(peer_times, runs, 99));
	ours.free(ours.state);
	if (peer.state)
		peer.free(peer.state);
}

static void compare(const char *figure, struct subject ours, struct subject peer,
		    uint32_t threads)
{
	compare_runs(figure, ours, peer, threads, RUNS, 50);
}

/* If the peer's spinning threads shared a CPU, the threads would delay each other. */
static bool has_two_cpus(void)
{
	cpu_set_t cpus;

	return !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) > 1;
}

static void compare_net(const char *figure, net_fn *make, enum net_type type, uint32_t threads)
{
	static struct net net;

	make(&net, type, 0);
	compare(figure, subject_plan(&net, threads), subject_xnnpack(&net, threads), threads);
	net_free(&net);
}

/*
 * Compares nnaccel in float16 with XNNPACK in float32, because XNNPACK has no float16 kernels for
 * this CPU.
 */
static void compare_fp16(void)
{
	static struct net net;

	net_mobilenet_v1(&net, NET_F32, 0);
	compare("mnv1_f16_1t", subject_plan_fp16(&net, 1), subject_xnnpack(&net, 1), 1);
	net_free(&net);
}

typedef struct subject subject_fn(const struct net *net, uint32_t threads);

/* Returns the time to prepare a network and, if `runs` is true, to run the network once. */
static double time_making(const struct net *net, subject_fn *make, uint32_t threads, bool runs)
{
	double start = now_us(), time;
	struct subject s = make(net, threads);

	if (s.state && runs)
		s.run(s.state);
	time = now_us() - start;
	if (s.state)
		s.free(s.state);
	return time;
}

static void compare_prepare(const char *figure, net_fn *make, enum net_type type)
{
	double times[PREPARES], peer_times[PREPARES];
	static struct net net;

	make(&net, type, 0);
	time_making(&net, subject_plan, 1, false);
	for (size_t i = 0; i < PREPARES; i++) {
		times[i] = time_making(&net, subject_plan, 1, false);
		peer_times[i] = time_making(&net, subject_xnnpack, 1, false);
	}
	report(figure, percentile(times, PREPARES, 50), "us",
	       subject_peer(), percentile(peer_times, PREPARES, 50));
	net_free(&net);
}

/*
 * Calls `measure` in a child process, and returns what `measure` returns. The calling process must
 * have only one thread.
 */
static double in_child(double (*measure)(const void *arg), const void *arg)
{
	double result = 0;
	int fds[2];
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		result = measure(arg);
		_exit(write(fds[1], &result, sizeof(result)) != sizeof(result));
	}
	/* Close this process's write end of the pipe, so that the child's death ends the read. */
	close(fds[1]);
	if (read(fds[0], &result, sizeof(result)) != sizeof(result))
		exit(1);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	return result;
}

static double rss_of(const void *arg)
{
	subject_fn *const *make = arg;
	static struct net net;
	struct subject s;
	long before;

	net_mobilenet_v2(&net, NET_F32, 0);
	before = peak_rss_kib();
	s = (*make)(&net, 1);
	for (int i = 0; s.state && i < 3; i++)
		s.run(s.state);
	return (double)(peak_rss_kib() - before);
}

/*
 * Measures the peak resident memory for preparing and running a network, without the memory of the
 * network's description.
 */
static double measure_rss(subject_fn *make)
{
	return in_child(rss_of, &make);
}

/* A network, and the function that makes a subject of the network. */
struct first {
	const struct net *net;
	subject_fn *make;
};

static double first_of(const void *arg)
{
	const struct first *f = arg;

	return time_making(f->net, f->make, has_two_cpus() ? 2 : 1, true);
}

/* Measures preparation and first run of a network in a process that was just started. */
static void compare_first(const char *figure, enum net_type type, subject_fn *make)
{
	double times[PREPARES], peer_times[PREPARES];
	static struct net net;

	net_mobilenet_v2(&net, type, 0);
	/* The first process saves the plan to the compilation cache. */
	in_child(first_of, &(struct first){ &net, make });
	for (size_t i = 0; i < PREPARES; i++) {
		times[i] = in_child(first_of, &(struct first){ &net, make });
		peer_times[i] = in_child(first_of, &(struct first){ &net, subject_xnnpack });
	}
	report(figure, percentile(times, PREPARES, 50), "us",
	       subject_peer(), percentile(peer_times, PREPARES, 50));
	net_free(&net);
}

/* Returns the time of a run of a prepared network, after warm-up runs. */
static double run_of(const void *arg)
{
	struct subject s = subject_plan(arg, has_two_cpus() ? 2 : 1);
	double times[PREPARES];

	warm_up(&s, 0);
	time_runs(&s, times, PREPARES);
	return percentile(times, PREPARES, 50);
}

static size_t weights_bytes(const struct net *net, uint32_t layer)
{
	return net->layers[layer].weights ? layer_weights(net, layer) * net_element(net) : 0;
}

/* Returns the time in which one thread copies all weights to new memory. */
static double copy_of(const void *arg)
{
	const struct net *net = arg;
	size_t size = 0;
	double start;
	char *to;

	for (uint32_t i = 0; i < net->num_layers; i++)
		size += weights_bytes(net, i);
	start = now_us();
	to = pages_alloc(size);
	for (uint32_t i = 0; to && i < net->num_layers; i++) {
		if (weights_bytes(net, i))
			memcpy(to, net->layers[i].weights, weights_bytes(net, i));
		to += weights_bytes(net, i);
	}
	return now_us() - start;
}

/*
 * Prints the lower bound of the time to a network's first result: one run and a copy of the
 * weights.
 */
static void compare_least(const char *run, const char *copy, enum net_type type)
{
	double runs[PREPARES], copies[PREPARES], peer_times[PREPARES];
	static struct net net;
	double peer;

	net_mobilenet_v2(&net, type, 0);
	for (size_t i = 0; i < PREPARES; i++) {
		runs[i] = in_child(run_of, &net);
		copies[i] = in_child(copy_of, &net);
		peer_times[i] = in_child(first_of, &(struct first){ &net, subject_xnnpack });
	}
	peer = percentile(peer_times, PREPARES, 50);
	report(run, percentile(runs, PREPARES, 50), "us", subject_peer(), peer);
	report(copy, percentile(copies, PREPARES, 50), "us", subject_peer(), peer);
	net_free(&net);
}

static pid_t spin_on(int cpu)
{
	pid_t pid = fork();
	cpu_set_t cpus;

	if (pid)
		return pid;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;)
		;
}

static double p90(struct subject *s)
{
	static double times[LOADED_RUNS];

	for (size_t i = 0; i < LOADED_RUNS; i++)
		times[i] = time_run(s);
	return percentile(times, LOADED_RUNS, 90);
}

/*
 * Counts to a number without waiting; the time shows how much CPU time the scheduler gives to a
 * thread.
 */
static void count_to(void *state)
{
	volatile const uint64_t *end = state;

	for (volatile uint64_t i = 0; i < *end; i++)
		;
}

/* Returns the number to which count_to() counts in `us` microseconds. */
static uint64_t count_for(double us)
{
	uint64_t end = 10 * 1000 * 1000;
	struct subject counting = { .state = &end, .run = count_to };

	return (uint64_t)((double)end * us / time_run(&counting));
}

/* Compares networks on two threads while each CPU also runs a second process. */
static void compare_loaded(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct subject s, counting = { .run = count_to };
	double unloaded, loaded, least;
	static struct net net;
	pid_t pids[64];
	uint64_t end;

	net_mobilenet_v1(&net, NET_QC8, 0);
	s = subject_plan(&net, 2);
	unloaded = p90(&s);
	end = count_for(unloaded);
	counting.state = &end;
	for (int i = 0; i < cpus && i < 64; i++)
		pids[i] = spin_on(i);
	loaded = p90(&s);
	least = p90(&counting);
	for (int i = 0; i < cpus && i < 64; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	report("mnv1_qc8_2t_loaded_p90", loaded, "us", "unloaded", unloaded);
	report("mnv1_qc8_2t_loaded_p90", loaded, "us", "counting", least);
	s.free(s.state);
	net_free(&net);
}

/*
 * Compares a plan in a worker with the same plan in this process, both on one thread. The function
 * compares the shortest times, because an emulated machine is slowed down at random.
 */
static int compare_worker(void)
{
	double times[WORKER_RUNS], peer_times[WORKER_RUNS];
	static struct net net;
	struct subject s, peer;

	net_mobilenet_v1(&net, NET_QC8, 0);
	s = subject_worker(&net);
	peer = subject_plan(&net, 1);
	for (int i = -1; i < WORKER_RUNS; i++) {
		double time = time_run(&s), peer_time = time_run(&peer);

		times[i < 0 ? 0 : i] = time;
		peer_times[i < 0 ? 0 : i] = peer_time;
	}
	report("mnv1_qc8_worker", percentile(times, WORKER_RUNS, 0), "us", "plan",
	       percentile(peer_times, WORKER_RUNS, 0));
	s.free(s.state);
	peer.free(peer.state);
	return 0;
}

static const struct {
	const char *name;
	net_fn *make;
	enum net_type type;
} nets[] = {
	{ "mnv1_f32", net_mobilenet_v1, NET_F32 },
	{ "mnv1_qc8", net_mobilenet_v1, NET_QC8 },
	{ "mnv1_qu8", net_mobilenet_v1, NET_QU8 },
	{ "mnv2_f32", net_mobilenet_v2, NET_F32 },
	{ "mnv2_qc8", net_mobilenet_v2, NET_QC8 },
	{ "mnv2_qu8", net_mobilenet_v2, NET_QU8 },
};

/* Common image and sequence networks, whose shortest run times `compute --nets` measures. */
static const struct {
	const char *name;
	net_fn *make;
	sequence_fn *sequence;
} known_nets[] = {
	{ "mobilenet_v1", .make = net_mobilenet_v1 },
	{ "mobilenet_v2", .make = net_mobilenet_v2 },
	{ "efficientnet_lite0", .make = net_efficientnet_lite0 },
	{ "resnet50", .make = net_resnet50 },
	{ "ssd_mobilenet_v2", .make = net_ssd_mobilenet_v2 },
	{ "deeplab_v3", .make = net_deeplab_v3 },
	{ "kws_svdf", .sequence = sequence_kws_svdf },
	{ "kws_lstm", .sequence = sequence_kws_lstm },
	{ "encoder", .sequence = sequence_encoder },
};

/* Returns the name of the figure `what` of the network with index `net`. */
static const char *figure_of(size_t net, const char *what)
{
	static char figure[64];

	snprintf(figure, sizeof(figure), "%s_%s", nets[net].name, what);
	return figure;
}

/*
 * Compares the runs of all networks on one thread or, if `prepare` is true, the preparations of all
 * networks.
 */
static void compare_nets(const char *what, bool prepare)
{
	for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
		if (prepare)
			compare_prepare(figure_of(i, what), nets[i].make, nets[i].type);
		else
			compare_net(figure_of(i, what), nets[i].make, nets[i].type, 1);
	}
}

/* Compares nnaccel and XNNPACK when both use only the instructions of an older CPU. */
static int compare_level(const char *level)
{
	static const struct {
		const char *level;
		const char *kernels;
	} ours[] = {
		{ "avx512", "avx512" }, { "avx-vnni", "avx-vnni" }, { "avx2", "avx2" },
		{ "sse4", "sse4" }, { "sse2", "plain" },
	};
	char what[32];

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(ours[i].level, level))
			continue;
		if (strcmp(ours[i].kernels, "plain") && !nn_isa_find(ours[i].kernels)) {
			fprintf(stderr, "%s: this CPU lacks these instructions\n", level);
			return 0;
		}
		if (!subject_limit_peer(level)) {
			fprintf(stderr, "XNNPACK cannot be limited: built without "
				"libcpuinfo-dev, or for another architecture\n");
			return 1;
		}
		setenv("NN_BENCH_KERNELS", ours[i].kernels, 1);
		snprintf(what, sizeof(what), "1t_%s", level);
		compare_nets(what, false);
		return 0;
	}
	fprintf(stderr, "levels are avx512 (without VNNI), avx-vnni, avx2, sse4 and sse2\n");
	return 2;
}

/*
 * Runs a network once to warm up and once between two marks, for counting instructions. The
 * argument `who` is "ours" (nnaccel), "fp16" (nnaccel in float16) or "peer".
 */
static int run_marked(const char *name, const char *who)
{
	static struct net net;
	size_t i = 0;
	struct subject s;

	while (i < sizeof(nets) / sizeof(nets[0]) && strcmp(nets[i].name, name))
		i++;
	if (i == sizeof(nets) / sizeof(nets[0])) {
		fprintf(stderr, "no network %s: there are mnv1 and mnv2, of f32, qc8 and qu8\n", name);
		return 2;
	}
	nets[i].make(&net, nets[i].type, 0);
	s = !strcmp(who, "ours") ? subject_plan(&net, 1) :
	    !strcmp(who, "fp16") ? subject_plan_fp16(&net, 1) :
	    !strcmp(who, "peer") ? subject_xnnpack(&net, 1) : (struct subject){ 0 };
	if (!s.state) {
		fprintf(stderr, "no %s here: there are ours, fp16 and, with XNNPACK, peer\n", who);
		return 2;
	}
	s.run(s.state);
	mark_count();
	s.run(s.state);
	mark_count();
	s.free(s.state);
	net_free(&net);
	return 0;
}

static void compare_known(size_t index, enum net_type type, uint32_t threads)
{
	static struct net net;
	char figure[64];

	snprintf(figure, sizeof(figure), "%s_%s_%ut", known_nets[index].name,
		 type == NET_F32 ? "f32" : "qc8", threads);
	if (known_nets[index].sequence) {
		compare_runs(figure, subject_sequence(known_nets[index].sequence, type, threads),
			     subject_sequence_xnnpack(known_nets[index].sequence, type, threads),
			     threads, NETS_RUNS, 0);
		return;
	}
	known_nets[index].make(&net, type, 0);
	compare_runs(figure, subject_plan(&net, threads), subject_xnnpack(&net, threads), threads,
		     NETS_RUNS, 0);
	net_free(&net);
}

/*
 * Compares all known networks or, if `count` is not 0, the networks whose names begin with a word
 * of `names`.
 */
static int compare_all_known(int count, char **names)
{
	bool found = !count;

	for (size_t i = 0; i < sizeof(known_nets) / sizeof(known_nets[0]); i++) {
		bool wanted = !count;

		for (int k = 0; k < count; k++)
			wanted |= !strncmp(known_nets[i].name, names[k], strlen(names[k]));
		found |= wanted;
		for (uint32_t threads = 1; wanted && threads <= 1 + (uint32_t)has_two_cpus();
		     threads++) {
			compare_known(i, NET_F32, threads);
			compare_known(i, NET_QC8, threads);
		}
	}
	if (!found)
		fprintf(stderr, "no network's name begins with a given NAME\n");
	return found ? 0 : 2;
}

static int compare_firsts(void)
{
	if (!subject_nnapi_cache())
		return 1;
	compare_first("mnv2_f32_first", NET_F32, subject_nnapi);
	compare_first("mnv2_qc8_first", NET_QC8, subject_nnapi);
	compare_first("mnv2_f32_cached_first", NET_F32, subject_nnapi_cached);
	compare_first("mnv2_qc8_cached_first", NET_QC8, subject_nnapi_cached);
	compare_least("mnv2_f32_first_run", "mnv2_f32_first_copy", NET_F32);
	compare_least("mnv2_qc8_first_run", "mnv2_qc8_first_copy", NET_QC8);
	return 0;
}

static const char usage[] =
	" [--vm | --first | --calibrate | --schedule | --clients | --nets [NAME]... | --isa LEVEL |\n"
	"	--marked NETWORK WHO]\n"
	"Measures networks beside XNNPACK: the time of a run and of preparing, the memory, and the API.\n"
	"  --vm                  a network in a worker beside the same in this process; needs a device\n"
	"  --first               the time until the first result\n"
	"  --calibrate           only prints the library's settings for this CPU\n"
	"  --schedule            estimates the speed with more threads than this machine has\n"
	"  --clients             several processes that run a network at the same time\n"
	"  --nets [NAME]...      networks in use, or those whose names begin with NAME\n"
	"  --isa LEVEL           networks with older instructions: avx512, avx-vnni, avx2, sse4 or sse2\n"
	"  --marked NETWORK WHO  one run of ours, fp16 or peer, for scripts/count-arm64";

int main(int argc, char **argv)
{
	double rss, peer_rss;

	if (argc == 2 && !strcmp(argv[1], "--vm"))
		return compare_worker();
	if (argc == 2 && !strcmp(argv[1], "--first"))
		return compare_firsts();
	if (argc == 2 && !strcmp(argv[1], "--calibrate")) {
		bench_calibrate(stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--schedule")) {
		if (bench_schedule())
			return 0;
		fprintf(stderr, "no schedule: it needs two CPUs, and a kernel for each step\n");
		return 1;
	}
	if (argc == 2 && !strcmp(argv[1], "--clients"))
		return !bench_clients(has_two_cpus() ? 2 : 1, where());
	if (argc >= 2 && !strcmp(argv[1], "--nets"))
		return compare_all_known(argc - 2, argv + 2);
	if (argc == 3 && !strcmp(argv[1], "--isa"))
		return compare_level(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--marked"))
		return run_marked(argv[2], argv[3]);
	if (argc != 1)
		return option_usage("compute", usage, argc, argv);
	/* Call bench_clients() before this process has threads, because bench_clients() forks. */
	if (!bench_clients(has_two_cpus() ? 2 : 1, where()))
		fprintf(stderr, "clients: no memory\n");
	rss = measure_rss(subject_plan);
	peer_rss = measure_rss(subject_xnnpack);
	if (!subject_peer())
		fprintf(stderr, "built without libxnnpack-dev: XNNPACK is not measured\n");
	report("mnv2_f32_rss", rss, "KiB", subject_peer(), peer_rss);
	compare_firsts();
	compare_nets("1t", false);
	if (has_two_cpus()) {
		compare_net("mnv1_f32_2t", net_mobilenet_v1, NET_F32, 2);
		compare_net("mnv2_f32_2t", net_mobilenet_v2, NET_F32, 2);
	}
	compare_fp16();
	compare("lstm_f32_1t", subject_lstm(), subject_lstm_xnnpack(), 1);
	compare("transformer_f32_1t", subject_transformer(), subject_transformer_xnnpack(), 1);
	compare_nets("prepare", true);
	report("empty_model_api", api_empty_model_ns(), "ns", NULL, 0);
	compare_loaded();
	return 0;
}
