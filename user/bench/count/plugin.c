/* SPDX-License-Identifier: MIT */
/*
 * A plug-in of qemu-user, which counts the instructions of a program between marks. A mark is a
 * call of getpgid(MARK). The plug-in prints the count at each mark except the first.
 */
#include <stdint.h>
#include <stdio.h>

#include "mark.h"

/*
 * The part of QEMU's plug-in interface (version 1) that this plug-in uses, declared from QEMU's
 * documentation, because no Debian package has the header.
 */
typedef uint64_t qemu_plugin_id_t;

struct qemu_info_t;
struct qemu_plugin_tb;

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void translated_fn(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void system_call_fn(qemu_plugin_id_t id, unsigned int cpu, int64_t number, uint64_t a1,
			    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
			    uint64_t a7, uint64_t a8);

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_fn *fn);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
						     enum qemu_plugin_op op, void *counter,
						     uint64_t value);
extern void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, system_call_fn *fn);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

#define EXPORTED __attribute__((visibility("default")))

extern EXPORTED int qemu_plugin_version;
EXPORTED int qemu_plugin_version = 1;

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
				 char **argv);

/* Counts all threads. Programs that are measured have only one thread. */
static uint64_t counter;
static uint64_t marked;
static int marks;

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &counter,
						 qemu_plugin_tb_n_insns(tb));
}

static void see_call(qemu_plugin_id_t id, unsigned int cpu, int64_t number, uint64_t a1,
		     uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
		     uint64_t a8)
{
	(void)id, (void)cpu, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (number != MARK_CALL_ARM64 || (int32_t)a1 != MARK)
		return;
	if (marks++) {
		printf("%llu\n", (unsigned long long)(counter - marked));
		fflush(stdout);
	}
	marked = counter;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
			char **argv)
{
	(void)info, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
	qemu_plugin_register_vcpu_syscall_cb(id, see_call);
	return 0;
}
