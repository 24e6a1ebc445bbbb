// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: accounting. Charges the memory of contexts to their users, and limits the memory of each
 * user.
 *
 * A user is identified by a user id of the initial namespace. If the process that opens the device
 * is in another user namespace, the owner of the outermost namespace below the initial namespace is
 * charged. A user thus cannot multiply its limits by subordinate ids.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/overflow.h>
#include <linux/seq_file.h>
#include <linux/user_namespace.h>

#include "account.h"

/**
 * struct nnaccel_user - Charges of all contexts of one user
 * @node: account lock: in the table of users
 * @uid: the user id
 * @refs: account lock: accounts of this user
 * @contexts: account lock: open contexts
 * @latency_requests: account lock: CPU-latency requests of bursts
 * @bytes: account lock: pinned memory of pools, buffers and bursts
 * @kernel_bytes: memory of kernel structures, such as commands
 */
struct nnaccel_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int refs;
	unsigned int contexts;
	unsigned int latency_requests;
	u64 bytes;
	atomic_long_t kernel_bytes;
};

/**
 * struct nnaccel_account - Charges of one context
 * @refs: references of the context and of each dma-buf that it allocated
 * @user: the user that is charged
 * @unlimited: the opener has CAP_SYS_RESOURCE, so the user's limits do not
 *	apply
 * @bytes: account lock: pinned memory
 *
 * If a dma-buf outlives its context, the account stays allocated, but the context is freed.
 */
struct nnaccel_account {
	struct kref refs;
	struct nnaccel_user *user;
	bool unlimited;
	u64 bytes;
};

static DEFINE_SPINLOCK(nnaccel_account_lock);
static DEFINE_HASHTABLE(nnaccel_users, 6);
/* Pinned memory of all users; protected by the account lock. */
static u64 nnaccel_total_bytes;

/* Finds or makes the structure of a user, and counts an open context of the user. */
static struct nnaccel_user *nnaccel_user_open(kuid_t uid, bool unlimited)
{
	struct nnaccel_user *new, *user;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);

	spin_lock(&nnaccel_account_lock);
	hash_for_each_possible(nnaccel_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			break;
	if (!user) {
		user = new;
		new = NULL;
		user->uid = uid;
		hash_add(nnaccel_users, &user->node, __kuid_val(uid));
		nnaccel_count(NNACCEL_USERS, 1);
	}
	if (unlimited || user->contexts < READ_ONCE(nnaccel_max_contexts)) {
		user->refs++;
		user->contexts++;
	} else {
		/* The user's structure may be new and without references, if max_contexts is 0. */
		if (!user->refs) {
			hash_del(&user->node);
			nnaccel_count(NNACCEL_USERS, -1);
			new = user;
		}
		user = ERR_PTR(-EDQUOT);
	}
	spin_unlock(&nnaccel_account_lock);
	kfree(new);
	return user;
}

static void nnaccel_user_put(struct nnaccel_user *user)
{
	spin_lock(&nnaccel_account_lock);
	if (--user->refs) {
		user = NULL;
	} else {
		WARN_ON(user->contexts || user->bytes || user->latency_requests ||
			atomic_long_read(&user->kernel_bytes));
		hash_del(&user->node);
		nnaccel_count(NNACCEL_USERS, -1);
	}
	spin_unlock(&nnaccel_account_lock);
	kfree(user);
}

/* Returns the user id that is charged for a context of the calling process. */
static kuid_t nnaccel_current_uid(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_euid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/**
 * nnaccel_account_open() - Makes the account of a new context of the caller
 * @uid: out: the user that is charged
 *
 * Return: the account with one reference, or an error pointer: -ENOMEM, or -EDQUOT if the user has
 * too many contexts.
 */
struct nnaccel_account *nnaccel_account_open(kuid_t *uid)
{
	struct nnaccel_account *account;
	struct nnaccel_user *user;

	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return ERR_PTR(-ENOMEM);
	kref_init(&account->refs);
	account->unlimited = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	*uid = nnaccel_current_uid();
	user = nnaccel_user_open(*uid, account->unlimited);
	if (IS_ERR(user)) {
		kfree(account);
		return ERR_CAST(user);
	}
	account->user = user;
	return account;
}

/**
 * nnaccel_account_close() - Removes a context from the open ones; its memory may stay charged
 * @account: the context's account
 */
void nnaccel_account_close(struct nnaccel_account *account)
{
	spin_lock(&nnaccel_account_lock);
	account->user->contexts--;
	spin_unlock(&nnaccel_account_lock);
}

/**
 * nnaccel_account_get() - Takes a reference to an account
 * @account: the account
 */
void nnaccel_account_get(struct nnaccel_account *account)
{
	kref_get(&account->refs);
}

static void nnaccel_account_free(struct kref *refs)
{
	struct nnaccel_account *account = container_of(refs, struct nnaccel_account, refs);

	WARN_ON(account->bytes);
	nnaccel_user_put(account->user);
	kfree(account);
}

/**
 * nnaccel_account_put() - Drops a reference to an account
 * @account: the account
 */
void nnaccel_account_put(struct nnaccel_account *account)
{
	kref_put(&account->refs, nnaccel_account_free);
}

/**
 * nnaccel_charge() - Charges pinned memory of a pool, a buffer or a burst
 * @account: the context's account
 * @bytes: number of bytes
 *
 * Return: 0 or -EDQUOT.
 */
int nnaccel_charge(struct nnaccel_account *account, u64 bytes)
{
	u64 of_context, of_user, total;
	int ret = -EDQUOT;

	spin_lock(&nnaccel_account_lock);
	if (!check_add_overflow(account->bytes, bytes, &of_context) &&
	    !check_add_overflow(account->user->bytes, bytes, &of_user) &&
	    !check_add_overflow(nnaccel_total_bytes, bytes, &total) &&
	    of_context <= READ_ONCE(nnaccel_max_context_bytes) &&
	    (account->unlimited || (of_user <= READ_ONCE(nnaccel_max_user_bytes) &&
				    total <= READ_ONCE(nnaccel_max_total_bytes)))) {
		account->bytes = of_context;
		account->user->bytes = of_user;
		nnaccel_total_bytes = total;
		nnaccel_count(NNACCEL_POOL_BYTES, bytes);
		ret = 0;
	}
	spin_unlock(&nnaccel_account_lock);
	return ret;
}

/**
 * nnaccel_uncharge() - Reverts a charge of pinned memory
 * @account: the context's account
 * @bytes: number of bytes
 */
void nnaccel_uncharge(struct nnaccel_account *account, u64 bytes)
{
	spin_lock(&nnaccel_account_lock);
	account->bytes -= bytes;
	account->user->bytes -= bytes;
	nnaccel_total_bytes -= bytes;
	nnaccel_count(NNACCEL_POOL_BYTES, -(s64)bytes);
	spin_unlock(&nnaccel_account_lock);
}

/**
 * nnaccel_account_bytes() - Returns the pinned memory that is charged
 * @account: the context's account
 *
 * Return: the charged memory in bytes.
 */
u64 nnaccel_account_bytes(struct nnaccel_account *account)
{
	u64 bytes;

	spin_lock(&nnaccel_account_lock);
	bytes = account->bytes;
	spin_unlock(&nnaccel_account_lock);
	return bytes;
}

/**
 * nnaccel_charge_kernel() - Charges memory of structures
 * @account: the context's account
 * @bytes: number of bytes
 *
 * Charging takes no lock, because every command charges memory.
 *
 * Return: 0 or -EDQUOT.
 */
int nnaccel_charge_kernel(struct nnaccel_account *account, size_t bytes)
{
	unsigned long sum = atomic_long_add_return(bytes, &account->user->kernel_bytes);

	if (sum <= READ_ONCE(nnaccel_max_user_kernel_bytes) || account->unlimited)
		return 0;
	nnaccel_uncharge_kernel(account, bytes);
	return -EDQUOT;
}

/**
 * nnaccel_uncharge_kernel() - Reverts a charge of structures
 * @account: the context's account
 * @bytes: number of bytes
 */
void nnaccel_uncharge_kernel(struct nnaccel_account *account, size_t bytes)
{
	atomic_long_sub(bytes, &account->user->kernel_bytes);
}

/**
 * nnaccel_charge_latency() - Adds a CPU-latency request, unless the user has reached the limit
 * @account: the context's account
 *
 * The limit of CPU-latency requests also applies to privileged users, because each request costs
 * power.
 *
 * Return: true if the request is allowed.
 */
bool nnaccel_charge_latency(struct nnaccel_account *account)
{
	bool may;

	spin_lock(&nnaccel_account_lock);
	may = account->user->latency_requests < READ_ONCE(nnaccel_max_latency_requests);
	account->user->latency_requests += may;
	spin_unlock(&nnaccel_account_lock);
	if (may)
		nnaccel_count(NNACCEL_LATENCY_REQUESTS, 1);
	return may;
}

/**
 * nnaccel_uncharge_latency() - Reverts nnaccel_charge_latency()
 * @account: the context's account
 */
void nnaccel_uncharge_latency(struct nnaccel_account *account)
{
	spin_lock(&nnaccel_account_lock);
	account->user->latency_requests--;
	spin_unlock(&nnaccel_account_lock);
	nnaccel_count(NNACCEL_LATENCY_REQUESTS, -1);
}

/**
 * nnaccel_account_show_users() - Prints a line for each user
 * @m: the output
 */
void nnaccel_account_show_users(struct seq_file *m)
{
	struct nnaccel_user *user;
	int bucket;

	seq_puts(m, "uid contexts pool-bytes kernel-bytes latency-requests\n");
	spin_lock(&nnaccel_account_lock);
	hash_for_each(nnaccel_users, bucket, user, node)
		seq_printf(m, "%u %u %llu %ld %u\n", from_kuid_munged(seq_user_ns(m), user->uid),
			   user->contexts, user->bytes, atomic_long_read(&user->kernel_bytes),
			   user->latency_requests);
	spin_unlock(&nnaccel_account_lock);
}
