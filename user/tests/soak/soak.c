/* SPDX-License-Identifier: MIT */
/*
 * Puts the device under load for a long time; the load is divided into rounds. Ten clients of
 * different kinds compare their outputs with the reference kernels. All clients of a round end
 * before the next round begins. The resources of the module, the kernel and the engine must not
 * grow from round to round. See --help. This test needs root, in a VM (make soak).
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "summary.h"
#include "tests/soak/soak.h"

#define MOST_ROUNDS	4096
/*
 * Minimum number of rounds for a check of growing resources, because caches fill in the first
 * rounds.
 */
#define LEAST_ROUNDS	6
/* Number of 10 ms periods without progress after which a client that must end counts as stuck. */
#define PATIENCE	12000
/*
 * A client is stuck if it has executed nothing while the other clients have prepared OTHERS_MODELS
 * models.
 */
#define OTHERS_MODELS	100
/*
 * Maximum time for which a call waits for a worker. The limit is high, because workers start slowly
 * on a busy machine.
 */
#define WORKER_WAIT_MS	600000

static const char help[] =
"usage: soak [OPTION]...\n"
"Ten clients of different kinds execute random models on /dev/nnaccel, and compare the answers\n"
"with the reference. Resources in use must not grow from round to round. Prints TAP.\n\n"
"  --minutes=N        duration in minutes (default 2)\n"
"  --clients=N        clients at a time, 1 to 10 (default 10); each round has others if fewer\n"
"  --round=SECONDS    load between two rests, until each client did some work (default 15)\n"
"  --seed=N           seed of models and kills (default 1)\n"
"  --kill-one-in=N    one execution in N kills its client; 0: none (default 1000)\n"
"  --disturb=MS       interval of kills of a worker, the keeper or the broker; 0: no kills\n"
"                     (default 0); calls may fail then, answers may not be wrong\n"
"  --kills=N          kill keepers, workers, clients and brokers until N of each have died;\n"
"                     0: any number (default 0); --minutes is the time limit then\n"
"  --calls-may-fail   accept failed calls, because something else disturbs the engine\n"
"  --restart=COMMAND  command that starts the engine again after the broker was killed\n"
"  --check=COMMAND    command that runs between two rounds, and must succeed\n"
"  --folder=FOLDER    folder of cache files (default /tmp)\n"
"  --samples=FILE     file that gets a line of samples each second, for plots\n"
"  -h, --help         show this help\n\n"
"Exit status: 1: something failed; 2: wrong usage.\n";

static struct {
	double minutes;
	unsigned int clients, round, kill_one_in, disturb, kills;
	bool calls_may_fail;
	uint64_t seed;
	const char *restart, *folder, *samples, *check;
} options = { 2, SOAK_KINDS, 15, 1000, 0, 0, false, 1, NULL, "/tmp", NULL, NULL };

static struct soak *soak;
static pid_t pids[SOAK_KINDS];
static unsigned int deaths[SOAK_KINDS], failed;
static bool had_turn[SOAK_KINDS];

static struct soak_sample rests[MOST_ROUNDS];
static FILE *samples;
static uint64_t began, next_seed;

static void result(bool passed, const char *name)
{
	printf("%sok - soak: %s\n", passed ? "" : "not ", name);
	failed += !passed;
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "clients", required_argument, NULL, 'i' },
		{ "minutes", required_argument, NULL, 'm' }, { "round", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "kill-one-in", required_argument, NULL, 'k' },
		{ "disturb", required_argument, NULL, 'd' },
		{ "kills", required_argument, NULL, 'n' },
		{ "calls-may-fail", no_argument, NULL, 'e' },
		{ "restart", required_argument, NULL, 'c' },
		{ "check", required_argument, NULL, 'w' },
		{ "folder", required_argument, NULL, 'f' },
		{ "samples", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
		switch (option) {
		case 'i': options.clients = (unsigned int)atoi(optarg); break;
		case 'm': options.minutes = atof(optarg); break;
		case 'r': options.round = (unsigned int)atoi(optarg); break;
		case 's': options.seed = strtoull(optarg, NULL, 0); break;
		case 'k': options.kill_one_in = (unsigned int)atoi(optarg); break;
		case 'd': options.disturb = (unsigned int)atoi(optarg); break;
		case 'n': options.kills = (unsigned int)atoi(optarg); break;
		case 'e': options.calls_may_fail = true; break;
		case 'c': options.restart = optarg; break;
		case 'w': options.check = optarg; break;
		case 'f': options.folder = optarg; break;
		case 'o': options.samples = optarg; break;
		case 'h': fputs(help, stdout); exit(0);
		default: exit(2);
		}
	}
	if (optind < argc || options.minutes <= 0 || !options.round || !options.clients ||
	    options.clients > SOAK_KINDS) {
		fprintf(stderr, "soak: %s; see soak --help\n", optind < argc ?
			argv[optind] : "--minutes and --round are above 0, --clients is 1 to 10");
		exit(2);
	}
}

static unsigned long long executions(void)
{
	unsigned long long sum = 0;

	for (int i = 0; i < SOAK_KINDS; i++)
		sum += atomic_load(&soak->clients[i].executions);
	return sum;
}

static unsigned int models(void)
{
	unsigned int sum = 0;

	for (int i = 0; i < SOAK_KINDS; i++)
		sum += atomic_load(&soak->clients[i].models);
	return sum;
}

static unsigned long long work_of(int kind)
{
	return atomic_load(&soak->clients[kind].executions) +
	       (soak->disturbed ? atomic_load(&soak->clients[kind].refused) : 0);
}

static void start(enum soak_kind kind)
{
	uint64_t seed = next_seed += 1000;

	had_turn[kind] = true;
	fflush(NULL);
	pids[kind] = fork();
	if (!pids[kind])
		soak_client(soak, kind, seed);
	if (pids[kind] < 0) {
		perror("fork");
		exit(1);
	}
}

/* Reports a failed client immediately; at its end the test reports the reason again. */
static void blame(int kind, const char *what)
{
	struct soak_client *c = &soak->clients[kind];

	if (!c->message[0])
		snprintf(c->message, sizeof(c->message), "%s; the last refusal: %s", what,
			 c->refusal[0] ? c->refusal : "none");
	printf("# client %s: %s\n", soak_kinds[kind], c->message);
	failed++;
}

/* Handles clients that have ended, and restarts clients that were killed. */
static void look_after_clients(void)
{
	char text[64];
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!kills_ended(pid, status, executions()))
			result(false, "the engine starts again");
		for (int i = 0; i < SOAK_KINDS; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
				deaths[i]++;
			} else if (status) {
				snprintf(text, sizeof(text), "it ended with status %#x", status);
				blame(i, text);
			}
			if (!atomic_load(&soak->stop) && !soak->clients[i].message[0])
				start(i);
		}
	}
}

static void write_sample(bool is_rest)
{
	struct soak_sample now;

	if (!samples)
		return;
	soak_sample(&now);
	fprintf(samples, "%.2f\t%d\t%llu", (double)(clock_ns() - began) / NS_PER_S, is_rest,
		executions());
	for (int i = 0; i < SOAK_VALUES; i++)
		fprintf(samples, "\t%lld", now.values[i]);
	fputc('\n', samples);
	fflush(samples);
}

/*
 * Returns a running client that has done no work since `before` was measured; -1 if each client has
 * done work.
 */
static int find_idle(const unsigned long long before[SOAK_KINDS])
{
	for (int i = 0; i < SOAK_KINDS; i++)
		if (pids[i] > 0 && work_of(i) == before[i])
			return i;
	return -1;
}

/*
 * Runs the clients of a round for the round's time, and until each client has done some work. If a
 * client fails, the round ends early.
 */
static void load(unsigned int round)
{
	uint64_t end = clock_ns() + options.round * NS_PER_S, sample = 0;
	unsigned int models_before = models();
	unsigned long long before[SOAK_KINDS];
	int idle;

	for (int i = 0; i < SOAK_KINDS; i++)
		before[i] = work_of(i);
	for (unsigned int i = 0; i < options.clients; i++)
		start((round * options.clients + i) % SOAK_KINDS);
	while (!failed && !kills_done()) {
		if (clock_ns() >= end) {
			idle = find_idle(before);
			if (idle < 0)
				break;
			if (models() >= models_before + OTHERS_MODELS)
				blame(idle, "it did nothing while the others had many models");
		}
		usleep(10000);
		look_after_clients();
		if (clock_ns() > sample) {
			sample = clock_ns() + NS_PER_S;
			write_sample(false);
		}
		if (!kills_step(pids, executions()))
			result(false, "an engine that started again serves");
	}
}

/*
 * Ends the clients of a round after their current work, and samples the resources. Returns false if
 * a client does not end or a check fails; then *why names the failed check.
 */
static bool rest(const struct summary *before, struct soak_sample *sample, const char **why)
{
	unsigned long long work = 0, last;
	bool any = true;

	atomic_store(&soak->stop, true);
	for (int tries = 0; any && tries < PATIENCE; tries++) {
		usleep(10000);
		look_after_clients();
		any = kills_starting();
		last = work;
		work = 0;
		/* A client makes progress if it does some work, or ends. */
		for (int i = 0; i < SOAK_KINDS; i++) {
			any |= pids[i] > 0;
			work += work_of(i) + (pids[i] <= 0);
		}
		if (work != last)
			tries = 0;
	}
	*why = "each client came back";
	for (int i = 0; any && i < SOAK_KINDS; i++) {
		if (pids[i] <= 0)
			continue;
		blame(i, "it does not end");
		kill(pids[i], SIGKILL);
	}
	if (any)
		return false;
	atomic_store(&soak->stop, false);
	*why = "the module's counters are those of before the round";
	if (!summary_settles(before))
		return false;
	/* The workers of ended clients and the keeper end some time after the clients. */
	usleep(1500000);
	*why = "the compilation cache is whole";
	fflush(NULL);
	if (options.check && system(options.check))
		return false;
	soak_sample(sample);
	write_sample(true);
	return true;
}

static int compare(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

static long long middle(int value, unsigned int from, unsigned int to)
{
	long long sorted[MOST_ROUNDS];
	unsigned int count = 0;

	for (unsigned int i = from; i < to; i++)
		sorted[count++] = rests[i].values[value];
	qsort(sorted, count, sizeof(*sorted), compare);
	return sorted[count / 2];
}

/* Compares the medians of each resource in the second third and in the last third of the rounds. */
static void judge(unsigned int rounds)
{
	char text[160];

	if (rounds < LEAST_ROUNDS) {
		printf("# %u rounds: %d are the least that growth is judged by\n", rounds, LEAST_ROUNDS);
		return;
	}
	for (int i = 0; i < SOAK_VALUES; i++) {
		const struct soak_value *v = &soak_values[i];
		long long old = middle(i, rounds / 3, rounds * 2 / 3);
		long long now = middle(i, rounds * 2 / 3, rounds);
		bool grew = now > old + old * v->percent / 100 && now > old + v->slack;

		/*
		 * Resources of the keeper or broker are not compared if these processes were
		 * restarted, because a new process begins with little memory.
		 */
		if (soak->disturbed && (strstr(v->name, "keeper") || strstr(v->name, "broker")))
			continue;
		snprintf(text, sizeof(text), "%s does not grow: %lld, then %lld", v->name, old, now);
		result(!grew, text);
	}
}

static void tell(unsigned int rounds)
{
	double seconds = (double)(clock_ns() - began) / NS_PER_S;

	printf("# %-14s %12s %8s %8s %8s %8s %10s\n", "client", "executions", "models", "killed",
	       "refused", "cached", "longest ms");
	for (int i = 0; i < SOAK_KINDS; i++)
		printf("# %-14s %12llu %8u %8u %8u %8u %10llu\n", soak_kinds[i],
		       (unsigned long long)atomic_load(&soak->clients[i].executions),
		       atomic_load(&soak->clients[i].models), deaths[i],
		       atomic_load(&soak->clients[i].refused), atomic_load(&soak->clients[i].cached),
		       atomic_load(&soak->clients[i].longest_ns) / 1000000);
	printf("# %llu executions in %.0f s and %u rounds\n", executions(), seconds, rounds);
	kills_tell();
}

static void open_samples(void)
{
	if (!options.samples)
		return;
	samples = fopen(options.samples, "we");
	if (!samples) {
		fprintf(stderr, "soak: %s: %s\n", options.samples, strerror(errno));
		exit(1);
	}
	fprintf(samples, "seconds\trest\texecutions");
	for (int i = 0; i < SOAK_VALUES; i++)
		fprintf(samples, "\t%s", soak_values[i].name);
	fputc('\n', samples);
}

int main(int argc, char **argv)
{
	const char *why = "";
	struct summary before;
	unsigned int rounds = 0;
	bool rested = true;

	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	soak = mmap(NULL, sizeof(*soak), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (soak == MAP_FAILED || !summary_read(&before)) {
		fputs("soak: no module, or not root: its counters are not to be read\n", stderr);
		return 1;
	}
	open_samples();
	soak->kill_one_in = options.kill_one_in;
	soak->disturbed = options.disturb || options.calls_may_fail;
	param_set("engine_wait_ms", WORKER_WAIT_MS);
	snprintf(soak->folder, sizeof(soak->folder), "%s/soak-XXXXXX", options.folder);
	if (!mkdtemp(soak->folder)) {
		fprintf(stderr, "soak: %s: %s\n", soak->folder, strerror(errno));
		return 1;
	}
	srand((unsigned int)options.seed);
	kills_begin(&(struct kills_options){ options.disturb, options.kills, options.restart });
	next_seed = options.seed;
	began = clock_ns();
	while (rested && !failed && rounds < MOST_ROUNDS && !kills_done() &&
	       (double)(clock_ns() - began) < options.minutes * 60 * NS_PER_S) {
		load(rounds);
		rested = rest(&before, &rests[rounds], &why);
		rounds += rested;
	}
	tell(rounds);
	for (int i = 0; i < SOAK_KINDS; i++) {
		char name[sizeof(soak->clients[i].message) + 64];

		snprintf(name, sizeof(name), "answers of the client %s%s%s", soak_kinds[i],
			 soak->clients[i].message[0] ? ": " : "", soak->clients[i].message);
		/*
		 * A client passes if it has no error message, and if the clients have executed
		 * models (unless the test has failed).
		 */
		if (had_turn[i])
			result(!soak->clients[i].message[0] && (failed || executions()), name);
	}
	if (options.kills)
		result(kills_done(), "keeper, worker, client and broker died so often");
	result(rested, rested ? "all clients ended, and the module's counters with them" : why);
	if (rested && !failed)
		judge(rounds);
	return failed ? 1 : 0;
}
