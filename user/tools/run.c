/* SPDX-License-Identifier: MIT */
/*
 * nnaccel run: executes a program with a preloaded library (user/run), which lets the program's
 * ONNX Runtime and TensorFlow Lite models run on the device.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "run/run.h"
#include "tool.h"

#define LIBRARY "libnnaccel_run.so"
#define PYTHON "nnaccel-python"

/* Exit statuses for programs that cannot be run, as in shells. */
enum { STATUS_NOT_RUN = 126, STATUS_NOT_FOUND = 127 };

/* Lowest fd number for the file in which the program's processes record messages. */
enum { STATE_FD = 100 };

/* Maximum number of nested script interpreters that the kernel allows. */
enum { MAX_SCRIPTS = 4 };

#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

struct arguments {
	const char *device;
	bool require, report, help;
};

/* ---- the program ---- */

/* Finds a program as execvp() does. Returns false and sets errno if the program cannot be run. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && !access(path, X_OK);
	for (folders = folders ? folders : "/usr/bin:/bin";; folders++) {
		int length = (int)strcspn(folders, ":");
		struct stat file;

		if (snprintf(path, PATH_MAX, "%.*s/%s", length ? length : 1, length ? folders : ".",
			     name) < PATH_MAX && !stat(path, &file) && S_ISREG(file.st_mode)) {
			if (!access(path, X_OK))
				return true;
			error = errno;
		}
		folders += length;
		if (!*folders)
			break;
	}
	errno = error;
	return false;
}

/* Returns whether a program header of an ELF file names a dynamic loader. */
static bool has_loader(FILE *file, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;

	for (int i = 0; i < header->e_phnum; i++)
		if (!fseek(file, (long)(header->e_phoff + (uint64_t)i * sizeof(segment)), SEEK_SET) &&
		    fread(&segment, sizeof(segment), 1, file) == 1 && segment.p_type == PT_INTERP)
			return true;
	return false;
}

/*
 * Returns the reason why no library can be preloaded into an ELF program. Returns NULL if a library
 * can be preloaded, or if the file is not ELF.
 */
static const char *why_not_elf(FILE *file, const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE)
		return "is of another architecture";
	return has_loader(file, header) ? NULL : "is linked statically";
}

/* Reads the interpreter of a script into `path`; returns false if the file is not a script. */
static bool read_script(const char *text, char path[PATH_MAX])
{
	int length;

	if (strncmp(text, "#!", 2))
		return false;
	text += 2 + strspn(text + 2, " \t");
	length = (int)strcspn(text, " \t\n");
	return length && snprintf(path, PATH_MAX, "%.*s", length, text) < PATH_MAX;
}

/*
 * Returns the reason why the library cannot be preloaded; NULL if the library can be preloaded.
 * Sets `path` to the file that prevents preloading, such as the interpreter of a script. The
 * dynamic loader ignores preloaded libraries in programs that run with other privileges than their
 * caller.
 */
static const char *why_not(char path[PATH_MAX])
{
	for (int i = 0; i <= MAX_SCRIPTS; i++) {
		union {
			Elf64_Ehdr header;
			char text[256];
		} begin = { .text = "" };
		FILE *file = fopen(path, "re");
		const char *why;
		struct stat status;

		if (!file || fstat(fileno(file), &status)) {
			if (file)
				fclose(file);
			return NULL;	/* execvp() tells */
		}
		if (fread(begin.text, 1, sizeof(begin.text) - 1, file) < sizeof(begin.header))
			begin.header.e_phnum = 0;
		why = why_not_elf(file, &begin.header);
		if (!why && (status.st_mode & (S_ISUID | S_ISGID)))
			why = "runs as another user or group (set-uid)";
		if (!why && fgetxattr(fileno(file), "security.capability", NULL, 0) > 0)
			why = "has file capabilities";
		fclose(file);
		if (why || !read_script(begin.text, path))
			return why;
	}
	return NULL;
}

/* ---- the environment ---- */

/* Inserts a path at the beginning of the list of paths in an environment variable. */
static bool prepend(const char *variable, const char *folder, const char *name)
{
	const char *before = getenv(variable);
	char *value;
	bool done;

	if (asprintf(&value, "%s/%s%s%s", folder, name, before && *before ? ":" : "", before ? before : "") < 0)
		return false;
	done = !setenv(variable, value, 1);
	free(value);
	return done;
}

/* Makes the trace's path absolute, because the program may start processes in other folders. */
static bool set_trace(void)
{
	const char *file = getenv("NNACCEL_TRACE");
	char folder[PATH_MAX], *path;
	bool done;

	if (!file || !*file || *file == '/')
		return true;
	if (!getcwd(folder, sizeof(folder)) || asprintf(&path, "%s/%s", folder, file) < 0)
		return false;
	done = !setenv("NNACCEL_TRACE", path, 1);
	free(path);
	return done;
}

static bool set_environment(const struct arguments *a, const char *device, const char *folder)
{
	/*
	 * In the file `state`, processes of the program record that they have printed a message
	 * about a model. The file's fd has a high number, so that the program's own files get the
	 * usual low numbers.
	 */
	int file = memfd_create("nnaccel-run", MFD_CLOEXEC), state = fcntl(file, F_DUPFD, STATE_FD);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), state);
	return state >= 0 && !setenv(RUN_STATE, path, 1) && !setenv(RUN_DEVICE, device, 1) &&
	       (!a->require || !setenv(RUN_REQUIRE, "1", 1)) &&
	       (!a->report || (!setenv(RUN_REPORT, "1", 1) && !setenv("NNACCEL_REPORT", "1", 1))) &&
	       set_trace() && prepend("LD_PRELOAD", folder, LIBRARY) &&
	       prepend("PYTHONPATH", folder, PYTHON);
}

static int become(char **argv)
{
	execvp(argv[0], argv);
	tool_fail("run", "%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

static int run(const struct arguments *a, char **argv)
{
	char path[PATH_MAX], folder[PATH_MAX], known[256];
	const char *device, *why;

	if (!find_program(argv[0], path))
		return become(argv);
	why = why_not(path);
	if (why)
		return tool_fail("run", "%s %s, so no library can be loaded into it", path, why);
	device = tool_find_device(a->device, known, sizeof(known));
	if (!device && a->require)
		return tool_fail("run", "there is no device %s, only %s; nnaccel doctor tells why; %s was not "
				 "run", a->device ? a->device : "but the CPU", known, argv[0]);
	if (!device) {
		tool_fail("run", "warning: there is no device %s, only %s; nnaccel doctor tells why; %s runs "
			  "unchanged", a->device ? a->device : "but the CPU", known, argv[0]);
		return become(argv);
	}
	if (!tool_plugins(LIBRARY, folder))
		return tool_fail("run", "there is no %s/" LIBRARY ": install libnnaccel-plugins", folder);
	if (strpbrk(folder, " :"))
		return tool_fail("run", "%s: the path must not have a blank or a colon", folder);
	if (!set_environment(a, device, folder))
		return tool_fail("run", "%s", strerror(errno));
	return become(argv);
}

int tool_run(int argc, char **argv)
{
	struct arguments a = { NULL, false, false, false };
	static const struct option_row options[] = {
		{ "device", "NAME", "a device of the NNAPI (default: the first that is not the CPU)",
		  OPTION_TEXT, OPTION_AT(struct arguments, device) },
		{ "require", NULL, "do not run the program without the device, and have models fail\n"
		  "that the device does not get", OPTION_FLAG, OPTION_AT(struct arguments, require) },
		{ "report", NULL, "also say which operations are left to the runtime and why, and\n"
		  "at the end how often each model ran, how long each operation took\n"
		  "and on which device, and what was copied", OPTION_FLAG,
		  OPTION_AT(struct arguments, report) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "run",
		.about = "run [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
		"Runs a program that uses ONNX Runtime (1.23 or later) or TensorFlow Lite, and gives\n"
		"its models to the device. The program is not changed: a library is loaded before it,\n"
		"and Python's modules are met by a sitecustomize. The library says on the standard\n"
		"error what became of each model. It leaves alone a program that chooses a provider or\n"
		"a delegate itself. It does not change interpreters of TensorFlow Lite's C++ interface.\n",
		.more = "\nExit status: the program's; 1 if it cannot be reached (static, set-uid, of another\n"
		"architecture), or if --require is not met; 2 wrong usage; 126 and 127 as of shells.\n"
		"Without a device the program runs unchanged, after a warning.\n\n"
		"With NNACCEL_TRACE=FILE in the environment, what the runtime and the engine do is\n"
		"appended to the file, which Perfetto and chrome://tracing open.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
	};
	int first = 1, status;

	while (first < argc && strcmp(argv[first], "--"))
		first++;
	for (int i = 1; first == argc && i < argc; i++)
		if (argv[i][0] != '-' && strcmp(argv[i - 1], "--device"))
			return tool_usage("run", "%s: a program follows --, as in nnaccel run -- %s", argv[i], argv[i]);
	status = tool_options(&command, first, argv, &a, NULL);
	if (status != TOOL_GO_ON)
		return status;
	if (first + 1 >= argc)
		return tool_usage("run", "a program is missing after --");
	return run(&a, argv + first + 1);
}
