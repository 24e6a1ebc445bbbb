/* SPDX-License-Identifier: MIT */
/* A shared object that is not an extension, because it exports no descriptor. */
int nothing(void);

int nothing(void)
{
	return 0;
}
