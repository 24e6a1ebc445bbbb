/* SPDX-License-Identifier: MIT */
/*
 * Kills processes of the engine and clients while the soak's clients work. The soak kills keepers,
 * workers and clients even while a broker starts, and kills half of the brokers during the broker's
 * own start.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/soak/soak.h"

/* Number of executions that all clients together must do before a running broker is killed. */
#define SERVED		10
/* Maximum difference between the kill counts of two kinds of processes. */
#define AHEAD		3
/* Time without an execution after which the engine counts as failed. */
#define NEVER_NS	(120 * NS_PER_S)

/*
 * The kinds of processes that the soak kills. The soak finds clients by process id, because clients
 * have no process name.
 */
enum { KEEPER, WORKER, CLIENT, BROKER, PARTS };
static const struct {
	const char *title, *name;
} parts[PARTS] = {
	{ "keeper", "nnacceld-keeper" }, { "worker", "nnacceld-worker" }, { "client", NULL },
	{ "broker", "nnacceld" },
};

static struct kills_options options;
static unsigned int kills[PARTS], early_kills, gave_up;
static uint64_t next_kill;		/* time of the next kill of a keeper, worker or client */
/* Number of executions at the time of the last kill, if options.wanted is 0. */
static unsigned long long had_executed;

/* The engine. */
static pid_t command;			/* the running command that starts the broker */
static bool down;			/* true: the broker was killed since `command` began */
static bool hurt;			/* true: another process was killed since `command` began */
static bool early;			/* true: kill the starting broker at early_at */
static uint64_t early_at;		/* time at which to kill the starting broker */
static uint64_t began_at, ready_at;
static uint64_t start_ns = NS_PER_S;	/* time that the last start of the engine took */
static unsigned long long served_before;

void kills_begin(const struct kills_options *o)
{
	options = *o;
	ready_at = clock_ns();
}

static uint64_t random_ns(uint64_t most)
{
	return (uint64_t)rand() * 7919 % (most + 1);
}

/* Returns a random time of 0.5 to 1.5 times the configured spacing. */
static uint64_t spacing_ns(void)
{
	uint64_t spacing = options.spacing_ms * (NS_PER_S / 1000);

	return spacing / 2 + random_ns(spacing);
}

static void start_engine(void)
{
	down = hurt = false;
	began_at = clock_ns();
	early = options.wanted && rand() % 2;
	early_at = began_at + random_ns(start_ns);
	if (!options.restart)
		return;
	fflush(NULL);
	command = fork();
	if (!command) {
		execl("/bin/sh", "sh", "-c", options.restart, NULL);
		_exit(127);
	}
}

bool kills_ended(pid_t pid, int status, unsigned long long executions)
{
	if (!command || pid != command)
		return true;
	command = 0;
	/* The broker ends if a worker dies while the broker starts. */
	gave_up += status && !down && hurt;
	if (down || (status && hurt)) {
		start_engine();
		return true;
	}
	ready_at = clock_ns();
	start_ns = ready_at - began_at;
	served_before = executions;
	return !status;
}

static bool kill_broker(void)
{
	if (!soak_kill(parts[BROKER].name))
		return false;
	kills[BROKER]++;
	early_kills += command != 0;
	down = true;
	/*
	 * A start command that is still running fails because of the kill, and kills_ended() then
	 * starts another command.
	 */
	if (!command)
		start_engine();
	return true;
}

static bool kill_part(int part, const pid_t *clients)
{
	pid_t pid = clients[rand() % SOAK_KINDS];

	if (part == BROKER)
		return !command && kill_broker();
	if (part == CLIENT ? pid <= 0 || kill(pid, SIGKILL) : !soak_kill(parts[part].name))
		return false;
	kills[part]++;
	hurt |= part != CLIENT;
	return true;
}

static unsigned int least_kills(void)
{
	unsigned int least = kills[KEEPER];

	for (int i = WORKER; i < BROKER; i++)
		if (kills[i] < least)
			least = kills[i];
	return least;
}

/*
 * If options.wanted is set, decides whether to kill the broker now. Keepers, workers and clients
 * are killed as often as the broker. Returns false if the engine no longer serves clients.
 */
static bool count_brokers(uint64_t now, unsigned long long executions)
{
	if (down || kills[BROKER] >= options.wanted || kills[BROKER] > least_kills() + AHEAD)
		return true;
	if (early ? now > early_at : !command && executions >= served_before + SERVED)
		kill_broker();
	return command || now < ready_at + NEVER_NS;
}

bool kills_step(const pid_t *clients, unsigned long long executions)
{
	uint64_t now = clock_ns();
	int part = rand() % 8;

	if (!options.spacing_ms)
		return true;
	if (options.wanted && !count_brokers(now, executions))
		return false;
	if (now < next_kill)
		return true;
	next_kill = now + spacing_ns();
	if (!options.wanted) {
		/*
		 * Wait until clients have executed a model between two kills, even on a slow
		 * machine.
		 */
		if (executions == had_executed)
			return true;
		had_executed = executions;
		kill_part(part < 5 ? WORKER : part < 7 ? KEEPER : BROKER, clients);
		return true;
	}
	part %= BROKER;
	/* While the broker starts, spare most workers, so that most brokers become ready. */
	if (part == WORKER && command && rand() % 4)
		return true;
	if (kills[part] < options.wanted && kills[part] <= kills[BROKER] + AHEAD)
		kill_part(part, clients);
	return true;
}

bool kills_done(void)
{
	return options.wanted && kills[BROKER] >= options.wanted && least_kills() >= options.wanted;
}

bool kills_starting(void)
{
	return command != 0;
}

void kills_tell(void)
{
	if (!options.spacing_ms)
		return;
	for (int i = 0; i < PARTS; i++)
		printf("# %s: killed %u times\n", parts[i].title, kills[i]);
	printf("# %u of the brokers were starting; %u ended themselves, as a worker died that early\n",
	       early_kills, gave_up);
}
