// SPDX-License-Identifier: MIT
/*
 * Opens and runs the programs of an engine's processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/broker/program.h"

int program_open(const char *path, const char *name)
{
	static const char *const folders[] = { "", "../libexec/nnaccel/" };
	char own[PATH_MAX], text[PATH_MAX + 64];
	ssize_t length;
	int fd;

	if (path)
		return open(path, O_PATH | O_CLOEXEC);
	length = readlink("/proc/self/exe", own, sizeof(own));
	while (length > 0 && own[length - 1] != '/')
		length--;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && length > 0; i++) {
		if (snprintf(text, sizeof(text), "%.*s%s%s", (int)length, own, folders[i], name) >=
		    (int)sizeof(text))
			continue;
		fd = open(text, O_PATH | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	errno = ENOENT;
	return -1;
}

/* Reads text from a pipe until end of file; returns -1 if the text is too long. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	do {
		n = read(fd, text + used, size - used);
		if (n > 0)
			used += (size_t)n;
	} while (used < size && (n > 0 || (n < 0 && errno == EINTR)));
	return n || used == size ? -1 : (ssize_t)used;
}

bool program_ask(int program, const char *argument, char *text, size_t size)
{
	char name[] = "program", *argv[] = { name, (char *)argument, NULL }, *none[] = { NULL };
	int ends[2], status = -1;
	ssize_t length;
	pid_t pid;

	text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		if (dup2(ends[1], STDOUT_FILENO) >= 0)
			syscall(SYS_execveat, program, "", argv, none, AT_EMPTY_PATH);
		_exit(127);
	}
	close(ends[1]);
	length = pid > 0 ? read_all(ends[0], text, size) : -1;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (length <= 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		length = 0;
	text[length] = '\0';
	return length > 0;
}
