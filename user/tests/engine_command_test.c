/* SPDX-License-Identifier: MIT */
/*
 * Tests the parser of commands from the kernel with a valid command of each kind, and with each
 * fault that a command can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/round.h"
#include "kit/session/command.h"
#include "tests/heap_blocks.h"

#define READ NNACCEL_PROT_READ
#define WRITE NNACCEL_PROT_WRITE
#define BYTES 4096

/* The parts of a command; pack() concatenates the parts. */
static struct {
	struct nnaccel_cmd head;
	struct nnaccel_grant grants[3];
	struct nnaccel_arg args[NNACCEL_MAX_CACHE_PARTS + 2];	/* parts, an input and an output */
	struct nnaccel_cmd_role role;
	uint8_t attributes[8];
	struct nnaccel_format formats[2];
} m;

/* The command that the parser gets. */
static union {
	struct nnaccel_cmd head;
	char bytes[8192];
} buffer;

static size_t pack(void)
{
	const struct {
		const void *from;
		size_t size;
	} pieces[] = {
		{ &m.head, sizeof(m.head) },
		{ m.grants, m.head.num_grants * sizeof(m.grants[0]) },
		{ m.args, (m.head.num_inputs + m.head.num_outputs) * sizeof(m.args[0]) },
		{ &m.role, m.head.num_roles * sizeof(m.role) },
		{ m.attributes, m.head.attributes_size },
	};
	char *at = buffer.bytes;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		memcpy(at, pieces[i].from, pieces[i].size);
		at += pieces[i].size;
	}
	if (m.head.num_formats) {
		size_t size = m.head.num_formats * sizeof(m.formats[0]);

		at = buffer.bytes + round_up((uint64_t)(at - buffer.bytes), 8);
		memcpy(at, m.formats, size);
		at += size;
	}
	buffer.head.size = (uint32_t)(at - buffer.bytes);
	return buffer.head.size;
}

static void expect_of(size_t size, const char *reason)
{
	struct nn_error err = { "" };
	struct command c;
	enum nn_status status = command_parse(&buffer, size, &c, &err);

	if (!reason && status)
		fail_msg("%s", err.message);
	if (reason && (status != NN_GENERAL_FAILURE || !strstr(err.message, reason)))
		fail_msg("\"%s\" does not say \"%s\"", err.message, reason);
}

/*
 * Parses the command. If `reason` is NULL, the parser must accept the command; otherwise the
 * parser's error message must contain `reason`.
 */
static void expect(const char *reason)
{
	expect_of(pack(), reason);
}

static void make(uint32_t kind)
{
	static const uint32_t grants[] = {
		[NNACCEL_DO_SUPPORTED] = 1, [NNACCEL_DO_PREPARE] = 1, [NNACCEL_DO_EXECUTE] = 2,
		[NNACCEL_DO_PREPARE_CACHED] = 2, [NNACCEL_DO_CACHE_SAVE] = 2, [NNACCEL_DO_BUFFER] = 1,
		[NNACCEL_DO_COPY_IN] = 2, [NNACCEL_DO_COPY_OUT] = 2,
	};

	memset(&m, 0, sizeof(m));
	m.head.kind = kind;
	m.head.num_grants = kind < sizeof(grants) / sizeof(grants[0]) ? grants[kind] : 0;
	m.head.wire_length = m.head.num_grants ? 16 : 0;
	m.head.num_inputs = m.head.num_outputs = kind == NNACCEL_DO_EXECUTE ||
						 kind == NNACCEL_DO_PREPARE_CACHED ||
						 kind == NNACCEL_DO_CACHE_SAVE;
	m.head.num_roles = kind == NNACCEL_DO_BUFFER;
	for (int i = 0; i < 3; i++)
		m.grants[i] = (struct nnaccel_grant){ .prot = READ | WRITE, .length = BYTES };
	m.args[0] = (struct nnaccel_arg){ .pool = 0, .length = 16 };
	m.args[1] = (struct nnaccel_arg){ .pool = 1, .length = 16 };
}

/* Makes a valid command, changes the command by the statement `change`, and parses the command. */
#define CASE(kind, change, reason) do { make(NNACCEL_DO_##kind); change; expect(reason); } while (0)

static void test_kinds(void **state)
{
	static const uint32_t kinds[] = {
		NNACCEL_DO_QUERY, NNACCEL_DO_FORGET_MODEL, NNACCEL_DO_FORGET_GRANT, NNACCEL_DO_BURST,
		NNACCEL_DO_BURST_GONE, NNACCEL_DO_SLOT_GONE, NNACCEL_DO_SUPPORTED, NNACCEL_DO_PREPARE,
		NNACCEL_DO_EXECUTE, NNACCEL_DO_PREPARE_CACHED, NNACCEL_DO_CACHE_SAVE, NNACCEL_DO_BUFFER,
		NNACCEL_DO_COPY_IN, NNACCEL_DO_COPY_OUT,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		make(kinds[i]);
		expect(NULL);
	}
	make(4711);
	expect("unknown kind");
}

static void test_sizes(void **state)
{
	size_t size;

	(void)state;
	make(NNACCEL_DO_EXECUTE);
	m.head.attributes_size = 8;
	expect(NULL);
	size = pack();
	expect_of(size, NULL);
	expect_of(size - 8, "its size and its counts differ");
	expect_of(sizeof(struct nnaccel_cmd) - 1, "shorter than its head");
	buffer.head.attributes_size = 0;
	expect_of(size, "its size and its counts differ");
	buffer.head.size = (uint32_t)size - 8;
	expect_of(size, "its size and its counts differ");
	/*
	 * One count after another exceeds its limit, in the reverse order of the parser's checks.
	 * The parser checks the counts before the command's size.
	 */
	buffer.head.attributes_size = NNACCEL_MAX_ATTRIBUTES + 1;
	expect_of(size, "too many attributes");
	buffer.head.num_roles = NNACCEL_MAX_ROLES + 1;
	expect_of(size, "too many roles");
	buffer.head.num_inputs = NNACCEL_MAX_ARGS;
	expect_of(size, "too many arguments");
	buffer.head.num_grants = NNACCEL_MAX_CMD_POOLS + NNACCEL_MAX_CMD_BUFFERS + 1;
	expect_of(size, "too many memories");
	/*
	 * A command whose counts equal their limits passes the checks of the counts; the parser
	 * then rejects the command because its size is wrong.
	 */
	make(NNACCEL_DO_QUERY);
	size = pack();
	buffer.head.num_grants = NNACCEL_MAX_CMD_POOLS + NNACCEL_MAX_CMD_BUFFERS;
	buffer.head.num_inputs = NNACCEL_MAX_ARGS;
	buffer.head.num_roles = NNACCEL_MAX_ROLES;
	buffer.head.attributes_size = NNACCEL_MAX_ATTRIBUTES;
	expect_of(size, "its size and its counts differ");
}

static void test_grants(void **state)
{
	(void)state;
	CASE(EXECUTE, m.grants[0].prot = READ, NULL);
	CASE(EXECUTE, m.grants[0].prot = READ | NNACCEL_PROT_SYNC, NULL);
	CASE(EXECUTE, m.grants[1].prot = WRITE, "wrong protection of a grant");
	CASE(EXECUTE, m.grants[1].prot |= 1 << 30, "wrong protection of a grant");
	CASE(EXECUTE, m.grants[1].prot |= NNACCEL_PROT_DEVICE, NULL);
	CASE(PREPARE, m.grants[0].prot |= NNACCEL_PROT_DEVICE, "wrong protection of a grant");
	CASE(EXECUTE, m.grants[1].length = 0, "wrong length of a grant");
	CASE(EXECUTE, m.grants[1].length = INT64_MAX / 2, NULL);
	CASE(EXECUTE, m.grants[1].length = INT64_MAX / 2 + 1, "wrong length of a grant");
	/*
	 * A SUPPORTED command may have unreadable pools, but grant 0, which holds the serialised
	 * model, must be readable.
	 */
	CASE(SUPPORTED, (m.head.num_grants = 2, m.grants[1].prot = 0), NULL);
	CASE(SUPPORTED, m.grants[0].prot = 0, "wrong protection of a grant");
	CASE(PREPARE, (m.head.num_grants = 2, m.grants[1].prot = 0), "wrong protection of a grant");
}

static void test_formats(void **state)
{
	struct nn_error err;
	struct command c;
	size_t size;

	(void)state;
	make(NNACCEL_DO_EXECUTE);
	for (int i = 0; i < 2; i++) {
		m.grants[i].prot |= NNACCEL_PROT_FORMATTED;
		m.formats[i] = (struct nnaccel_format){ .width = 4 + i, .num_planes = 1 + 3 * i };
	}
	expect("wrong number of formats");
	m.head.num_formats = 2;
	m.head.attributes_size = 3;
	size = pack();
	assert_int_equal(command_parse(&buffer, size, &c, &err), NN_OK);
	assert_memory_equal(c.formats, m.formats, sizeof(m.formats));
	expect_of(size - 1, "its size and its counts differ");
	m.formats[1].num_planes = NNACCEL_MAX_PLANES + 1;
	expect("wrong number of planes of a format");
	m.formats[1].num_planes = 0;
	expect("wrong number of planes of a format");
	m.grants[1].prot = READ | WRITE;
	expect("wrong number of formats");
}

static void test_arguments(void **state)
{
	(void)state;
	CASE(EXECUTE, m.args[0].flags = NNACCEL_ARG_BUFFER, NULL);
	CASE(EXECUTE, m.args[0].flags = 1 << 30, "unknown flags of an argument");
	CASE(EXECUTE, m.args[0].rank = NNACCEL_MAX_RANK, NULL);
	CASE(EXECUTE, m.args[0].rank = NNACCEL_MAX_RANK + 1, "wrong rank of an argument");
	CASE(EXECUTE, m.args[0].pool = 1, NULL);
	CASE(EXECUTE, m.args[0].pool = 2, "unknown pool of an argument");
	CASE(EXECUTE, (m.args[0].pool = 2, m.args[0].flags = NNACCEL_ARG_NO_VALUE), NULL);
	CASE(EXECUTE, (m.args[0].offset = BYTES, m.args[0].length = 0), NULL);
	CASE(EXECUTE, (m.args[0].offset = BYTES + 1, m.args[0].length = 0), "outside its pool");
	CASE(EXECUTE, m.args[0].offset = BYTES - 16, NULL);
	CASE(EXECUTE, m.args[0].offset = BYTES - 15, "outside its pool");
	CASE(EXECUTE, m.args[1].offset = BYTES - 15, "outside its pool");
	CASE(EXECUTE, m.grants[1].prot = READ, "not writable");
}

static void test_buffers(void **state)
{
	(void)state;
	CASE(BUFFER, m.head.num_grants = 2, "a buffer must be one memory");
	CASE(BUFFER, m.head.num_roles = 0, "a buffer without a role");
	CASE(BUFFER, m.role.kind = NNACCEL_ROLE_OUTPUT, NULL);
	CASE(BUFFER, m.role.kind = NNACCEL_ROLE_OUTPUT + 1, "unknown kind of a role");
}

static void test_models(void **state)
{
	(void)state;
	CASE(PREPARE, m.head.num_grants = 0, "without a wire form");
	CASE(PREPARE, (m.head.wire_length = NNACCEL_MAX_WIRE, m.grants[0].length = NNACCEL_MAX_WIRE), NULL);
	CASE(PREPARE, (m.head.wire_length = NNACCEL_MAX_WIRE + 1, m.grants[0].length = INT64_MAX / 2),
	     "wrong length of a wire form");
	CASE(PREPARE, m.head.wire_offset = BYTES - 16, NULL);
	CASE(PREPARE, m.head.wire_offset = BYTES - 15, "wire form lies outside");
	CASE(PREPARE, (m.head.wire_offset = BYTES, m.head.wire_length = 0), NULL);
	CASE(PREPARE, (m.head.wire_offset = BYTES + 1, m.head.wire_length = 0), "wire form lies outside");
}

static void test_copies(void **state)
{
	(void)state;
	CASE(COPY_IN, m.head.num_grants = 1, "a copy must name two memories");
	CASE(COPY_IN, m.head.wire_length = BYTES, NULL);
	CASE(COPY_IN, m.head.wire_length = 0, "wrong length of a copy");
	CASE(COPY_IN, m.grants[0].length = 15, "wrong length of a copy");
	CASE(COPY_IN, m.grants[1].length = 15, "wrong length of a copy");
	CASE(COPY_IN, m.grants[0].prot = READ, "wrong protection of a copy");
	CASE(COPY_IN, m.grants[1].prot = READ, NULL);
	CASE(COPY_OUT, m.grants[1].prot = READ, "wrong protection of a copy");
	CASE(COPY_OUT, m.grants[0].prot = READ, NULL);
}

/*
 * Parses a saved model with the given numbers of model parts and data parts; only the first two
 * parts have a value. Expects the error `reason`, or no error if `reason` is NULL.
 */
static void expect_parts(uint32_t model, uint32_t data, const char *reason)
{
	make(NNACCEL_DO_PREPARE_CACHED);
	m.head.num_inputs = model;
	m.head.num_outputs = data;
	for (uint32_t i = 2; i < model + data; i++)
		m.args[i].flags = NNACCEL_ARG_NO_VALUE;
	expect(reason);
}

static void test_saved_models(void **state)
{
	(void)state;
	expect_parts(NNACCEL_MAX_CACHE_PARTS, 1, NULL);
	expect_parts(NNACCEL_MAX_CACHE_PARTS + 1, 1, "wrong number of parts");
	expect_parts(1, NNACCEL_MAX_CACHE_PARTS, NULL);
	expect_parts(1, NNACCEL_MAX_CACHE_PARTS + 1, "wrong number of parts");
	CASE(PREPARE_CACHED, m.head.num_outputs = 0, "wrong number of parts");
	CASE(PREPARE_CACHED, (m.head.num_grants = 1, m.head.num_outputs = 0), NULL);
	CASE(PREPARE_CACHED, (m.head.num_grants = 1, m.args[1].flags = NNACCEL_ARG_NO_VALUE), NULL);
	CASE(PREPARE_CACHED, m.args[1].flags = NNACCEL_ARG_NO_VALUE, "wrong number of parts");
	CASE(PREPARE_CACHED, (m.head.num_grants = m.head.num_inputs = m.head.num_outputs = 0),
	     "wrong number of parts");
	CASE(PREPARE_CACHED, m.grants[0].prot = m.grants[1].prot = READ, NULL);
	CASE(PREPARE_CACHED, (m.args[0].pool = 1, m.args[1].pool = 0), "unknown grant of a part");
	CASE(PREPARE_CACHED, m.args[1].pool = 0, "unknown grant of a part");
	CASE(CACHE_SAVE, (m.head.num_grants = 0, m.args[0].flags = m.args[1].flags =
			  NNACCEL_ARG_NO_VALUE), NULL);
	CASE(CACHE_SAVE, m.args[0].flags = NNACCEL_ARG_BUFFER, "unknown grant of a part");
	CASE(CACHE_SAVE, m.head.num_grants = 3, "wrong number of parts");
	CASE(CACHE_SAVE, m.head.num_grants = 1, "unknown pool of an argument");
	CASE(CACHE_SAVE, (m.args[0].length = m.grants[0].length = NNACCEL_MAX_WIRE), NULL);
	CASE(CACHE_SAVE, (m.args[0].length = m.grants[0].length = NNACCEL_MAX_WIRE + 1),
	     "wrong length of a part");
	CASE(CACHE_SAVE, (m.head.num_inputs = 2, m.head.num_outputs = 0,
			  m.args[0].length = m.grants[0].length = NNACCEL_MAX_WIRE),
	     "wrong length of a part");
	CASE(CACHE_SAVE, (m.args[1].length = m.grants[1].length = NNACCEL_MAX_WIRE + 1), NULL);
	CASE(CACHE_SAVE, m.args[0].offset = BYTES - 15, "lies outside");
	CASE(CACHE_SAVE, m.args[1].offset = BYTES + 1, "lies outside");
	CASE(CACHE_SAVE, m.grants[0].prot = READ, "not writable");
	CASE(CACHE_SAVE, m.grants[1].prot = READ, "not writable");
}

static void test_statuses(void **state)
{
	(void)state;
	assert_int_equal(command_status(NN_OUT_OF_MEMORY), NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_int_equal(command_status(NN_DEAD_OBJECT), NNACCEL_STATUS_DEVICE_UNAVAILABLE);
	assert_int_equal(command_status(NN_OK), NNACCEL_STATUS_NONE);
	assert_int_equal(command_status(NN_INVALID_ARGUMENT), NNACCEL_STATUS_INVALID_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_kinds),
		heap_unit_test(test_sizes),
		heap_unit_test(test_grants),
		heap_unit_test(test_formats),
		heap_unit_test(test_arguments),
		heap_unit_test(test_buffers),
		heap_unit_test(test_models),
		heap_unit_test(test_copies),
		heap_unit_test(test_saved_models),
		heap_unit_test(test_statuses),
	};

	return cmocka_run_group_tests_name("engine_command", tests, NULL, NULL);
}
