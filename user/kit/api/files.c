// SPDX-License-Identifier: MIT
/* Files that an engine requests: these files are open in all processes that serve clients. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kit/api/engine.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/worker/worker.h"

static int opened[FILES_MAX];
static uint32_t num_opened;

uint32_t files_count(const struct nna_engine *engine)
{
	uint32_t count = 0;

	if (!engine->files)
		return 0;
	while (engine->files[count])
		count++;
	return count;
}

/*
 * Opens a file, and gives the file a descriptor number above the descriptors of the library's
 * files.
 */
static int open_one(const struct nna_engine_file *file)
{
	int mode = file->use & NNA_ENGINE_FILE_WRITE ? O_RDWR : O_RDONLY;
	int fd = open(file->path, mode | O_CLOEXEC), moved;

	if (fd < 0)
		return -1;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, WORKER_ENGINE_FD);
	close(fd);
	return moved;
}

bool files_open(const struct nna_engine *engine)
{
	const uint32_t count = files_count(engine);

	for (num_opened = 0; num_opened < count; num_opened++) {
		const struct nna_engine_file *file = engine->files[num_opened];

		opened[num_opened] = open_one(file);
		if (opened[num_opened] < 0) {
			log_error("%s: %s", file->path, strerror(errno));
			return false;
		}
	}
	return true;
}

int nna_engine_file_at(uint32_t index)
{
	return index < num_opened ? opened[index] : -1;
}
