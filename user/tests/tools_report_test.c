/* SPDX-License-Identifier: MIT */
/*
 * Runs `nnaccel info`, `stat`, `cdi` and `doctor` on a machine that the test program simulates. The
 * simulated machine has files in a folder, accounts and limits in variables, and replaced functions
 * of the libraries.
 */
#define _GNU_SOURCE
/*
 * With _FORTIFY_SOURCE, headers may define readlink() inline, and clang does not accept a second
 * definition.
 */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <android/hardware_buffer.h>
#include <android/NeuralNetworks.h>
#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "tools/clients.h"
#include "tools/tool.h"
#include "version.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the machine ---- */

struct node {
	bool is_there, is_open;		/* the device node exists; the test's user may open it */
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/* The ids of the user nnaccel, of the test's user, of the device's group, and of another group. */
enum { ENGINE_UID = 900, USER_UID = 1000, DEVICE_GID = 800, OTHER_GID = 801 };

static struct machine {
	const char *release;
	struct node module, device, engine, list, state;
	const char *file;		/* path of the changed file of /proc or /sys, or NULL */
	const char *line;
	bool has_no_proc, has_no_devices;
	/*
	 * has_no_clients: the list of clients is missing. has_index: an index of modules contains
	 * nnaccel.
	 */
	bool has_no_clients, has_index;
	bool has_engine_user, session_has_group, account_has_group, is_own_group;
	int group_at;			/* index of the device's group in the list of groups */
	rlim_t files;
	uint64_t blocks, available;	/* total and free blocks of the state's file system */
	enum nn_status open_status, info_status, context_status;
	uint32_t num_devices, abi;	/* abi: 0 if the device has another ABI */
	struct nna_context_info context;
	struct nn_device_info info;
} machine;

static char root[] = "/tmp/nnaccel-tools-XXXXXX";

/*
 * Returns the path in the test's folder for a path of the simulated machine; returns all other
 * paths unchanged.
 */
static const char *place(const char *path, char *to)
{
	if (strncmp(path, "/proc", 5) && strncmp(path, "/sys", 4))
		return path;
	snprintf(to, PATH_MAX, "%s%s", root, path);
	return to;
}

#define SEEN __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

SEEN FILE *fopen(const char *path, const char *mode)
{
	char to[PATH_MAX];
	bool is_index = !strncmp(path, "/lib/modules/", 13);

	if ((machine.file && !strcmp(path, machine.file)) || (is_index && machine.has_index)) {
		int fd = memfd_create("file", MFD_CLOEXEC);

		dprintf(fd, "%s\n", is_index && machine.has_index ? "x/nnaccel.ko:" :
			machine.line);
		lseek(fd, 0, SEEK_SET);
		return fdopen(fd, "r");
	}
	errno = ENOENT;
	return is_index ? NULL : REAL(fopen)(place(path, to), mode);
}

/* The sorted entries of a folder; this structure replaces the DIR of the C library. */
struct folder {
	struct dirent **entries;
	int count, next;
};

SEEN DIR *opendir(const char *path)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	char to[PATH_MAX];

	if (machine.has_no_clients)
		path = "/sys/class";
	folder->count = machine.has_no_proc ? -1 :
			REAL(scandir)(place(path, to), &folder->entries, NULL, alphasort);
	if (folder->count >= 0)
		return (DIR *)folder;
	free(folder);
	return NULL;
}

SEEN struct dirent *readdir(DIR *dir)
{
	struct folder *folder = (struct folder *)dir;

	return folder->next < folder->count ? folder->entries[folder->next++] : NULL;
}

SEEN int closedir(DIR *dir)
{
	struct folder *folder = (struct folder *)dir;

	while (folder->count)
		free(folder->entries[--folder->count]);
	free(folder->entries);
	free(folder);
	return 0;
}

/*
 * The last pause that nanosleep() got; the replaced nanosleep() ends loops that would continue for
 * ever.
 */
static struct timespec paused;

SEEN int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)left;
	paused = *pause;
	return -1;
}

SEEN ssize_t readlink(const char *path, char *target, size_t size)
{
	char to[PATH_MAX];

	return REAL(readlink)(place(path, to), target, size);
}

SEEN int scandir(const char *path, struct dirent ***names, int (*filter)(const struct dirent *),
		 int (*compare)(const struct dirent **, const struct dirent **))
{
	char to[PATH_MAX];

	return REAL(scandir)(machine.has_no_devices ? "/nonexistent" : place(path, to), names, filter,
			     compare);
}

static const struct node *node_of(const char *path)
{
	return !strcmp(path, "/sys/module/nnaccel") ? &machine.module :
	       !strcmp(path, NNA_DEVICE_PATH) ? &machine.device :
	       !strcmp(path, "/dev/nnaccel-engine") ? &machine.engine :
	       !strcmp(path, NN_CONFIG_DIR "/extensions_app_allowlist") ? &machine.list :
	       !strcmp(path, "/var/lib/nnaccel") ? &machine.state : NULL;
}

SEEN int stat(const char *path, struct stat *st)
{
	const struct node *node = node_of(path);

	if (!node)
		return REAL(stat)(path, st);
	errno = node->is_there ? 0 : ENOENT;
	*st = (struct stat){ .st_mode = node->mode, .st_uid = node->uid, .st_gid = node->gid };
	return node->is_there ? 0 : -1;
}

SEEN int access(const char *path, int mode)
{
	const struct node *node = node_of(path);

	if (!node)
		return REAL(access)(path, mode);
	return node->is_there && (node->is_open || mode == F_OK) ? 0 : -1;
}

SEEN int open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	if (!strcmp(path, NNA_DEVICE_PATH) && machine.release)
		return memfd_create("device", MFD_CLOEXEC);
	va_start(args, flags);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, va_arg(args, int));
	va_end(args);
	return fd;
}

SEEN int ioctl(int fd, unsigned long request, ...)
{
	struct nnaccel_info *info;
	va_list args;

	(void)fd;
	va_start(args, request);
	info = va_arg(args, struct nnaccel_info *);
	va_end(args);
	errno = ENOTTY;
	if (request != NNACCEL_INFO || !machine.abi)
		return -1;
	assert_int_equal(info->size, sizeof(*info));
	info->abi = machine.abi;
	return 0;
}

SEEN int uname(struct utsname *name)
{
	/* The sanitizers call uname() before a test has chosen the machine's release. */
	if (!machine.release)
		return (int)syscall(SYS_uname, name);
	memset(name, 0, sizeof(*name));
	strcpy(name->release, machine.release);
	return 0;
}

SEEN struct passwd *getpwnam(const char *name)
{
	static struct passwd user = { .pw_uid = ENGINE_UID };

	return !strcmp(name, "nnaccel") && machine.has_engine_user ? &user : NULL;
}

SEEN uid_t getuid(void)
{
	return USER_UID;
}

SEEN struct passwd *getpwuid(uid_t uid)
{
	static char name[] = "ada";
	static struct passwd user = { .pw_name = name, .pw_gid = OTHER_GID };

	return uid == USER_UID ? &user : NULL;
}

SEEN struct group *getgrgid(gid_t gid)
{
	static char name[] = "render";
	static struct group group = { .gr_name = name };

	return gid == DEVICE_GID ? &group : NULL;
}

SEEN gid_t getegid(void)
{
	return machine.is_own_group ? DEVICE_GID : OTHER_GID;
}

SEEN int getgroups(int room, gid_t *groups)
{
	assert_true(room > 1);
	groups[0] = groups[1] = OTHER_GID;
	if (machine.session_has_group)
		groups[machine.group_at] = DEVICE_GID;
	return 2;
}

SEEN int getgrouplist(const char *user, gid_t gid, gid_t *groups, int *count)
{
	assert_string_equal(user, "ada");
	assert_int_equal(gid, OTHER_GID);
	assert_true(*count > 100);
	groups[0] = groups[1] = gid;
	if (machine.account_has_group)
		groups[machine.group_at] = DEVICE_GID;
	return *count = 2;
}

SEEN int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	if (resource != RLIMIT_NOFILE || !machine.release)
		return (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);
	*limit = (struct rlimit){ machine.files, 4096 };
	return 0;
}

SEEN int statvfs(const char *path, struct statvfs *space)
{
	assert_string_equal(path, "/var/lib/nnaccel");
	*space = (struct statvfs){ .f_blocks = machine.blocks, .f_bavail = machine.available };
	return 0;
}

/* ---- libnnaccel ---- */

static unsigned int open_devices, open_files;
static const char *opened;

enum nn_status nna_device_open(const char *path, struct nna_device **device, struct nn_error *err)
{
	if (machine.open_status) {
		snprintf(err->message, sizeof(err->message), "not to be opened");
		return machine.open_status;
	}
	opened = path;
	open_devices++;
	*device = (struct nna_device *)&machine;
	return NN_OK;
}

void nna_device_close(struct nna_device *device)
{
	open_devices -= device != NULL;
}

enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size, uint32_t *count,
			       struct nn_error *err)
{
	static const struct nna_device_entry all[] = {
		{ NNA_DEVICE_PATH, "first", "v1.2", NN_DEVICE_ACCELERATOR, true },
		{ NNA_DEVICE_PATH "1", "", "", 0, false },
		{ NNA_DEVICE_PATH "2", "x", "y", NN_DEVICE_CPU, true },
	};

	(void)err;
	assert_int_equal(entry_size, sizeof(all[0]));
	for (uint32_t i = 0; i < *count && i < machine.num_devices; i++)
		entries[i] = all[i];
	*count = machine.num_devices;
	return NN_OK;
}

enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err)
{
	assert_ptr_equal(device, &machine);
	assert_int_equal(info->size, sizeof(*info));
	if (machine.info_status)
		snprintf(err->message, sizeof(err->message), "no worker");
	*info = machine.info;
	return machine.info_status;
}

enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **extensions,
					 uint32_t *count, struct nn_error *err)
{
	static const struct nn_device_extension_item types[] = {
		{ 1, true, 4, "MATRIX" }, { 2, false, 8, "PAIR" },
	}, operations[] = { { 7, false, 0, "TURN" }, { 9, false, 0, "BEND" } };
	static const struct nn_device_extension all[] = {
		{ "com.example.one", 3, true, 2, 2, types, operations },
		{ "com.example.two", 4, false, 0, 0, NULL, NULL },
	};

	(void)device;
	(void)err;
	*extensions = all;
	*count = 2;
	return NN_OK;
}

enum nn_status nna_device_get_context_info(struct nna_device *device, struct nna_context_info *info,
					   struct nn_error *err)
{
	(void)device;
	assert_int_equal(info->size, sizeof(*info));
	if (machine.context_status)
		snprintf(err->message, sizeof(err->message), "no context");
	else
		*info = machine.context;
	return machine.context_status;
}

/*
 * `nnaccel cdi` reads the path of libneuralnetworks.so from the address of the library's function
 * ANeuralNetworks_getRuntimeFeatureLevel(); here, this is the test program's function.
 */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
	return 0;
}

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **buffer)
{
	(void)desc;
	(void)buffer;
	return -1;
}

/* ---- common functions ---- */

static void write_file(const char *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void write_file(const char *text, const char *format, ...)
{
	char path[PATH_MAX], at[256];
	va_list args;
	int fd;

	va_start(args, format);
	vsnprintf(at, sizeof(at), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s%s", root, at);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void open_file(int pid, int fd, const char *target, const char *info)
{
	char path[PATH_MAX];

	write_file(info, "/proc/%d/fdinfo/%d", pid, fd);
	write_file("", "/proc/%d/fd/x", pid);
	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", root, pid, fd);
	assert_int_equal(symlink(target, path), 0);
}

static int make_machine(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	write_file("", "/sys/class/nnaccel/nnaccel");
	/* The name of an engine may be a number. */
	write_file("2\n", "/sys/class/nnaccel/nnaccel10/name");
	write_file("vulkan-x1\n", "/sys/class/nnaccel/nnaccel2/name");
	write_file("", "/sys/class/nnaccel/nnaccel-engine");
	write_file("", "/sys/class/nnaccel/other");
	write_file("one\n", "/proc/10/comm");
	open_file(10, 3, "/dev/nnaccel",
		  "pos:\t0\nnnaccel-client-id:\t7\nnnaccel-device:\tnnaccel1\n"
		  "nnaccel-executions:\t3\nnnaccel-pools:\t4\nnnaccel-slots:\t99\n"
		  "drm-engine-nn:\t1234567890 ns\ndrm-resident-device:\t48 KiB\n"
		  "nnaccel-model-1: 10 KiB weights, 5 KiB an execution, 8 KiB of the device\n"
		  "nnaccel-model-2: 20 KiB weights, 6 KiB an execution\n");
	/* The process has a second file of the context 7, and two files of the context's bursts. */
	open_file(10, 4, "/dev/nnaccel",
		  "nnaccel-client-id:\t7\nnnaccel-device:\tnnaccel1\nnnaccel-executions:\t3\n"
		  "nnaccel-model-1: 10 KiB weights, 5 KiB an execution\n");
	open_file(10, 5, "anon_inode:[nnaccel-burst]",
		  "nnaccel-client-id:\t7\nnnaccel-burst:\t1\nnnaccel-slots:\t2\n"
		  "nnaccel-client-spins:\t100\nnnaccel-executions:\t77\n");
	open_file(10, 6, "anon_inode:[nnaccel-burst]",
		  "nnaccel-client-id:\t7\nnnaccel-burst:\t2\nnnaccel-slots:\t3\n");
	/*
	 * The tools ignore a file that does not belong to the device, and a file without fields of
	 * a client.
	 */
	open_file(10, 7, "/dev/null", "nnaccel-client-id:\t50\n");
	open_file(10, 8, "/srv/nnaccel/file", "pos:\t0\n");
	write_file("two\n", "/proc/99/comm");
	open_file(99, 3, "/dev/nnaccel2", "nnaccel-client-id:\t18\nnnaccel-device:\tnnaccel2\n"
		  "nnaccel-pools:\t1\nnnaccel-model-1: 1 KiB weights, 2 KiB an execution\n");
	open_file(99, 4, "/dev/nnaccel2", "nnaccel-client-id:\t18\nnnaccel-pools:\t1\n");
	open_file(99, 5, "anon_inode:[nnaccel-burst]",
		  "nnaccel-client-id:\t7\nnnaccel-burst:\t3\nnnaccel-slots:\t10\n");
	write_file("a\"b\n", "/proc/self/comm");
	write_file("nnaccel-client-id:\t60\n", "/proc/self/fdinfo/3");
	return 0;
}

static int remove_machine(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static unsigned int count_files(void)
{
	DIR *files = REAL(opendir)("/proc/self/fd");
	unsigned int count = 0;

	while (REAL(readdir)(files))
		count++;
	REAL(closedir)(files);
	return count;
}

static int set_up(void **state)
{
	(void)state;
	machine = (struct machine){
		.release = "6.1.0-13-amd64",
		.module = { .is_there = true },
		.device = { true, true, S_IFCHR | 0660, 0, DEVICE_GID },
		.engine = { true, false, S_IFCHR | 0600, ENGINE_UID, 0 },
		.list = { true, true, S_IFREG | 0644, 0, 0 },
		.state = { true, false, S_IFDIR | 0700, ENGINE_UID, 0 },
		.has_engine_user = true,
		.files = 1024,
		.blocks = 1000, .available = 10,
		.num_devices = 3, .abi = NNACCEL_ABI_VERSION,
		.context = {
			.size = sizeof(struct nna_context_info), .abi = NNACCEL_ABI_VERSION,
			.engine = NNACCEL_ENGINE_ATTACHED, .max_pools = 11, .max_models = 12,
			.max_commands = 13, .max_pool_bytes = 14, .max_context_bytes = 15,
			.max_user_bytes = 16 << 20, .pool_bytes = 21, .import_bytes = 22,
			.executions = 23, .engine_ns = 24,
		},
		.info = {
			.size = sizeof(struct nn_device_info), .version = "v1.2 of a test",
			.type = NN_DEVICE_GPU, .feature_level = 8, .model_cache_files = 1,
			.data_cache_files = 2, .relaxed_scalar = { FLT_MAX, 1 },
			.relaxed_tensor = { 0.25f, 3 }, .if_performance = { 1, 1.5f },
			.while_performance = { FLT_MAX, 1 }, .operations = { 0x0f, 0x80, [NN_DEVICE_OPERATIONS - 1] = 0x80 },
		},
	};
	for (int32_t i = 0; i < NN_TYPE_COUNT; i++)
		machine.info.operand[i].exec_time = FLT_MAX;
	machine.info.operand[NN_TENSOR_FLOAT32] = (struct nn_performance){ 0.5f, 2 };
	opened = NULL;
	open_files = count_files();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return open_devices || count_files() != open_files;
}

/* Runs a command; returns the text that the command prints to the file descriptor `fd`. */
static const char *print(int fd, int (*command)(int argc, char **argv), int *status,
			 const char *arguments)
{
	static char out[16384], words[128];
	int saved = dup(fd), file = memfd_create("out", MFD_CLOEXEC), argc = 0;
	char *argv[8], *save = NULL;
	ssize_t size;

	snprintf(words, sizeof(words), "nnaccel %s", arguments);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	fflush(stdout);
	dup2(file, fd);
	*status = command(argc, argv);
	fflush(stdout);
	dup2(saved, fd);
	close(saved);
	size = pread(file, out, sizeof(out) - 1, 0);
	close(file);
	out[size > 0 ? size : 0] = '\0';
	return out;
}

static void assert_prints(int (*command)(int argc, char **argv), const char *arguments,
			  const char *expected)
{
	int status;
	const char *out = print(STDOUT_FILENO, command, &status, arguments);

	assert_string_equal(out, expected);
	assert_int_equal(status, TOOL_OK);
}

/* ---- info ---- */

static const char info_text[] =
"Devices\n"
"  NODE             NAME                     TYPE         STATE   VERSION\n"
"  /dev/nnaccel     first                    accelerator  ready   v1.2\n"
"  /dev/nnaccel1    -                        unknown      absent  -\n"
"  /dev/nnaccel2    x                        CPU          ready   y\n"
"\n"
"Device          /dev/nnaccel\n"
"Module          interface version 2\n"
"Engine          attached\n"
"Version         v1.2 of a test\n"
"Type            GPU\n"
"Feature level   8\n"
"Cache files     1 model, 2 data\n"
"\n"
"Limits\n"
"  pools              11\n"
"  models             12\n"
"  commands in flight 13\n"
"  a pool             14 bytes\n"
"  a client           15 bytes\n"
"  a user             16777216 bytes\n"
"\n"
"In use by this client\n"
"  allocated          21 bytes\n"
"  imported           22 bytes\n"
"  executions         23\n"
"  engine time        24 ns\n"
"\n"
"Memory of models (of clients that this user may see), in KiB\n"
"  CLIENT     PID NAME              MODEL   WEIGHTS EXECUTION      PEAK\n"
"       7      10 one                   1        10         5        15\n"
"       7      10 one                   2        20         6        26\n"
"      18      99 two                   1         1         2         3\n"
"  all                                                               44\n"
"\n"
"Performance (the CPU reference is 1; lower is better)\n"
"                                     time  power\n"
"  TENSOR_FLOAT32                    0.500  2.000\n"
"  relaxed tensors                   0.250  3.000\n"
"  IF                                1.000  1.500\n"
"\n"
"Operations\n"
"  ADD AVERAGE_POOL_2D CONCATENATION CONV_2D LSH_PROJECTION operation 127\n"
"\n"
"Extensions\n"
"  com.example.one, version 3, with the OEM operation\n"
"    type 1           MATRIX, elements of 4 bytes\n"
"    type 2           PAIR, scalar of 8 bytes\n"
"    operation 7      TURN\n"
"    operation 9      BEND\n"
"  com.example.two, version 4\n";

static const char info_json[] =
"{\n"
"  \"path\": \"/dev/nnaccel\",\n"
"  \"abi\": 2,\n"
"  \"engine\": \"attached\",\n"
"  \"limits\": {\n"
"    \"pools\": 11,\n"
"    \"models\": 12,\n"
"    \"commands\": 13,\n"
"    \"pool_bytes\": 14,\n"
"    \"context_bytes\": 15,\n"
"    \"user_bytes\": 16777216\n"
"  },\n"
"  \"usage\": {\n"
"    \"pool_bytes\": 21,\n"
"    \"import_bytes\": 22,\n"
"    \"executions\": 23,\n"
"    \"engine_ns\": 24\n"
"  },\n"
"  \"devices\": [\n"
"    { \"path\": \"/dev/nnaccel\", \"name\": \"first\", \"type\": \"accelerator\", "
"\"state\": \"ready\", \"version\": \"v1.2\" },\n"
"    { \"path\": \"/dev/nnaccel1\", \"name\": \"\", \"type\": \"unknown\", "
"\"state\": \"absent\", \"version\": \"\" },\n"
"    { \"path\": \"/dev/nnaccel2\", \"name\": \"x\", \"type\": \"CPU\", "
"\"state\": \"ready\", \"version\": \"y\" }\n"
"  ],\n"
"  \"models\": [\n"
"    { \"client\": 7, \"pid\": 10, \"name\": \"one\", \"model\": 1, \"weights_kib\": 10, "
"\"execution_kib\": 5, \"peak_kib\": 15 },\n"
"    { \"client\": 7, \"pid\": 10, \"name\": \"one\", \"model\": 2, \"weights_kib\": 20, "
"\"execution_kib\": 6, \"peak_kib\": 26 },\n"
"    { \"client\": 18, \"pid\": 99, \"name\": \"two\", \"model\": 1, \"weights_kib\": 1, "
"\"execution_kib\": 2, \"peak_kib\": 3 }\n"
"  ],\n"
"  \"models_peak_kib\": 44,\n"
"  \"device\": {\n"
"    \"version\": \"v1.2 of a test\",\n"
"    \"type\": \"GPU\",\n"
"    \"feature_level\": 8,\n"
"    \"model_cache_files\": 1,\n"
"    \"data_cache_files\": 2,\n"
"    \"performance\": {\n"
"      \"TENSOR_FLOAT32\": { \"time\": 0.5, \"power\": 2 },\n"
"      \"relaxed tensors\": { \"time\": 0.25, \"power\": 3 },\n"
"      \"IF\": { \"time\": 1, \"power\": 1.5 }\n"
"    },\n"
"    \"operations\": [\n"
"      \"ADD\",\n"
"      \"AVERAGE_POOL_2D\",\n"
"      \"CONCATENATION\",\n"
"      \"CONV_2D\",\n"
"      \"LSH_PROJECTION\",\n"
"      \"operation 127\"\n"
"    ],\n"
"    \"extensions\": [\n"
"      {\n"
"        \"name\": \"com.example.one\",\n"
"        \"version\": 3,\n"
"        \"oem_operation\": true,\n"
"        \"types\": [\n"
"          { \"code\": 1, \"name\": \"MATRIX\", \"tensor\": true, \"element_size\": 4 },\n"
"          { \"code\": 2, \"name\": \"PAIR\", \"tensor\": false, \"element_size\": 8 }\n"
"        ],\n"
"        \"operations\": [\n"
"          { \"code\": 7, \"name\": \"TURN\" },\n"
"          { \"code\": 9, \"name\": \"BEND\" }\n"
"        ]\n"
"      },\n"
"      {\n"
"        \"name\": \"com.example.two\",\n"
"        \"version\": 4,\n"
"        \"oem_operation\": false,\n"
"        \"types\": [],\n"
"        \"operations\": []\n"
"      }\n"
"    ]\n"
"  }\n"
"}\n";

static void test_info(void **state)
{
	(void)state;
	assert_prints(tool_info, "", info_text);
	assert_string_equal(opened, NNA_DEVICE_PATH);
	assert_prints(tool_info, "--json", info_json);
}

/* If an engine reports no kind or an unknown kind of memory, `nnaccel info` prints no kind. */
static void test_info_memory(void **state)
{
	static const char *const ways[][2] = {
		[NN_DEVICE_MEMORY_UNTOLD] = { NULL, NULL },
		[NN_DEVICE_MEMORY_DMA_BUF] = {
			"\nMemory          imported as dma-bufs; the CPU copied 5 arguments\n\nLimits",
			",\n    \"memory\": \"dma-buf\",\n    \"copies\": 5,\n    \"performance\"",
		},
		[NN_DEVICE_MEMORY_ADDRESS] = {
			"\nMemory          imported by address;", "\"memory\": \"address\"",
		},
		[NN_DEVICE_MEMORY_COPIED] = { "\nMemory          copied;", "\"memory\": \"copied\"" },
		[NN_DEVICE_MEMORY_COPIED + 1] = { NULL, NULL },
	};

	(void)state;
	machine.info.copies = 5;
	for (uint32_t i = 0; i < COUNT(ways); i++) {
		for (int json = 0; json < 2; json++) {
			const char *expected = ways[i][json], *out;
			int status;

			machine.info.memory = i;
			out = print(STDOUT_FILENO, tool_info, &status, json ? "--json" : "");
			assert_int_equal(status, TOOL_OK);
			if (expected)
				assert_non_null(strstr(out, expected));
			else
				assert_null(strstr(out, json ? "\"memory\"" : "\nMemory  "));
		}
	}
}

/*
 * `nnaccel info` prints all operations from any first one on; a line ends with the first operation
 * name that exceeds 60 columns.
 */
static void test_info_lines(void **state)
{
	const char *out, *line, *end, *last;
	int status;

	(void)state;
	for (int first = 0; first < 16; first++) {
		/* The names of known operations have no spaces. */
		memset(machine.info.operations, 0, sizeof(machine.info.operations));
		memset(machine.info.operations, 0xff, 8);
		memset(machine.info.operations, 0, (size_t)first / 8);
		machine.info.operations[first / 8] = (uint8_t)(0xff << first % 8);
		out = print(STDOUT_FILENO, tool_info, &status, "");
		line = strstr(out, "\nOperations\n");
		assert_non_null(line);
		line += strlen("\nOperations\n");
		for (; *line != '\n'; line = end + 1) {
			end = strchr(line, '\n');
			assert_memory_equal(line, "  ", 2);
			assert_true(line[2] != ' ' && end[-1] != ' ');
			if (end[1] != '\n')
				assert_true(end - line > 60);
			last = memrchr(line, ' ', (size_t)(end - line));
			assert_true(last - line <= 60);
		}
	}
}

/*
 * If the device has no engine, `nnaccel info` prints the module's information, and the exit status
 * is 1.
 */
static void test_info_without_engine(void **state)
{
	static const char *const states[] = { "absent", "ready", "attached", "unknown" };
	char expected[64];
	const char *out;
	int status;

	(void)state;
	machine.info_status = NN_DEVICE_UNAVAILABLE;
	out = print(STDOUT_FILENO, tool_info, &status, "");
	assert_int_equal(status, TOOL_FAILED);
	assert_non_null(strstr(out, "  all "));
	assert_null(strstr(out, "Version  "));
	assert_null(strstr(out, "Operations"));
	out = print(STDOUT_FILENO, tool_info, &status, "--json");
	assert_non_null(strstr(out, ",\n  \"device\": null\n}\n"));
	machine.info_status = NN_OK;
	for (uint32_t i = 0; i < COUNT(states); i++) {
		machine.context.engine = i;
		snprintf(expected, sizeof(expected), "Engine          %s\n", states[i]);
		assert_non_null(strstr(print(STDOUT_FILENO, tool_info, &status, ""), expected));
	}
}

/* The tools use an empty name for a process that has ended. */
static void test_no_name(void **state)
{
	char name[CLIENT_NAME_SIZE + 1] = "one";

	(void)state;
	clients_read_name("11", name);
	assert_string_equal(name, "");
}

static void test_no_clients(void **state)
{
	const char *out;
	int status;

	(void)state;
	machine.has_no_clients = true;
	out = print(STDOUT_FILENO, tool_info, &status, "");
	assert_non_null(strstr(out, " in KiB\n  none is prepared\n\n"));
	out = print(STDOUT_FILENO, tool_info, &status, "--json");
	assert_non_null(strstr(out, "\n  \"models\": [],\n  \"models_peak_kib\": 0,\n"));
	assert_prints(tool_stat, "--once --json", "{\"clients\": []}\n");
	out = print(STDOUT_FILENO, tool_stat, &status, "--openmetrics");
	assert_string_equal(out + strlen(out) - 6, "# EOF\n");
}

static void test_info_names(void **state)
{
	int status;

	(void)state;
	print(STDOUT_FILENO, tool_info, &status, "--name first");
	assert_int_equal(status, TOOL_OK);
	assert_string_equal(opened, NNA_DEVICE_PATH);
	print(STDOUT_FILENO, tool_info, &status, "--name x");
	assert_string_equal(opened, "/dev/nnaccel2");
	print(STDOUT_FILENO, tool_info, &status, "--device /dev/nnaccel1");
	assert_string_equal(opened, "/dev/nnaccel1");
	assert_string_equal(print(STDERR_FILENO, tool_info, &status, "--name third"),
			    "nnaccel info: no device is named third\n");
	assert_int_equal(status, TOOL_FAILED);
	machine.open_status = NN_DEVICE_UNAVAILABLE;
	assert_string_equal(print(STDERR_FILENO, tool_info, &status, ""),
			    "nnaccel info: not to be opened\n");
	assert_int_equal(status, TOOL_FAILED);
	machine.open_status = NN_OK;
	machine.context_status = NN_GENERAL_FAILURE;
	assert_string_equal(print(STDERR_FILENO, tool_info, &status, ""),
			    "nnaccel info: no context\n");
	assert_int_equal(status, TOOL_FAILED);
}

/* ---- stat ---- */

static void test_stat(void **state)
{
	static const char *const formats[] = { "--once", "--once --json", "--openmetrics" };
	const char *out;
	int status;

	(void)state;
	assert_prints(tool_stat, "--once",
"CLIENT     PID NAME             DEVICE        IOCTLS   BURSTED     SPINS    SLEEPS     WAKES    MISSES"
" FALLBACKS   E-SPINS  E-SLEEPS   E-WAKES  E-MISSES    BURSTS    MODELS     POOLS       KIB     W-KIB"
"     X-KIB     D-KIB      D-MS\n"
"     7      10 one              nnaccel1           3         0       100         0         0         0"
"         0         0         0         0         0         0         0         4         0         0"
"         0        48      1234\n"
"    18      99 two              nnaccel2           0         0         0         0         0         0"
"         0         0         0         0         0         0         0         1         0         0"
"         0         0         0\n");
	assert_prints(tool_stat, "--once --json",
"{\"clients\": [{\"id\": 7, \"pid\": 10, \"name\": \"one\", \"device\": \"nnaccel1\", \"executions\": 3, "
"\"burst_executions\": 0, \"client_spins\": 100, \"client_sleeps\": 0, \"client_wakes\": 0, "
"\"client_misses\": 0, \"client_fallbacks\": 0, \"engine_spins\": 0, \"engine_sleeps\": 0, "
"\"engine_wakes\": 0, \"engine_misses\": 0, \"slots\": 15, \"slot_resolves\": 0, \"bursts\": 0, "
"\"models\": 0, \"pools\": 4, \"commands\": 0, \"memory_kib\": 0, \"import_kib\": 0, "
"\"engine_ns\": 0, \"weights_kib\": 0, \"execution_kib\": 0, \"device_kib\": 48, "
"\"device_ns\": 1234567890}, "
"{\"id\": 18, \"pid\": 99, \"name\": \"two\", \"device\": \"nnaccel2\", \"executions\": 0, "
"\"burst_executions\": 0, \"client_spins\": 0, \"client_sleeps\": 0, \"client_wakes\": 0, "
"\"client_misses\": 0, \"client_fallbacks\": 0, \"engine_spins\": 0, \"engine_sleeps\": 0, "
"\"engine_wakes\": 0, \"engine_misses\": 0, \"slots\": 0, \"slot_resolves\": 0, \"bursts\": 0, "
"\"models\": 0, \"pools\": 1, \"commands\": 0, \"memory_kib\": 0, \"import_kib\": 0, "
"\"engine_ns\": 0, \"weights_kib\": 0, \"execution_kib\": 0, \"device_kib\": 0, "
"\"device_ns\": 0}]}\n");
	out = print(STDOUT_FILENO, tool_stat, &status, "--openmetrics");
	assert_memory_equal(out, "# TYPE nnaccel_client_executions counter\n"
			    "# HELP nnaccel_client_executions nnaccel-executions of fdinfo.\n"
			    "nnaccel_client_executions_total{client=\"7\",pid=\"10\",name=\"one\"} 3\n",
			    strlen("# TYPE nnaccel_client_executions counter\n"));
	assert_non_null(strstr(out, "\n# TYPE nnaccel_client_pools gauge\n# HELP nnaccel_client_pools "
			       "nnaccel-pools of fdinfo.\nnnaccel_client_pools{client=\"7\","
			       "pid=\"10\",name=\"one\"} 4\n"));
	assert_string_equal(out + strlen(out) - 6, "# EOF\n");
	machine.num_devices = 0;
	for (size_t i = 0; i < COUNT(formats); i++) {
		assert_string_equal(print(STDERR_FILENO, tool_stat, &status, formats[i]),
				    "nnaccel stat: there is no device; nnaccel doctor tells why\n");
		assert_int_equal(status, TOOL_FAILED);
		assert_string_equal(print(STDOUT_FILENO, tool_stat, &status, formats[i]), "");
	}
}

static void assert_fails(int (*command)(int argc, char **argv), const char *arguments, int expected,
			 const char *message)
{
	int status;

	assert_string_equal(print(STDERR_FILENO, command, &status, arguments), message);
	assert_int_equal(status, expected);
}

static void test_messages(void **state)
{
	const char *out;
	int status;

	(void)state;
	out = print(STDOUT_FILENO, tool_stat, &status, "--help");
	assert_int_equal(status, TOOL_OK);
	assert_memory_equal(out, "usage: nnaccel stat [OPTION]...\n", 32);
	assert_non_null(strstr(out, "--openmetrics"));
	assert_fails(tool_info, "x", TOOL_USAGE,
		     "nnaccel info: unexpected argument x; see nnaccel info --help\n");
	assert_fails(tool_cdi, "generate x", TOOL_USAGE,
		     "nnaccel cdi: unexpected argument x; see nnaccel cdi --help\n");
	assert_fails(tool_info, "--device", TOOL_USAGE,
		     "nnaccel info: --device needs a value; see nnaccel info --help\n");
	assert_fails(tool_stat, "--json --openmetrics", TOOL_USAGE,
		     "nnaccel stat: --json and --openmetrics exclude each other; see nnaccel stat --help\n");
	assert_fails(tool_info, "--name x --device y", TOOL_USAGE,
		     "nnaccel info: --device and --name exclude each other; see nnaccel info --help\n");
	assert_fails(tool_cdi, "nothing", TOOL_USAGE,
		     "nnaccel cdi: no action 'nothing' (there is generate); see nnaccel cdi "
		     "--help\n");
	machine.has_no_devices = true;
	assert_fails(tool_cdi, "", TOOL_FAILED,
		     "nnaccel cdi: there is no device: nnaccel doctor tells why\n");
	machine.has_no_proc = true;
	assert_fails(tool_stat, "--once", TOOL_FAILED, "nnaccel stat: /proc cannot be read\n");
	assert_fails(tool_info, "", TOOL_OK,
		     "nnaccel info: the memory of models cannot be read: no /proc, or too little memory\n");
}

/* `nnaccel stat` reads the files again after each interval. */
static void test_intervals(void **state)
{
	static const struct {
		const char *arguments;
		int status;
		struct timespec pause;
	} cases[] = {
		{ "--json", TOOL_OK, { 1, 0 } },
		{ "--json --interval 10", TOOL_OK, { 0, 10000000 } },
		{ "--json --interval 999", TOOL_OK, { 0, 999000000 } },
		{ "--json --interval 1234", TOOL_OK, { 1, 234000000 } },
		{ "--json --interval 3600000", TOOL_OK, { 3600, 0 } },
		{ "--json --interval 9", TOOL_USAGE, { 0, 0 } },
		{ "--json --interval 3600001", TOOL_USAGE, { 0, 0 } },
		{ "--json --once", TOOL_OK, { 0, 0 } },
		{ "--openmetrics", TOOL_OK, { 0, 0 } },
	};
	int status;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		paused = (struct timespec){ 0 };
		print(STDOUT_FILENO, tool_stat, &status, cases[i].arguments);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(paused.tv_sec, cases[i].pause.tv_sec);
		assert_int_equal(paused.tv_nsec, cases[i].pause.tv_nsec);
	}
}

/*
 * A process can choose any name for itself, so `nnaccel stat` escapes process names in labels and
 * on a terminal.
 */
static void test_stat_names(void **state)
{
	const char *out;
	int status;

	(void)state;
	write_file("a\"\\\x1b" "b\n", "/proc/10/comm");
	out = print(STDOUT_FILENO, tool_stat, &status, "--openmetrics");
	assert_non_null(strstr(out, ",name=\"a\\\"\\\\?b\"} 3\n"));
	out = print(STDOUT_FILENO, tool_stat, &status, "--once");
	assert_non_null(strstr(out, " a\"\\?b            nnaccel1 "));
	out = print(STDOUT_FILENO, tool_info, &status, "");
	assert_non_null(strstr(out, " a\"\\?b                 1 "));
	write_file("one\n", "/proc/10/comm");
}

/* ---- cdi ---- */

static void test_cdi(void **state)
{
	char self[PATH_MAX], expected[4 * PATH_MAX];
	ssize_t size = REAL(readlink)("/proc/self/exe", self, sizeof(self) - 1);
	int n;

	(void)state;
	assert_true(size > 0);
	self[size] = '\0';
	/*
	 * The test program has the functions of all libraries, so `nnaccel cdi` finds the test
	 * program's path for each library.
	 */
	n = snprintf(expected, sizeof(expected), "%s",
"{\n"
"  \"cdiVersion\": \"0.5.0\",\n"
"  \"kind\": \"nnaccel.dev/npu\",\n"
"  \"devices\": [\n"
"    {\"name\": \"0\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nnaccel\", \"permissions\": \"rw\"}]}},\n"
"    {\"name\": \"2\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nnaccel2\", \"permissions\": \"rw\"}]}},\n"
"    {\"name\": \"vulkan-x1\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nnaccel2\", \"permissions\": \"rw\"}]}},\n"
"    {\"name\": \"10\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nnaccel10\", \"permissions\": \"rw\"}]}},\n"
"    {\"name\": \"all\", \"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nnaccel\", \"permissions\": \"rw\"}, "
"{\"path\": \"/dev/nnaccel2\", \"permissions\": \"rw\"}, {\"path\": \"/dev/nnaccel10\", \"permissions\": \"rw\"}]}}\n"
"  ],\n"
"  \"containerEdits\": {\n"
"    \"mounts\": [\n");
	for (int i = 0; i < 3; i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n,
			      "      {\"hostPath\": \"%s\", \"containerPath\": \"%s\", \"options\": "
			      "[\"ro\", \"nosuid\", \"nodev\", \"bind\"]}%s\n", self, self,
			      i < 2 ? "," : "");
	snprintf(expected + n, sizeof(expected) - (size_t)n, "    ]\n  }\n}\n");
	assert_prints(tool_cdi, "generate", expected);
}

/* ---- doctor ---- */

/* Each case has a name, a fault of the machine, and lines that `doctor` prints. */
#define CASES(X) \
	X("6.0", machine.release = "6.0.9", \
	  "problem  kernel       6.0.9 is older than 6.1, which the module needs\n" \
	  "                      -> boot a newer kernel\n") \
	X("5.19", machine.release = "5.19.0", "problem  kernel       5.19.0 is older") \
	X("6.1", machine.release = "6.1.0", "ok       kernel       6.1.0\n") \
	X("7.0", machine.release = "7.0", "ok       kernel       7.0\n") \
	X("no number", machine.release = "x", "problem  kernel       x is older") \
	X("no module", machine.module.is_there = false, \
	  "problem  module       not loaded, and not built for 6.1.0-13-amd64\n" \
	  "                      -> install nnaccel-dkms and linux-headers-6.1.0-13-amd64;") \
	X("module not loaded", (machine.module.is_there = false, \
	    machine.file = "/lib/modules/6.1.0-13-amd64/modules.dep", \
	    machine.line = "updates/dkms/nnaccel.ko:"), \
	  "problem  module       built for this kernel, but not loaded\n" \
	  "                      -> run: sudo modprobe nnaccel\n") \
	X("signed modules only", (machine.module.is_there = false, machine.has_index = true, \
	    machine.file = "/sys/module/module/parameters/sig_enforce", machine.line = "Y"), \
	  "-> run: sudo modprobe nnaccel; if its key is rejected: sudo mokutil --import ") \
	X("unsigned modules", (machine.module.is_there = false, machine.has_index = true, \
	    machine.file = "/sys/module/module/parameters/sig_enforce", machine.line = "N"), \
	  "-> run: sudo modprobe nnaccel\n") \
	X("integrity", (machine.module.is_there = false, machine.has_index = true, \
	    machine.file = "/sys/kernel/security/lockdown", \
	    machine.line = "none [integrity] confidentiality"), "if its key is rejected") \
	X("confidentiality", (machine.module.is_there = false, machine.has_index = true, \
	    machine.file = "/sys/kernel/security/lockdown", \
	    machine.line = "none integrity [confidentiality]"), "if its key is rejected") \
	X("no lockdown", (machine.module.is_there = false, machine.has_index = true, \
	    machine.file = "/sys/kernel/security/lockdown", \
	    machine.line = "[none] integrity confidentiality"), "sudo modprobe nnaccel\n") \
	X("another module", (machine.module.is_there = false, \
	    machine.file = "/lib/modules/6.1.0-13-amd64/modules.dep", \
	    machine.line = "updates/dkms/other.ko:"), \
	  "problem  module       not loaded, and not built") \
	X("no module: engine node", machine.module.is_there = false, \
	  "note     engine node  not checked: there is no module\n") \
	X("no device", machine.device.is_there = false, \
	  "problem  device       /dev/nnaccel: No such file or directory\n" \
	  "                      -> it comes with its engine: sudo systemctl start nnacceld\n") \
	X("no device nor module", machine.device.is_there = machine.module.is_there = false, \
	  "                      -> it comes with the module and its engine\n") \
	X("no device: engine", machine.device.is_there = false, \
	  "note     engine       not checked: the device cannot be used\n" \
	  "note     worker       not checked: there is no engine\n" \
	  "ok       limits       1024 open files\n") \
	X("a file", machine.device.mode = S_IFREG | 0600, \
	  "problem  device       /dev/nnaccel is not a device\n" \
	  "                      -> remove it, and load the module again\n") \
	X("device", (void)0, "ok       device       /dev/nnaccel, mode 660, group render\n") \
	X("unknown group", machine.device.gid = 5, \
	  "ok       device       /dev/nnaccel, mode 660, group ?\n") \
	X("no group", machine.device.is_open = false, \
	  "problem  device       /dev/nnaccel, mode 660, group render: you may not open it\n" \
	  "                      -> run: sudo usermod -aG render ada, then log in again\n") \
	X("an old session", (machine.device.is_open = false, machine.account_has_group = true), \
	  "-> your account is in the group, this session is not: log in again\n") \
	X("an old session, second group", (machine.device.is_open = false, \
	    machine.account_has_group = true, machine.group_at = 1), \
	  "-> your account is in the group, this session is not: log in again\n") \
	X("a second group that does not help", (machine.device.is_open = false, machine.group_at = 1, \
	    machine.account_has_group = true, machine.session_has_group = true), \
	  "-> run: sudo usermod -aG render ada, then") \
	X("an own group that does not help", (machine.device.is_open = false, machine.account_has_group = true, \
	    machine.is_own_group = true), "-> run: sudo usermod -aG render ada, then") \
	X("a group that does not help", (machine.device.is_open = false, machine.account_has_group = true, \
	    machine.session_has_group = true), "-> run: sudo usermod -aG render ada, then") \
	X("no interface of a device that does not open", machine.device.is_open = false, \
	  "note     interface    not checked: the device cannot be opened\n") \
	X("an older module", machine.abi = NNACCEL_ABI_VERSION - 1, \
	  "problem  interface    the module is older: it has version 1, the libraries 2\n" \
	  "                      -> install nnaccel-dkms " NNACCEL_VERSION ", and boot\n") \
	X("older libraries", machine.abi = NNACCEL_ABI_VERSION + 1, \
	  "problem  interface    the libraries are older: they have version 2, the module 3\n" \
	  "                      -> upgrade nnacceld, nnaccel-tools and the libraries to the module's") \
	X("older libraries: engine", machine.abi = NNACCEL_ABI_VERSION + 1, \
	  "note     engine       not checked: the device cannot be used\n") \
	X("another device", machine.abi = 0, \
	  "problem  interface    /dev/nnaccel: Inappropriate ioctl for device\n" \
	  "                      -> name a device of the module by --device\n") \
	X("interface", (void)0, "ok       interface    version 2 of the module and the libraries\n") \
	X("no engine user", machine.has_engine_user = false, \
	  "problem  engine node  there is no user nnaccel\n" \
	  "                      -> run: sudo systemd-sysusers\n") \
	X("no engine node", machine.engine.is_there = false, \
	  "problem  engine node  /dev/nnaccel-engine: No such file or directory\n" \
	  "                      -> run: sudo udevadm trigger --subsystem-match=misc\n") \
	X("engine node of root", machine.engine.uid = 0, \
	  "problem  engine node  /dev/nnaccel-engine belongs to uid 0, mode 600\n" \
	  "                      -> run: sudo udevadm control --reload;") \
	X("engine node of a group", machine.engine.mode = S_IFCHR | 0610, \
	  "problem  engine node  /dev/nnaccel-engine belongs to uid 900, mode 610\n") \
	X("engine node", (void)0, "ok       engine node  /dev/nnaccel-engine, of the user nnaccel\n") \
	X("no namespaces", (machine.file = "/proc/sys/user/max_user_namespaces", machine.line = "0"), \
	  "problem  namespaces   user namespaces are switched off, which workers are confined by\n" \
	  "                      -> run: sudo sysctl user.max_user_namespaces=16384,") \
	X("root's namespaces", (machine.file = "/proc/sys/kernel/unprivileged_userns_clone", \
	    machine.line = "0"), "problem  namespaces   user namespaces are for root only\n" \
	  "                      -> run: sudo sysctl kernel.unprivileged_userns_clone=1,") \
	X("one namespace", (machine.file = "/proc/sys/user/max_user_namespaces", machine.line = "1"), \
	  "ok       namespaces   user namespaces can be made\n") \
	X("no number of namespaces", (machine.file = "/proc/sys/user/max_user_namespaces", \
	    machine.line = "x"), "ok       namespaces   user namespaces can be made\n") \
	X("another module's device", machine.open_status = NN_DEVICE_UNAVAILABLE, \
	  "problem  engine       not to be opened\n" \
	  "                      -> if the libraries and the tools are of different releases,") \
	X("no context", machine.context_status = NN_DEVICE_UNAVAILABLE, \
	  "problem  engine       no context\n") \
	X("no engine", machine.context.engine = NNACCEL_ENGINE_ABSENT, \
	  "problem  engine       no engine serves the device\n" \
	  "                      -> run: sudo systemctl start nnacceld;") \
	X("engine", (void)0, "ok       engine       serves the device\n" \
	  "ok       worker       GPU, feature level 8\n" \
	  "ok       limits       16 MiB for you, 12 models a client, 1024 open files\n") \
	X("no worker", machine.info_status = NN_GENERAL_FAILURE, \
	  "problem  worker       the engine does not answer: no worker\n" \
	  "                      -> \"journalctl -u nnacceld\" tells what hinders its workers\n") \
	X("255 files", machine.files = 255, \
	  "problem  limits       255 open files are too few: each pool, fence and burst is one\n" \
	  "                      -> run: ulimit -n 1024\n") \
	X("256 files", machine.files = 256, "ok       limits       16 MiB for you, 12 models a client, 256") \
	X("no list", machine.list.is_there = false, \
	  "ok       allowlist    " LIST ": none, so no program gets vendor extensions\n") \
	X("a list of root's", machine.list.is_open = false, \
	  "problem  allowlist    " LIST " cannot be read, so you get no vendor extensions\n" \
	  "                      -> run: sudo chmod 644 " LIST "\n") \
	X("a list of all", machine.list.mode = S_IFREG | 0646, \
	  "problem  allowlist    " LIST " can be written by others than root\n" \
	  "                      -> run: sudo chown root:root " LIST "; sudo chmod 644 " LIST "\n") \
	X("a list of a group", machine.list.mode = S_IFREG | 0664, "problem  allowlist ") \
	X("a list of a user", machine.list.uid = 1, "problem  allowlist ") \
	X("list", (void)0, "ok       allowlist    " LIST "\n") \
	X("no state", machine.state.is_there = false, \
	  "note     cache        /var/lib/nnaccel: No such file or directory; nnacceld makes it when") \
	X("state of root's", machine.state.uid = 0, \
	  "problem  cache        /var/lib/nnaccel belongs to uid 0, mode 700\n" \
	  "                      -> run: sudo chown -R nnaccel:nnaccel /var/lib/nnaccel; sudo chmod 700") \
	X("state of all", machine.state.mode = S_IFDIR | 0701, \
	  "problem  cache        /var/lib/nnaccel belongs to uid 900, mode 701\n") \
	X("a full disk", machine.available = 9, \
	  "problem  cache        /var/lib/nnaccel: its file system is full\n" \
	  "                      -> make room, or run: sudo nnaccel cache clear\n") \
	X("a disk without blocks", (machine.blocks = 0, machine.available = 0), \
	  "ok       cache        /var/lib/nnaccel\n") \
	X("cache", (void)0, "ok       cache        /var/lib/nnaccel\n")

#define LIST NN_CONFIG_DIR "/extensions_app_allowlist"
#define TOOLS_LINE "ok       tools        nnaccel " NNACCEL_VERSION "\n"

static void test_doctor(void **state)
{
	(void)state;
#define TRY(name, spoil, says) \
	do { \
		int status; \
		const char *out; \
		\
		set_up(NULL); \
		spoil; \
		out = print(STDOUT_FILENO, tool_doctor, &status, ""); \
		if (!strstr(out, says) || strncmp(out, TOOLS_LINE, sizeof(TOOLS_LINE) - 1)) \
			fail_msg("%s: it says\n%s", name, out); \
		if ((strstr(out, "problem ") != NULL) != (status == TOOL_FAILED)) \
			fail_msg("%s: exit status %d after\n%s", name, status, out); \
		assert_int_equal(tear_down(NULL), 0); \
	} while (0);
	CASES(TRY)
}

/*
 * The text of `nnaccel doctor` must state the right number of problems, and the JSON output must be
 * correct.
 */
static void test_doctor_counts(void **state)
{
	const char *out;
	int status;

	(void)state;
	machine.module.is_there = false;
	machine.device.is_there = false;
	machine.has_engine_user = false;
	assert_non_null(strstr(print(STDOUT_FILENO, tool_doctor, &status, ""), "\n3 problems\n"));
	machine.device.is_there = true;
	machine.has_engine_user = true;
	assert_non_null(strstr(print(STDOUT_FILENO, tool_doctor, &status, ""), "\n1 problem\n"));
	assert_non_null(strstr(print(STDOUT_FILENO, tool_doctor, &status, "--json"),
			       "}, {\"name\": \"device\", \"verdict\": \"ok\", \"text\": "
			       "\"/dev/nnaccel, mode 660, group render\", \"remedy\": \"\"}, {"));
	assert_int_equal(status, TOOL_FAILED);
	out = print(STDOUT_FILENO, tool_doctor, &status, "--json");
	assert_memory_equal(out, "{\"version\": \"" NNACCEL_VERSION "\", \"checks\": [{\"name\": ", 40);
	assert_string_equal(out + strlen(out) - 4, "}]}\n");
	assert_null(strstr(out, "problem\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_info),
		TEST(test_info_memory),
		TEST(test_info_lines),
		TEST(test_info_without_engine),
		TEST(test_no_name),
		TEST(test_no_clients),
		TEST(test_info_names),
		TEST(test_stat),
		TEST(test_messages),
		TEST(test_intervals),
		TEST(test_stat_names),
		TEST(test_cdi),
		TEST(test_doctor),
		TEST(test_doctor_counts),
	};

	return cmocka_run_group_tests_name("tools report", tests, make_machine, remove_machine);
}
