/* SPDX-License-Identifier: MIT */
/* Counts the files that the process has open: a test compares the numbers before and after. */
#ifndef NN_TESTS_OPEN_FILES_H
#define NN_TESTS_OPEN_FILES_H

#include <dirent.h>

/* Returns the number of entries of /proc/self/fd. A few of them always exist. */
static inline int count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

#endif /* NN_TESTS_OPEN_FILES_H */
