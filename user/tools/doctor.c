/* SPDX-License-Identifier: MIT */
/*
 * nnaccel doctor: checks the parts of an installation in the order of their dependencies, and
 * prints each problem and its remedy.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "tool.h"
#include "version.h"

#define ENGINE_NODE "/dev/nnaccel-engine"
#define STATE "/var/lib/nnaccel"
#define MAX_GROUPS 256

enum verdict { GOOD, NOTE, PROBLEM, NUM_VERDICTS };

/* The result of a check. `remedy` is empty if the user need not do anything. */
struct finding {
	enum verdict verdict;
	char text[384];
	char remedy[384];
};

struct patient {
	const char *path;		/* the device */
	struct utsname system;
	bool has_module;
	bool has_node;			/* true if the node exists and this user may open it */
	bool has_interface;		/* true if the module has the libraries' ABI */
	struct nna_device *device;	/* open device; NULL if the device cannot be opened */
	bool has_engine;
};

static void set(char *to, size_t size, const char *format, va_list args)
{
	vsnprintf(to, size, format, args);
	tool_make_plain(to);
}

__attribute__((format(printf, 3, 4)))
static void find(struct finding *f, enum verdict verdict, const char *format, ...)
{
	va_list args;

	f->verdict = verdict;
	va_start(args, format);
	set(f->text, sizeof(f->text), format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3)))
static void advise(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(f->remedy, sizeof(f->remedy), format, args);
	va_end(args);
}

/* Returns whether the file can be read and one of its lines contains the text. */
static bool file_has(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	bool has = false;

	if (!file)
		return false;
	while (!has && fgets(line, sizeof(line), file))
		has = strstr(line, text);
	fclose(file);
	return has;
}

/*
 * Returns the number at the beginning of the file, or `otherwise` if the file does not begin with a
 * number.
 */
static long long file_number(const char *path, long long otherwise)
{
	FILE *file = fopen(path, "re");
	long long number;

	if (!file)
		return otherwise;
	if (fscanf(file, "%lld", &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

/* Returns whether the kernel loads only signed modules. */
static bool wants_signatures(void)
{
	return file_has("/sys/module/module/parameters/sig_enforce", "Y") ||
	       file_has("/sys/kernel/security/lockdown", "[integrity]") ||
	       file_has("/sys/kernel/security/lockdown", "[confidentiality]");
}

/* ---- the checks ---- */

static void check_kernel(struct patient *p, struct finding *f)
{
	int major = 0, minor = 0;

	if (sscanf(p->system.release, "%d.%d", &major, &minor) == 2 &&
	    (major > 6 || (major == 6 && minor >= 1))) {
		find(f, GOOD, "%s", p->system.release);
		return;
	}
	find(f, PROBLEM, "%s is older than 6.1, which the module needs", p->system.release);
	advise(f, "boot a newer kernel");
}

static void check_module(struct patient *p, struct finding *f)
{
	char index[sizeof(p->system.release) + 64];

	p->has_module = !access("/sys/module/nnaccel", F_OK);
	if (p->has_module) {
		find(f, GOOD, "loaded");
		return;
	}
	snprintf(index, sizeof(index), "/lib/modules/%s/modules.dep", p->system.release);
	if (!file_has(index, "/nnaccel.ko")) {
		find(f, PROBLEM, "not loaded, and not built for %s", p->system.release);
		advise(f, "install nnaccel-dkms and linux-headers-%s; \"dkms status\" tells what "
		       "became of it", p->system.release);
		return;
	}
	find(f, PROBLEM, "built for this kernel, but not loaded");
	advise(f, "run: sudo modprobe nnaccel");
	if (wants_signatures())
		advise(f, "run: sudo modprobe nnaccel; if its key is rejected: "
		       "sudo mokutil --import /var/lib/dkms/mok.pub, and boot");
}

/*
 * Sets *has_now if the process is in the group, and *has_account if the user's account is in the
 * group.
 */
static void look_for_group(gid_t gid, bool *has_now, bool *has_account)
{
	const struct passwd *user = getpwuid(getuid());
	gid_t groups[MAX_GROUPS];
	int count = getgroups(MAX_GROUPS, groups);

	*has_now = getegid() == gid;
	for (int i = 0; i < count; i++)
		*has_now |= groups[i] == gid;
	*has_account = false;
	count = MAX_GROUPS;
	if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
		return;
	for (int i = 0; i < count; i++)
		*has_account |= groups[i] == gid;
}

static void check_node(struct patient *p, struct finding *f)
{
	const struct group *group;
	bool has_now, has_account;
	struct stat node;
	const char *name;

	if (stat(p->path, &node)) {
		find(f, PROBLEM, "%s: %s", p->path, strerror(errno));
		advise(f, p->has_module ? "it comes with its engine: sudo systemctl start nnacceld" :
		       "it comes with the module and its engine");
		return;
	}
	if (!S_ISCHR(node.st_mode)) {
		find(f, PROBLEM, "%s is not a device", p->path);
		advise(f, "remove it, and load the module again");
		return;
	}
	group = getgrgid(node.st_gid);
	name = group ? group->gr_name : "?";
	p->has_node = !access(p->path, R_OK | W_OK);
	if (p->has_node) {
		find(f, GOOD, "%s, mode %03o, group %s", p->path, node.st_mode & 0777, name);
		return;
	}
	find(f, PROBLEM, "%s, mode %03o, group %s: you may not open it", p->path,
	     node.st_mode & 0777, name);
	look_for_group(node.st_gid, &has_now, &has_account);
	if (has_account && !has_now)
		advise(f, "your account is in the group, this session is not: log in again");
	else
		advise(f, "run: sudo usermod -aG %s %s, then log in again", name,
		       getpwuid(getuid()) ? getpwuid(getuid())->pw_name : "USER");
}

/* Checks that the module has the ABI of the libraries of this program's release. */
static void check_interface(struct patient *p, struct finding *f)
{
	struct nnaccel_info info = { .size = sizeof(info) };
	int fd;

	if (!p->has_node) {
		find(f, NOTE, "not checked: the device cannot be opened");
		return;
	}
	fd = open(p->path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, NNACCEL_INFO, &info)) {
		find(f, PROBLEM, "%s: %s", p->path, strerror(errno));
		advise(f, "name a device of the module by --device");
	} else if (info.abi < NNACCEL_ABI_VERSION) {
		find(f, PROBLEM, "the module is older: it has version %" PRIu32 ", the libraries %u",
		     info.abi, NNACCEL_ABI_VERSION);
		advise(f, "install nnaccel-dkms " NNACCEL_VERSION ", and boot");
	} else if (info.abi > NNACCEL_ABI_VERSION) {
		find(f, PROBLEM, "the libraries are older: they have version %u, the module %" PRIu32,
		     NNACCEL_ABI_VERSION, info.abi);
		advise(f, "upgrade nnacceld, nnaccel-tools and the libraries to the module's release");
	} else {
		p->has_interface = true;
		find(f, GOOD, "version %" PRIu32 " of the module and the libraries", info.abi);
	}
	if (fd >= 0)
		close(fd);
}

static void check_engine_node(struct patient *p, struct finding *f)
{
	const struct passwd *user = getpwnam("nnaccel");
	struct stat node;

	if (!p->has_module) {
		find(f, NOTE, "not checked: there is no module");
	} else if (!user) {
		find(f, PROBLEM, "there is no user nnaccel");
		advise(f, "run: sudo systemd-sysusers");
	} else if (stat(ENGINE_NODE, &node)) {
		find(f, PROBLEM, ENGINE_NODE ": %s", strerror(errno));
		advise(f, "run: sudo udevadm trigger --subsystem-match=misc");
	} else if (node.st_uid != user->pw_uid || node.st_mode & 0077) {
		find(f, PROBLEM, ENGINE_NODE " belongs to uid %u, mode %03o", node.st_uid,
		     node.st_mode & 0777);
		advise(f, "run: sudo udevadm control --reload; sudo udevadm trigger "
		       "--subsystem-match=misc");
	} else {
		find(f, GOOD, "%s, of the user nnaccel", ENGINE_NODE);
	}
}

/* Checks user namespaces, without which nnacceld cannot start workers. */
static void check_namespaces(struct patient *p, struct finding *f)
{
	(void)p;
	if (file_number("/proc/sys/user/max_user_namespaces", 1) == 0) {
		find(f, PROBLEM, "user namespaces are switched off, which workers are confined by");
		advise(f, "run: sudo sysctl user.max_user_namespaces=16384, and put it in /etc/sysctl.d");
	} else if (file_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0) {
		find(f, PROBLEM, "user namespaces are for root only");
		advise(f, "run: sudo sysctl kernel.unprivileged_userns_clone=1, and put it in "
		       "/etc/sysctl.d");
	} else {
		find(f, GOOD, "user namespaces can be made");
	}
}

static void check_engine(struct patient *p, struct finding *f)
{
	struct nna_context_info context = { .size = sizeof(context) };
	struct nn_error err = { "" };

	if (!p->has_interface) {
		find(f, NOTE, "not checked: the device cannot be used");
		return;
	}
	if (nna_device_open(p->path, &p->device, &err) ||
	    nna_device_get_context_info(p->device, &context, &err)) {
		find(f, PROBLEM, "%s", err.message);
		advise(f, "if the libraries and the tools are of different releases, upgrade the older");
		return;
	}
	if (context.engine == NNACCEL_ENGINE_ABSENT) {
		find(f, PROBLEM, "no engine serves the device");
		advise(f, "run: sudo systemctl start nnacceld; \"journalctl -u nnacceld\" tells "
		       "why it ended");
	} else {
		p->has_engine = true;
		find(f, GOOD, "serves the device");
	}
}

/*
 * Queries the device, to find out what prevents the start of workers: the engine answers a query by
 * a worker.
 */
static void check_worker(struct patient *p, struct finding *f)
{
	static struct nn_device_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };

	if (!p->has_engine) {
		find(f, NOTE, "not checked: there is no engine");
	} else if (nna_device_get_info(p->device, &info, &err)) {
		find(f, PROBLEM, "the engine does not answer: %s", err.message);
		advise(f, "\"journalctl -u nnacceld\" tells what hinders its workers");
	} else {
		find(f, GOOD, "%s, feature level %" PRId64, tool_device_type(info.type),
		     (int64_t)info.feature_level);
	}
}

static void check_limits(struct patient *p, struct finding *f)
{
	struct nna_context_info context = { .size = sizeof(context) };
	struct nn_error err = { "" };
	struct rlimit files = { 0 };

	getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 256) {
		find(f, PROBLEM, "%llu open files are too few: each pool, fence and burst is one",
		     (unsigned long long)files.rlim_cur);
		advise(f, "run: ulimit -n 1024");
	} else if (p->device && !nna_device_get_context_info(p->device, &context, &err)) {
		find(f, GOOD, "%" PRIu64 " MiB for you, %" PRIu32 " models a client, %llu open files",
		     context.max_user_bytes >> 20, context.max_models,
		     (unsigned long long)files.rlim_cur);
	} else {
		find(f, GOOD, "%llu open files", (unsigned long long)files.rlim_cur);
	}
}

/* Checks who can write to the allowlist of the programs that get vendor extensions. */
static void check_allowlist(struct patient *p, struct finding *f)
{
	const char *path = NN_CONFIG_DIR "/extensions_app_allowlist";
	struct stat list;

	(void)p;
	if (stat(path, &list)) {
		find(f, errno == ENOENT ? GOOD : PROBLEM, "%s: %s", path,
		     errno == ENOENT ? "none, so no program gets vendor extensions" :
		     strerror(errno));
	} else if (access(path, R_OK)) {
		find(f, PROBLEM, "%s cannot be read, so you get no vendor extensions", path);
		advise(f, "run: sudo chmod 644 %s", path);
	} else if (list.st_mode & 0022 || list.st_uid) {
		find(f, PROBLEM, "%s can be written by others than root", path);
		advise(f, "run: sudo chown root:root %s; sudo chmod 644 %s", path, path);
	} else {
		find(f, GOOD, "%s", path);
	}
}

static void check_cache(struct patient *p, struct finding *f)
{
	const struct passwd *user = getpwnam("nnaccel");
	struct statvfs space;
	struct stat folder;

	(void)p;
	if (stat(STATE, &folder)) {
		find(f, NOTE, STATE ": %s; nnacceld makes it when it starts", strerror(errno));
	} else if (!user || folder.st_uid != user->pw_uid || folder.st_mode & 0077) {
		find(f, PROBLEM, STATE " belongs to uid %u, mode %03o", folder.st_uid,
		     folder.st_mode & 0777);
		advise(f, "run: sudo chown -R nnaccel:nnaccel " STATE "; sudo chmod 700 " STATE);
	} else if (!statvfs(STATE, &space) && space.f_blocks && space.f_bavail < space.f_blocks / 100) {
		find(f, PROBLEM, STATE ": its file system is full");
		advise(f, "make room, or run: sudo nnaccel cache clear");
	} else {
		find(f, GOOD, STATE);
	}
}

static const struct {
	const char *name;
	void (*look)(struct patient *p, struct finding *f);
} checks[] = {
	{ "kernel", check_kernel },
	{ "module", check_module },
	{ "device", check_node },
	{ "interface", check_interface },
	{ "engine node", check_engine_node },
	{ "namespaces", check_namespaces },
	{ "engine", check_engine },
	{ "worker", check_worker },
	{ "limits", check_limits },
	{ "allowlist", check_allowlist },
	{ "cache", check_cache },
};

static int examine(const char *path, bool json)
{
	static const char *const verdicts[NUM_VERDICTS] = { "ok", "note", "problem" };
	struct patient patient = { .path = path };
	int problems = 0;

	uname(&patient.system);
	if (json)
		printf("{\"version\": \"%s\", \"checks\": [", NNACCEL_VERSION);
	else
		printf("%-8s %-12s nnaccel %s\n", verdicts[GOOD], "tools", NNACCEL_VERSION);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding f = { GOOD, "", "" };

		checks[i].look(&patient, &f);
		problems += f.verdict == PROBLEM;
		if (json) {
			printf("%s{\"name\": \"%s\", \"verdict\": \"%s\", \"text\": ",
			       i ? ", " : "", checks[i].name, verdicts[f.verdict]);
			tool_json_string(f.text);
			printf(", \"remedy\": ");
			tool_json_string(f.remedy);
			putchar('}');
			continue;
		}
		printf("%-8s %-12s %s\n", verdicts[f.verdict], checks[i].name, f.text);
		if (*f.remedy)
			printf("%-8s %-12s -> %s\n", "", "", f.remedy);
	}
	if (json)
		puts("]}");
	else if (problems)
		printf("%d problem%s\n", problems, problems == 1 ? "" : "s");
	nna_device_close(patient.device);
	return problems ? TOOL_FAILED : TOOL_OK;
}

int tool_doctor(int argc, char **argv)
{
	struct arguments {
		const char *path;
		bool json, help;
	} a = { .path = NNA_DEVICE_PATH };
	static const struct option_row options[] = {
		{ "json", NULL, "JSON instead of text", OPTION_FLAG,
		  OPTION_AT(struct arguments, json) },
		{ "device", "PATH", "path of the device (default " NNA_DEVICE_PATH ")", OPTION_TEXT,
		  OPTION_AT(struct arguments, path) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "doctor",
		.about = "doctor [OPTION]...\n\n"
		"Looks at kernel, module, device, permissions, engine, limits, the list of\n"
		"programs that get extensions and the compilation cache, and says what to\n"
		"do about what is wrong. Changes nothing. Exit status 1: there is a problem.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
	};
	int status = tool_options(&command, argc, argv, &a, NULL);

	return status == TOOL_GO_ON ? examine(a.path, a.json) : status;
}
