/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: trace events of state changes and of the end of every command. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nnaccel

#if !defined(NNACCEL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NNACCEL_TRACE_H

#include <linux/tracepoint.h>

#include "buffer.h"
#include "burst.h"
#include "command.h"
#include "model.h"

#define nnaccel_show_kind(kind) \
	__print_symbolic(kind, \
			 { NNACCEL_DO_QUERY, "QUERY" }, { NNACCEL_DO_SUPPORTED, "SUPPORTED" }, \
			 { NNACCEL_DO_PREPARE, "PREPARE" }, { NNACCEL_DO_EXECUTE, "EXECUTE" }, \
			 { NNACCEL_DO_BURST, "BURST" }, { NNACCEL_DO_BUFFER, "BUFFER" }, \
			 { NNACCEL_DO_COPY_IN, "COPY_IN" }, { NNACCEL_DO_COPY_OUT, "COPY_OUT" }, \
			 { NNACCEL_DO_PREPARE_CACHED, "PREPARE_CACHED" }, \
			 { NNACCEL_DO_CACHE_SAVE, "CACHE_SAVE" })

#define NNACCEL_SHOWN_STATUS(name)	{ NNACCEL_STATUS_##name, #name }
#define nnaccel_show_status(status) \
	__print_symbolic(status, \
			 NNACCEL_SHOWN_STATUS(NONE), NNACCEL_SHOWN_STATUS(DEVICE_UNAVAILABLE), \
			 NNACCEL_SHOWN_STATUS(GENERAL_FAILURE), \
			 NNACCEL_SHOWN_STATUS(OUTPUT_INSUFFICIENT_SIZE), \
			 NNACCEL_SHOWN_STATUS(INVALID_ARGUMENT), \
			 NNACCEL_SHOWN_STATUS(MISSED_DEADLINE_TRANSIENT), \
			 NNACCEL_SHOWN_STATUS(MISSED_DEADLINE_PERSISTENT), \
			 NNACCEL_SHOWN_STATUS(RESOURCE_EXHAUSTED_TRANSIENT), \
			 NNACCEL_SHOWN_STATUS(RESOURCE_EXHAUSTED_PERSISTENT))

#define nnaccel_show_state(state) \
	__print_symbolic(state, \
			 { NNACCEL_COMMAND_NEW, "NEW" }, { NNACCEL_COMMAND_WAITING, "WAITING" }, \
			 { NNACCEL_COMMAND_QUEUED, "QUEUED" }, \
			 { NNACCEL_COMMAND_IN_FLIGHT, "IN_FLIGHT" }, \
			 { NNACCEL_COMMAND_FENCED, "FENCED" }, { NNACCEL_COMMAND_LOST, "LOST" }, \
			 { NNACCEL_COMMAND_ENDING, "ENDING" }, { NNACCEL_COMMAND_DONE, "DONE" })

/*
 * Defines a trace event about an object, in the event class that is named after the object's
 * structure.
 */
#define NNACCEL_EVENT(type, name) \
	DEFINE_EVENT(nnaccel_##type, nnaccel_##name, \
		     TP_PROTO(const struct nnaccel_##type *obj), \
		     TP_ARGS(obj))

DECLARE_EVENT_CLASS(nnaccel_context,
		    TP_PROTO(const struct nnaccel_context *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__field(u64, context) __field(u32, uid)),
		    TP_fast_assign(__entry->context = obj->number;
				   __entry->uid = __kuid_val(obj->uid);),
		    TP_printk("context=%llu uid=%u", __entry->context, __entry->uid));

NNACCEL_EVENT(context, context_open);
NNACCEL_EVENT(context, context_close);
NNACCEL_EVENT(context, engine_offer);
NNACCEL_EVENT(context, session_create);
NNACCEL_EVENT(context, session_attach);
NNACCEL_EVENT(context, session_kill);
NNACCEL_EVENT(context, session_dead);

TRACE_EVENT(nnaccel_engine_refuse,
	    TP_PROTO(const struct nnaccel_context *ctx, u32 error),
	    TP_ARGS(ctx, error),
	    TP_STRUCT__entry(__field(u64, context) __field(u32, error)),
	    TP_fast_assign(__entry->context = ctx->number;
			   __entry->error = error;),
	    TP_printk("context=%llu error=%u", __entry->context, __entry->error));

DECLARE_EVENT_CLASS(nnaccel_grant_event,
		    TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
		    TP_ARGS(ctx, grant, writable),
		    TP_STRUCT__entry(__field(u64, context) __field(u32, grant)
				     __field(bool, writable)),
		    TP_fast_assign(__entry->context = ctx->number;
				   __entry->grant = grant;
				   __entry->writable = writable;),
		    TP_printk("context=%llu grant=%u writable=%d", __entry->context,
			      __entry->grant, __entry->writable));

DEFINE_EVENT(nnaccel_grant_event, nnaccel_grant_fd,
	     TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
	     TP_ARGS(ctx, grant, writable));
DEFINE_EVENT(nnaccel_grant_event, nnaccel_grant_revoke,
	     TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
	     TP_ARGS(ctx, grant, writable));

DECLARE_EVENT_CLASS(nnaccel_pool_event,
		    TP_PROTO(const struct nnaccel_pool *pool, u32 id),
		    TP_ARGS(pool, id),
		    TP_STRUCT__entry(__field(u64, context) __field(const void *, pool)
				     __field(u32, id) __field(u32, prot) __field(u64, length)
				     __field(bool, imported)),
		    TP_fast_assign(__entry->context = pool->obj.ctx->number;
				   __entry->pool = pool;
				   __entry->id = id;
				   __entry->prot = pool->prot;
				   __entry->length = pool->length;
				   __entry->imported = pool->imported;),
		    TP_printk("context=%llu pool=%p id=%u prot=%u length=%llu imported=%d",
			      __entry->context, __entry->pool, __entry->id, __entry->prot,
			      __entry->length, __entry->imported));

DEFINE_EVENT(nnaccel_pool_event, nnaccel_pool_create,
	     TP_PROTO(const struct nnaccel_pool *pool, u32 id),
	     TP_ARGS(pool, id));
/* A pool that is being destroyed has no id any more, so the event has the id 0. */
DEFINE_EVENT(nnaccel_pool_event, nnaccel_pool_destroy,
	     TP_PROTO(const struct nnaccel_pool *pool, u32 id),
	     TP_ARGS(pool, id));

DECLARE_EVENT_CLASS(nnaccel_access,
		    TP_PROTO(const struct dma_buf *dmabuf, u32 prot, int error),
		    TP_ARGS(dmabuf, prot, error),
		    TP_STRUCT__entry(__field(const void *, dmabuf) __field(u32, prot)
				     __field(int, error)),
		    TP_fast_assign(__entry->dmabuf = dmabuf;
				   __entry->prot = prot;
				   __entry->error = error;),
		    TP_printk("dmabuf=%p prot=%u error=%d", __entry->dmabuf, __entry->prot,
			      __entry->error));

DEFINE_EVENT(nnaccel_access, nnaccel_access_begin,
	     TP_PROTO(const struct dma_buf *dmabuf, u32 prot, int error),
	     TP_ARGS(dmabuf, prot, error));
DEFINE_EVENT(nnaccel_access, nnaccel_access_end,
	     TP_PROTO(const struct dma_buf *dmabuf, u32 prot, int error),
	     TP_ARGS(dmabuf, prot, error));

TRACE_EVENT(nnaccel_model_prepare,
	    TP_PROTO(const struct nnaccel_model *model, u32 id),
	    TP_ARGS(model, id),
	    TP_STRUCT__entry(__field(u64, context) __field(u64, number) __field(u32, id)
			     __field(u32, priority)),
	    TP_fast_assign(__entry->context = model->obj.ctx->number;
			   __entry->number = model->number;
			   __entry->id = id;
			   __entry->priority = model->priority;),
	    TP_printk("context=%llu model=%llu id=%u priority=%u", __entry->context,
		      __entry->number, __entry->id, __entry->priority));

DECLARE_EVENT_CLASS(nnaccel_model,
		    TP_PROTO(const struct nnaccel_model *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__field(u64, context) __field(u64, number)),
		    TP_fast_assign(__entry->context = obj->obj.ctx->number;
				   __entry->number = obj->number;),
		    TP_printk("context=%llu model=%llu", __entry->context, __entry->number));

NNACCEL_EVENT(model, model_dead);
NNACCEL_EVENT(model, model_destroy);

DECLARE_EVENT_CLASS(nnaccel_command,
		    TP_PROTO(const struct nnaccel_command *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__field(u64, context) __field(u64, cookie)
				     __field(u64, model) __field(u32, kind)
				     __field(u32, priority) __field(u32, state)
				     __field(u32, status) __field(int, error)),
		    TP_fast_assign(__entry->context = obj->ctx->number;
				   __entry->cookie = obj->head.cookie;
				   __entry->model = obj->head.model;
				   __entry->kind = obj->head.kind;
				   __entry->priority = obj->head.priority;
				   __entry->state = obj->state;
				   __entry->status = obj->status;
				   __entry->error = obj->error;),
		    TP_printk("context=%llu cookie=%llu kind=%s model=%llu priority=%u state=%s status=%s error=%d",
			      __entry->context, __entry->cookie, nnaccel_show_kind(__entry->kind),
			      __entry->model, __entry->priority, nnaccel_show_state(__entry->state),
			      nnaccel_show_status(__entry->status), __entry->error));

NNACCEL_EVENT(command, command_queue);
NNACCEL_EVENT(command, command_fetch);
NNACCEL_EVENT(command, command_commit);
NNACCEL_EVENT(command, command_abandon);
NNACCEL_EVENT(command, command_end);

DECLARE_EVENT_CLASS(nnaccel_buffer,
		    TP_PROTO(const struct nnaccel_buffer *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__field(u64, context) __field(u32, id)
				     __field(u64, capacity) __field(u32, num_roles)
				     __field(bool, linear)),
		    TP_fast_assign(__entry->context = obj->pool.obj.ctx->number;
				   __entry->id = obj->id;
				   __entry->capacity = obj->pool.length;
				   __entry->num_roles = obj->num_roles;
				   __entry->linear = !obj->layout;),
		    TP_printk("context=%llu id=%u capacity=%llu roles=%u linear=%d",
			      __entry->context, __entry->id, __entry->capacity,
			      __entry->num_roles, __entry->linear));

NNACCEL_EVENT(buffer, buffer_alloc);
NNACCEL_EVENT(buffer, buffer_free);

TRACE_EVENT(nnaccel_buffer_copy,
	    TP_PROTO(const struct nnaccel_buffer *buffer, u32 flags, u64 length),
	    TP_ARGS(buffer, flags, length),
	    TP_STRUCT__entry(__field(u64, context) __field(u32, id) __field(u64, length)
			     __field(bool, in)),
	    TP_fast_assign(__entry->context = buffer->pool.obj.ctx->number;
			   __entry->id = buffer->id;
			   __entry->length = length;
			   __entry->in = flags & NNACCEL_COPY_IN;),
	    TP_printk("context=%llu id=%u in=%d length=%llu", __entry->context,
		      __entry->id, __entry->in, __entry->length));

DECLARE_EVENT_CLASS(nnaccel_burst,
		    TP_PROTO(const struct nnaccel_burst *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__field(u64, context) __field(const void *, burst)
				     __field(u32, number) __field(u32, capacity)),
		    TP_fast_assign(__entry->context = obj->obj.ctx->number;
				   __entry->burst = obj;
				   __entry->number = obj->number;
				   __entry->capacity = obj->capacity;),
		    TP_printk("context=%llu burst=%p number=%u capacity=%u", __entry->context,
			      __entry->burst, __entry->number, __entry->capacity));

NNACCEL_EVENT(burst, burst_create);
NNACCEL_EVENT(burst, burst_announce);
NNACCEL_EVENT(burst, burst_dead);
NNACCEL_EVENT(burst, burst_destroy);

DECLARE_EVENT_CLASS(nnaccel_slot,
		    TP_PROTO(const struct nnaccel_burst *burst, const struct nnaccel_slot *slot),
		    TP_ARGS(burst, slot),
		    TP_STRUCT__entry(__field(u64, context) __field(u32, number)
				     __field(u32, slot) __field(u32, prot)
				     __field(const void *, pool)),
		    TP_fast_assign(__entry->context = burst->obj.ctx->number;
				   __entry->number = burst->number;
				   __entry->slot = slot->number;
				   __entry->prot = slot->prot;
				   __entry->pool = slot->pool;),
		    TP_printk("context=%llu number=%u slot=%u prot=%u pool=%p", __entry->context,
			      __entry->number, __entry->slot, __entry->prot, __entry->pool));

#define NNACCEL_SLOT_EVENT(name) \
	DEFINE_EVENT(nnaccel_slot, name, \
		     TP_PROTO(const struct nnaccel_burst *burst, const struct nnaccel_slot *slot), \
		     TP_ARGS(burst, slot))

NNACCEL_SLOT_EVENT(nnaccel_slot_bind);
NNACCEL_SLOT_EVENT(nnaccel_slot_resolve);
NNACCEL_SLOT_EVENT(nnaccel_slot_free);

#endif /* NNACCEL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
