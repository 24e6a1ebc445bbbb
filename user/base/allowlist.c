/* SPDX-License-Identifier: MIT */
/*
 * The list of programs that may use vendor extensions.
 */
#include "base/allowlist.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maximum number of bytes that are read from a file; bytes beyond MAX_SIZE are ignored. */
#define MAX_SIZE (1024 * 1024)

/*
 * Default prefixes of paths. Listed programs below trusted_prefixes may use extensions. Programs
 * below system_prefixes belong to the system, and may not use extensions.
 */
static const char *const trusted_prefixes[] = { "/usr/local/", "/opt/", "/srv/", "/home/" };
static const char *const system_prefixes[] = { "/usr/", "/bin/", "/sbin/", "/lib/" };

/* ---- files ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Replaces the end of each line, and blanks before the end, by NULs. */
static void split(struct allowlist_file *f)
{
	f->text[f->size] = '\0';
	for (size_t i = f->size; i-- > 0; ) {
		bool is_end = f->text[i + 1] == '\0';

		if (f->text[i] == '\n' || (is_end && strchr(" \t\r", f->text[i])))
			f->text[i] = '\0';
	}
}

static void read_text(struct allowlist_file *f, int fd)
{
	ssize_t n = 1;

	f->text = malloc(MAX_SIZE + 1);
	while (f->text && f->size < MAX_SIZE && n > 0) {
		n = read(fd, f->text + f->size, MAX_SIZE - f->size);
		if (n > 0)
			f->size += (size_t)n;
	}
	if (f->text)
		split(f);
}

static void forget(struct allowlist_file *f)
{
	free(f->text);
	*f = (struct allowlist_file){ .path = f->path };
}

static void refresh(struct allowlist_file *f)
{
	struct stat now;
	bool exists = !stat(f->path, &now);
	int fd;

	if (f->known && exists == f->exists && (!exists || is_same(&now, &f->seen)))
		return;
	forget(f);
	f->known = true;
	fd = exists ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	/*
	 * Use fstat() on the opened file, because the file may have been replaced after the last
	 * stat().
	 */
	f->exists = !fstat(fd, &f->seen) && S_ISREG(f->seen.st_mode);
	if (f->exists)
		read_text(f, fd);
	close(fd);
}

/*
 * Returns the line after `line`, or the first line if `line` is NULL. Returns NULL if `line` is the
 * last line.
 */
static const char *next_line(const struct allowlist_file *f, const char *line)
{
	if (!f->text)
		return NULL;
	line = line ? line + strlen(line) + 1 : f->text;
	return line < f->text + f->size ? line : NULL;
}

/* ---- the configuration: lines "key value" ---- */

/* Returns the value of a line "key value" if the line has the key `key`, otherwise NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) || (line[length] != ' ' && line[length] != '\t'))
		return NULL;
	return line + length + strspn(line + length, " \t");
}

static bool trusts_names(const struct allowlist_file *config)
{
	bool trusts = false;
	const char *value;

	for (const char *line = NULL; (line = next_line(config, line)); ) {
		value = value_of(line, "trust-app-name");
		if (value)
			trusts = !strcmp(value, "yes");
	}
	return trusts;
}

/*
 * Returns the length of `prefix` if `path` begins with it, otherwise 0. A prefix matches only whole
 * names of folders: "/usr" does not match "/usrlocal".
 */
static size_t match(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	while (length && prefix[length - 1] == '/')
		length--;
	if (prefix[0] != '/' || strncmp(path, prefix, length) || path[length] != '/')
		return 0;
	return length + 1;
}

/*
 * Returns the length of the longest prefix with which the path begins. The prefixes are the values
 * of `key` in the configuration or, if the configuration lacks the key, the prefixes in `usual`.
 */
static size_t longest(const struct allowlist_file *config, const char *key,
		      const char *const *usual, size_t count, const char *path)
{
	size_t best = 0, length;
	bool configured = false;
	const char *value;

	for (const char *line = NULL; (line = next_line(config, line)); ) {
		value = value_of(line, key);
		if (!value)
			continue;
		configured = true;
		length = match(path, value);
		best = length > best ? length : best;
	}
	for (size_t i = 0; !configured && i < count; i++) {
		length = match(path, usual[i]);
		best = length > best ? length : best;
	}
	return best;
}

/* ---- the list ---- */

static bool counts(const char *line)
{
	return line[0] == '/' || strchr(line, '.');
}

static bool lists(const struct allowlist_file *list, const char *entry)
{
	for (const char *line = NULL; (line = next_line(list, line)); )
		if (counts(line) && !strcmp(line, entry))
			return true;
	return false;
}

static bool lists_name(const struct allowlist_file *list, const char *name)
{
	return name && name[0] != '/' && strchr(name, '.') && lists(list, name);
}

/* ---- what the service manager and the security module call a program ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
	return length > strlen(end) && !strncmp(text + length - strlen(end), end, strlen(end));
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/*
 * Decodes the sequences \xHH, by which the service manager writes special characters in names of
 * units.
 */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		int high = -1, low = -1;

		if (text[0] == '\\' && text[1] == 'x' && (high = hex_digit(text[2])) >= 0)
			low = hex_digit(text[3]);
		if (low >= 0 && (high || low)) {
			*to++ = (char)(high << 4 | low);
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/*
 * Replaces the name of an application's unit by the application's id, which is part of the unit's
 * name.
 */
static void cut_application(char *name, bool is_scope)
{
	char *end = strrchr(name, '.'), *id;

	*end = '\0';
	end = strrchr(name, is_scope ? '-' : '@');
	if (end && end > name + strlen("app-"))
		*end = '\0';
	id = strrchr(name, '-') + 1;
	memmove(name, id, strlen(id) + 1);
	unescape(name);
}

bool allowlist_unit_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE])
{
	bool is_users = false, is_scope = false, found = false;

	while (*cgroup) {
		size_t length = strcspn(cgroup, "/");
		bool scope = ends_with(cgroup, length, ".scope");

		/* Users choose the names of the units below the cgroup user.slice. */
		if (length == strlen("user.slice") && !strncmp(cgroup, "user.slice", length))
			is_users = true;
		if ((scope || ends_with(cgroup, length, ".service")) &&
		    length < ALLOWLIST_NAME_SIZE) {
			memcpy(name, cgroup, length);
			name[length] = '\0';
			is_scope = scope;
			found = true;
		}
		cgroup += length;
		cgroup += *cgroup == '/';
	}
	if (found && !strncmp(name, "app-", strlen("app-")))
		cut_application(name, is_scope);
	else if (is_users || is_scope)
		found = false;
	return found && name[0];
}

bool allowlist_service_name(const char *cgroup, char name[ALLOWLIST_NAME_SIZE])
{
	size_t length;

	for (;; cgroup += length) {
		cgroup += *cgroup == '/';
		length = strcspn(cgroup, "/");
		if (length == strlen("user.slice") && !strncmp(cgroup, "user.slice", length))
			return false;
		if (!ends_with(cgroup, length, ".slice"))
			break;
	}
	if (!ends_with(cgroup, length, ".service") || length >= ALLOWLIST_NAME_SIZE)
		return false;
	memcpy(name, cgroup, length);
	name[length] = '\0';
	return true;
}

/*
 * Checks whether the list has the line "label LABEL" with the given label. A label of AppArmor is
 * valid only if its profile is enforced.
 */
static bool lists_label(const struct allowlist_file *list, const char *label)
{
	size_t length = strcspn(label, "\n");
	const char *value, *mode = strstr(label, " (");

	if (mode && strncmp(mode, " (enforce)", length - (size_t)(mode - label)))
		return false;
	if (mode)
		length = (size_t)(mode - label);
	for (const char *line = NULL; length && (line = next_line(list, line)); ) {
		value = value_of(line, "label");
		if (value && strlen(value) == length && !strncmp(value, label, length))
			return true;
	}
	return false;
}

/*
 * Checks whether the list has the application's name or label, which neither the program nor its
 * path can change.
 */
static bool lists_application(const struct allowlist_file *list,
			      const struct allowlist_program *program)
{
	char name[ALLOWLIST_NAME_SIZE];

	return (program->cgroup && allowlist_unit_name(program->cgroup, name) &&
		lists_name(list, name)) ||
	       (program->label && lists_label(list, program->label));
}

bool allowlist_admits_service(struct allowlist *a, const char *cgroup, const char *label)
{
	const struct stat *seen = &a->list.seen;
	char name[ALLOWLIST_NAME_SIZE];

	refresh(&a->list);
	if (!a->list.exists || (seen->st_uid && seen->st_uid != geteuid()) ||
	    seen->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return (cgroup && allowlist_service_name(cgroup, name) && lists_name(&a->list, name)) ||
	       (label && lists_label(&a->list, label));
}

/* Properties of a path, which follow from the longest prefixes that match the path. */
struct place {
	bool trusted;
	bool of_system;
};

static struct place place_of(const struct allowlist *a, const char *path)
{
	size_t trusted = longest(&a->config, "trusted-prefix", trusted_prefixes,
				 sizeof(trusted_prefixes) / sizeof(trusted_prefixes[0]), path);
	size_t system = longest(&a->config, "system-prefix", system_prefixes,
				sizeof(system_prefixes) / sizeof(system_prefixes[0]), path);

	/* A prefix that is both a trusted prefix and a system prefix counts as a system prefix. */
	return (struct place){ .trusted = trusted, .of_system = system && system >= trusted };
}

bool allowlist_admits(struct allowlist *a, const struct allowlist_program *program,
		      const char **reason)
{
	const char *path = program->path;
	struct place place;
	bool is_listed;

	refresh(&a->list);
	refresh(&a->config);
	*reason = NULL;
	if (!path || path[0] != '/') {
		*reason = "the program's path is not known";
		return false;
	}
	place = place_of(a, path);
	is_listed = lists_application(&a->list, program);
	if (is_listed && place.of_system && program->script)
		place = place_of(a, program->script);
	is_listed |= lists(&a->list, path);
	if (place.of_system)
		*reason = "programs of the system may not use extensions";
	else if (!a->list.exists)
		*reason = "there is no list of those that may use extensions";
	else if (is_listed && place.trusted)
		return true;
	else if (trusts_names(&a->config) && lists_name(&a->list, program->name))
		return true;
	else if (is_listed)
		*reason = "the program is listed, but under no trusted prefix";
	else
		*reason = "the program is not in the list of those that may use extensions";
	return false;
}

void allowlist_free(struct allowlist *a)
{
	forget(&a->list);
	forget(&a->config);
}
