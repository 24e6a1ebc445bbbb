/* SPDX-License-Identifier: MIT */
/*
 * Counts the process's open files, so that a test can check that it closes all files.
 */
#ifndef NN_TESTS_OPEN_FILES_H
#define NN_TESTS_OPEN_FILES_H

#include <dirent.h>

/*
 * Returns the number of entries of /proc/self/fd. A few entries, such as "." and "..", are no open
 * files of the test.
 */
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
