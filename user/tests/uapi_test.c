/* SPDX-License-Identifier: MIT */
/*
 * Checks the sizes, offsets and numbers of include/uapi/linux/nnaccel.h. A change of the header's
 * sizes, offsets or numbers breaks programs that are already built.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/nnaccel.h>

struct entry {
	const char *name;
	size_t value;
	size_t expected;
};

#define SIZE(type, size)		{ #type, sizeof(struct type), size }
#define OFFSET(type, member, offset)	{ #type "." #member, offsetof(struct type, member), offset }
#define NUMBER(name, number)		{ #name, name, number }

static const struct entry sizes[] = {
	SIZE(nnaccel_info, 152),
	SIZE(nnaccel_destroy, 8),
	SIZE(nnaccel_pool_alloc, 24),
	SIZE(nnaccel_pool_import, 112),
	SIZE(nnaccel_pool_export, 16),
	SIZE(nnaccel_query, 24),
	SIZE(nnaccel_supported, 72),
	SIZE(nnaccel_supported, 72),
	SIZE(nnaccel_prepare, 88),
	SIZE(nnaccel_arg, 96),
	SIZE(nnaccel_shape, 72),
	SIZE(nnaccel_execute, 136),
	SIZE(nnaccel_uring_submit, 16),
	SIZE(nnaccel_cancel, 24),
	SIZE(nnaccel_role, 16),
	SIZE(nnaccel_buffer_alloc, 48),
	SIZE(nnaccel_buffer_copy, 56),
	SIZE(nnaccel_engine_next, 40),
	SIZE(nnaccel_engine_session, 24),
	SIZE(nnaccel_engine_refuse, 16),
	SIZE(nnaccel_engine_opener, 32),
	SIZE(nnaccel_engine_register, 192),
	SIZE(nnaccel_session_attach, 8),
	SIZE(nnaccel_grant, 16),
	SIZE(nnaccel_cmd, 144),
	SIZE(nnaccel_cache_part, 24),
	SIZE(nnaccel_prepare_cached, 104),
	SIZE(nnaccel_cache_save, 88),
	SIZE(nnaccel_cmd_role, 24),
	SIZE(nnaccel_model_memory, 24),
	SIZE(nnaccel_session_fetch, 24),
	SIZE(nnaccel_session_commit, 72),
	SIZE(nnaccel_session_slot, 208),
	SIZE(nnaccel_session_sync, 16),
	SIZE(nnaccel_session_grant_fd, 32),
	SIZE(nnaccel_session_fence, 24),
	SIZE(nnaccel_format, 176),
	SIZE(nnaccel_plane, 16),
	SIZE(nnaccel_format_plane, 40),
	SIZE(nnaccel_burst_create, 40),
	SIZE(nnaccel_submit, 56),
	SIZE(nnaccel_wait, 40),
	SIZE(nnaccel_sync_file, 16),
	SIZE(nnaccel_burst_slot, 24),
	SIZE(nnaccel_burst_status, 20),
	SIZE(nnaccel_ring_control, NNACCEL_RING_LINES),
	SIZE(nnaccel_datum, 20),
	SIZE(nnaccel_line, 64),
};

/*
 * The offset of the last member of each structure. The last member's offset and the structure's
 * size show that the structure has no hidden padding at its end.
 */
static const struct entry offsets[] = {
	OFFSET(nnaccel_info, bursts, 92),
	OFFSET(nnaccel_info, buffers, 100),
	OFFSET(nnaccel_info, device, 104),
	OFFSET(nnaccel_info, engine_wait_ms, 108),
	OFFSET(nnaccel_info, name, 112),
	OFFSET(nnaccel_info, features, 144),
	OFFSET(nnaccel_engine_register, name, 16),
	OFFSET(nnaccel_engine_register, version, 48),
	OFFSET(nnaccel_engine_register, bus, 112),
	OFFSET(nnaccel_engine_register, hardware, 128),
	OFFSET(nnaccel_destroy, id, 4),
	OFFSET(nnaccel_pool_alloc, __reserved, 20),
	OFFSET(nnaccel_pool_import, __reserved, 52),
	OFFSET(nnaccel_pool_import, planes, 64),
	OFFSET(nnaccel_pool_export, out_fd, 12),
	OFFSET(nnaccel_query, out_status, 20),
	OFFSET(nnaccel_supported, __reserved, 68),
	OFFSET(nnaccel_prepare, attributes_size, 76),
	OFFSET(nnaccel_prepare, attributes, 80),
	OFFSET(nnaccel_arg, __reserved, 92),
	OFFSET(nnaccel_shape, dims, 8),
	OFFSET(nnaccel_execute, num_buffers, 100),
	OFFSET(nnaccel_execute, buffers, 104),
	OFFSET(nnaccel_execute, __reserved, 124),
	OFFSET(nnaccel_execute, out_fenced_ns, 128),
	OFFSET(nnaccel_submit, duration_ns, 48),
	OFFSET(nnaccel_wait, out_error, 28), OFFSET(nnaccel_wait, out_progress, 32),
	OFFSET(nnaccel_sync_file, out_fd, 12),
	OFFSET(nnaccel_cancel, out_cancelled, 16),
	OFFSET(nnaccel_role, frequency, 12),
	OFFSET(nnaccel_buffer_alloc, out_buffer, 44),
	OFFSET(nnaccel_buffer_copy, message, 40),
	OFFSET(nnaccel_buffer_copy, offset, 48),
	OFFSET(nnaccel_engine_next, out_context, 24),
	OFFSET(nnaccel_engine_next, __reserved, 36),
	OFFSET(nnaccel_engine_session, __reserved, 20),
	OFFSET(nnaccel_engine_refuse, context, 8),
	OFFSET(nnaccel_engine_opener, out_pid, 28),
	OFFSET(nnaccel_session_grant_fd, __reserved, 28),
	OFFSET(nnaccel_session_fence, out_fd, 20),
	OFFSET(nnaccel_session_attach, flags, 4),
	OFFSET(nnaccel_grant, length, 8),
	OFFSET(nnaccel_cmd, burst, 92),
	OFFSET(nnaccel_cache_part, length, 16),
	OFFSET(nnaccel_prepare_cached, token, 24),
	OFFSET(nnaccel_prepare_cached, attributes_size, 92),
	OFFSET(nnaccel_prepare_cached, attributes, 96),
	OFFSET(nnaccel_cache_save, out_status, 20),
	OFFSET(nnaccel_cache_save, token, 40),
	OFFSET(nnaccel_cache_save, __reserved, 84),
	OFFSET(nnaccel_cmd, attributes_size, 132),
	OFFSET(nnaccel_cmd, num_fences, 140),
	OFFSET(nnaccel_cmd_role, index, 12), OFFSET(nnaccel_cmd_role, frequency, 16),
	OFFSET(nnaccel_session_fetch, out_size, 20),
	OFFSET(nnaccel_session_commit, device_ns, 40),
	OFFSET(nnaccel_session_commit, fence, 68),
	OFFSET(nnaccel_session_slot, out_format, 32),
	OFFSET(nnaccel_burst_create, __reserved, 36),
	OFFSET(nnaccel_burst_slot, __reserved, 20),
	OFFSET(nnaccel_burst_status, ring_bytes, 12),
	OFFSET(nnaccel_burst_status, devices, 16),
	OFFSET(nnaccel_ring_control, consumed, 64),
	OFFSET(nnaccel_ring_control, packets, 128),
	OFFSET(nnaccel_ring_control, fallbacks, 168), OFFSET(nnaccel_ring_control, device_ns, 176),
	OFFSET(nnaccel_datum, u, 4),
	OFFSET(nnaccel_line, datums, 4),
};

static const struct entry numbers[] = {
	NUMBER(NNACCEL_INFO, 0xb900),
	NUMBER(NNACCEL_DESTROY, 0xb901),
	NUMBER(NNACCEL_POOL_ALLOC, 0xb902),
	NUMBER(NNACCEL_POOL_IMPORT, 0xb903),
	NUMBER(NNACCEL_POOL_EXPORT, 0xb904),
	NUMBER(NNACCEL_CANCEL, 0xb90f),
	NUMBER(NNACCEL_SUBMIT, 0xb913),
	NUMBER(NNACCEL_WAIT, 0xb914),
	NUMBER(NNACCEL_SYNC_FILE, 0xb915),
	NUMBER(NNACCEL_WORK_QUERY, 1),
	NUMBER(NNACCEL_WORK_BURST, 9),
	NUMBER(NNACCEL_STATE_DONE, 1),
	NUMBER(NNACCEL_BURST_SLOT, 0xb920),
	NUMBER(NNACCEL_ENGINE_NEXT, 0xb940),
	NUMBER(NNACCEL_ENGINE_SESSION, 0xb941),
	NUMBER(NNACCEL_ENGINE_REFUSE, 0xb942),
	NUMBER(NNACCEL_ENGINE_OPENER, 0xb946),
	NUMBER(NNACCEL_ENGINE_REGISTER, 0xb945),
	NUMBER(NNACCEL_SESSION_ATTACH, 0xb960),
	NUMBER(NNACCEL_SESSION_FETCH, 0xb961),
	NUMBER(NNACCEL_SESSION_COMMIT, 0xb962),
	NUMBER(NNACCEL_SESSION_SLOT, 0xb963),
	NUMBER(NNACCEL_SESSION_SYNC, 0xb968),
	NUMBER(NNACCEL_SESSION_GRANT_FD, 0xb96a),
	NUMBER(NNACCEL_SESSION_FENCE, 0xb96b),
	NUMBER(NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT, 8),
	NUMBER(NNACCEL_DO_FORGET_GRANT, 6),
	NUMBER(NNACCEL_DO_SLOT_GONE, 9),
	NUMBER(NNACCEL_DO_BUFFER, 10),
	NUMBER(NNACCEL_DO_COPY_IN, 11),
	NUMBER(NNACCEL_DO_COPY_OUT, 12),
	NUMBER(NNACCEL_DATUM_TIMING, 11),
	NUMBER(NNACCEL_DATUM_MESSAGE, 12),
	NUMBER(NNACCEL_GRANT_SHIFT, 40),
};

static void check(const struct entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (entries[i].value != entries[i].expected)
			fail_msg("%s is %zu, was published as %zu", entries[i].name,
				 entries[i].value, entries[i].expected);
}

static void test_sizes(void **state)
{
	(void)state;
	check(sizes, sizeof(sizes) / sizeof(sizes[0]));
}

static void test_offsets(void **state)
{
	(void)state;
	check(offsets, sizeof(offsets) / sizeof(offsets[0]));
}

static void test_numbers(void **state)
{
	(void)state;
	check(numbers, sizeof(numbers) / sizeof(numbers[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests_name("uapi", tests, NULL, NULL);
}
