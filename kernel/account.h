/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: charges of memory to users. */
#ifndef NNACCEL_ACCOUNT_H
#define NNACCEL_ACCOUNT_H

#include <linux/uidgid.h>

#include "core.h"

/* Bytes charged for a file: the file, its inode and dentry, and the structure of a dma-buf. */
#define NNACCEL_FILE_BYTES	2048

struct nnaccel_account *nnaccel_account_open(kuid_t *uid);
void nnaccel_account_close(struct nnaccel_account *account);
void nnaccel_account_get(struct nnaccel_account *account);
void nnaccel_account_put(struct nnaccel_account *account);
u64 nnaccel_account_bytes(struct nnaccel_account *account);
void nnaccel_account_show_users(struct seq_file *m);
int nnaccel_charge(struct nnaccel_account *account, u64 bytes);
void nnaccel_uncharge(struct nnaccel_account *account, u64 bytes);
int nnaccel_charge_kernel(struct nnaccel_account *account, size_t bytes);
void nnaccel_uncharge_kernel(struct nnaccel_account *account, size_t bytes);
bool nnaccel_charge_latency(struct nnaccel_account *account);
void nnaccel_uncharge_latency(struct nnaccel_account *account);

#endif /* NNACCEL_ACCOUNT_H */
