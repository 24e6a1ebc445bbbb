// SPDX-License-Identifier: MIT
/* Records which code of the module a thread's calls reach. */
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coverage.h"

#define KCOV	"/sys/kernel/debug/kcov"
#define TEXT	"/sys/module/nnaccel/sections/.text"
#define PLACES	(1u << 16)

/* Returns the address of the module's code, or 0 if the kernel does not report the address. */
static unsigned long text_begin(void)
{
	static unsigned long begin;
	FILE *file = begin ? NULL : fopen(TEXT, "re");

	if (file) {
		if (fscanf(file, "%lx", &begin) != 1)
			begin = 0;
		fclose(file);
	}
	return begin;
}

bool coverage_begin(struct coverage *c)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);
	void *places = MAP_FAILED;

	if (fd >= 0 && text_begin() && !ioctl(fd, KCOV_INIT_TRACE, PLACES))
		places = mmap(NULL, PLACES * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (places == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* Leave KCOV's file open for the life of the recorded thread. */
	c->places = places;
	c->places[0] = 0;
	return true;
}

unsigned int coverage_take(struct coverage *c, uint8_t *seen)
{
	unsigned long count = c->places[0], begin = text_begin();
	unsigned int found = 0;

	for (unsigned long i = 1; i <= count && i < PLACES; i++) {
		unsigned long at = c->places[i] - begin;

		if (at < COVERAGE_TEXT && !seen[at]) {
			seen[at] = 1;
			found++;
		}
	}
	c->places[0] = 0;
	return found;
}

bool coverage_write(const uint8_t *seen, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return false;
	for (unsigned int i = 0; i < COVERAGE_TEXT; i++)
		if (seen[i])
			fprintf(file, "%x\n", i);
	return !fclose(file);
}
