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
#include "context.h"
#include "memory.h"
#include "model.h"

#define nnaccel_show_kind(kind) \
	__print_symbolic(kind, \
			 { NNACCEL_DO_QUERY, "QUERY" }, \
			 { NNACCEL_DO_SUPPORTED, "SUPPORTED" }, \
			 { NNACCEL_DO_PREPARE, "PREPARE" }, \
			 { NNACCEL_DO_EXECUTE, "EXECUTE" }, \
			 { NNACCEL_DO_BURST, "BURST" }, \
			 { NNACCEL_DO_BUFFER, "BUFFER" }, \
			 { NNACCEL_DO_COPY_IN, "COPY_IN" }, \
			 { NNACCEL_DO_COPY_OUT, "COPY_OUT" }, \
			 { NNACCEL_DO_PREPARE_CACHED, "PREPARE_CACHED" }, \
			 { NNACCEL_DO_CACHE_SAVE, "CACHE_SAVE" })

#define nnaccel_show_status(status) \
	__print_symbolic(status, \
			 { NNACCEL_STATUS_NONE, "NONE" }, \
			 { NNACCEL_STATUS_DEVICE_UNAVAILABLE, "DEVICE_UNAVAILABLE" }, \
			 { NNACCEL_STATUS_GENERAL_FAILURE, "GENERAL_FAILURE" }, \
			 { NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, "OUTPUT_INSUFFICIENT_SIZE" }, \
			 { NNACCEL_STATUS_INVALID_ARGUMENT, "INVALID_ARGUMENT" }, \
			 { NNACCEL_STATUS_MISSED_DEADLINE_TRANSIENT, \
			   "MISSED_DEADLINE_TRANSIENT" }, \
			 { NNACCEL_STATUS_MISSED_DEADLINE_PERSISTENT, \
			   "MISSED_DEADLINE_PERSISTENT" }, \
			 { NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT, \
			   "RESOURCE_EXHAUSTED_TRANSIENT" }, \
			 { NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT, \
			   "RESOURCE_EXHAUSTED_PERSISTENT" })

#define nnaccel_show_state(state) \
	__print_symbolic(state, \
			 { NNACCEL_COMMAND_NEW, "NEW" }, \
			 { NNACCEL_COMMAND_WAITING, "WAITING" }, \
			 { NNACCEL_COMMAND_QUEUED, "QUEUED" }, \
			 { NNACCEL_COMMAND_IN_FLIGHT, "IN_FLIGHT" }, \
			 { NNACCEL_COMMAND_FENCED, "FENCED" }, \
			 { NNACCEL_COMMAND_LOST, "LOST" }, \
			 { NNACCEL_COMMAND_ENDING, "ENDING" }, \
			 { NNACCEL_COMMAND_DONE, "DONE" })

DECLARE_EVENT_CLASS(nnaccel_context,
		    TP_PROTO(const struct nnaccel_context *ctx),
		    TP_ARGS(ctx),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u32, uid)),
		    TP_fast_assign(__entry->context = ctx->number;
				   __entry->uid = __kuid_val(ctx->uid);),
		    TP_printk("context=%llu uid=%u", __entry->context, __entry->uid));

#define NNACCEL_CONTEXT_EVENT(name) \
	DEFINE_EVENT(nnaccel_context, name, \
		     TP_PROTO(const struct nnaccel_context *ctx), \
		     TP_ARGS(ctx))

NNACCEL_CONTEXT_EVENT(nnaccel_context_open);
NNACCEL_CONTEXT_EVENT(nnaccel_context_close);
NNACCEL_CONTEXT_EVENT(nnaccel_engine_offer);
NNACCEL_CONTEXT_EVENT(nnaccel_session_create);
NNACCEL_CONTEXT_EVENT(nnaccel_session_attach);
NNACCEL_CONTEXT_EVENT(nnaccel_session_kill);
NNACCEL_CONTEXT_EVENT(nnaccel_session_dead);

TRACE_EVENT(nnaccel_engine_refuse,
	    TP_PROTO(const struct nnaccel_context *ctx, u32 error),
	    TP_ARGS(ctx, error),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(u32, error)),
	    TP_fast_assign(__entry->context = ctx->number;
			   __entry->error = error;),
	    TP_printk("context=%llu error=%u", __entry->context, __entry->error));

DECLARE_EVENT_CLASS(nnaccel_grant_event,
	    TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
	    TP_ARGS(ctx, grant, writable),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(u32, grant)
			     __field(bool, writable)),
	    TP_fast_assign(__entry->context = ctx->number;
			   __entry->grant = grant;
			   __entry->writable = writable;),
	    TP_printk("context=%llu grant=%u writable=%d", __entry->context, __entry->grant,
		      __entry->writable));

DEFINE_EVENT(nnaccel_grant_event, nnaccel_grant_fd,
	     TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
	     TP_ARGS(ctx, grant, writable));
DEFINE_EVENT(nnaccel_grant_event, nnaccel_grant_revoke,
	     TP_PROTO(const struct nnaccel_context *ctx, u32 grant, bool writable),
	     TP_ARGS(ctx, grant, writable));

TRACE_EVENT(nnaccel_pool_create,
	    TP_PROTO(const struct nnaccel_pool *pool, u32 id),
	    TP_ARGS(pool, id),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(const void *, pool)
			     __field(u32, id)
			     __field(u32, prot)
			     __field(u64, length)
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

TRACE_EVENT(nnaccel_pool_destroy,
	    TP_PROTO(const struct nnaccel_pool *pool),
	    TP_ARGS(pool),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(const void *, pool)
			     __field(u64, length)),
	    TP_fast_assign(__entry->context = pool->obj.ctx->number;
			   __entry->pool = pool;
			   __entry->length = pool->length;),
	    TP_printk("context=%llu pool=%p length=%llu", __entry->context, __entry->pool,
		      __entry->length));

DECLARE_EVENT_CLASS(nnaccel_access,
		    TP_PROTO(const struct dma_buf *dmabuf, u32 prot, int error),
		    TP_ARGS(dmabuf, prot, error),
		    TP_STRUCT__entry(__field(const void *, dmabuf)
				     __field(u32, prot)
				     __field(int, error)),
		    TP_fast_assign(__entry->dmabuf = dmabuf;
				   __entry->prot = prot;
				   __entry->error = error;),
		    TP_printk("dmabuf=%p prot=%u error=%d", __entry->dmabuf, __entry->prot,
			      __entry->error));

#define NNACCEL_ACCESS_EVENT(name) \
	DEFINE_EVENT(nnaccel_access, name, \
		     TP_PROTO(const struct dma_buf *dmabuf, u32 prot, int error), \
		     TP_ARGS(dmabuf, prot, error))

NNACCEL_ACCESS_EVENT(nnaccel_access_begin);
NNACCEL_ACCESS_EVENT(nnaccel_access_end);

TRACE_EVENT(nnaccel_model_prepare,
	    TP_PROTO(const struct nnaccel_model *model, u32 id),
	    TP_ARGS(model, id),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(u64, number)
			     __field(u32, id)
			     __field(u32, priority)),
	    TP_fast_assign(__entry->context = model->obj.ctx->number;
			   __entry->number = model->number;
			   __entry->id = id;
			   __entry->priority = model->priority;),
	    TP_printk("context=%llu model=%llu id=%u priority=%u", __entry->context,
		      __entry->number, __entry->id, __entry->priority));

DECLARE_EVENT_CLASS(nnaccel_model,
		    TP_PROTO(const struct nnaccel_model *model),
		    TP_ARGS(model),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u64, number)),
		    TP_fast_assign(__entry->context = model->obj.ctx->number;
				   __entry->number = model->number;),
		    TP_printk("context=%llu model=%llu", __entry->context, __entry->number));

#define NNACCEL_MODEL_EVENT(name) \
	DEFINE_EVENT(nnaccel_model, name, \
		     TP_PROTO(const struct nnaccel_model *model), \
		     TP_ARGS(model))

NNACCEL_MODEL_EVENT(nnaccel_model_dead);
NNACCEL_MODEL_EVENT(nnaccel_model_destroy);

DECLARE_EVENT_CLASS(nnaccel_command,
		    TP_PROTO(const struct nnaccel_command *cmd),
		    TP_ARGS(cmd),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u64, cookie)
				     __field(u64, model)
				     __field(u32, kind)
				     __field(u32, priority)
				     __field(u32, state)
				     __field(u32, status)
				     __field(int, error)),
		    TP_fast_assign(__entry->context = cmd->ctx->number;
				   __entry->cookie = cmd->head.cookie;
				   __entry->model = cmd->head.model;
				   __entry->kind = cmd->head.kind;
				   __entry->priority = cmd->head.priority;
				   __entry->state = cmd->state;
				   __entry->status = cmd->status;
				   __entry->error = cmd->error;),
		    TP_printk("context=%llu cookie=%llu kind=%s model=%llu priority=%u state=%s status=%s error=%d",
			      __entry->context, __entry->cookie, nnaccel_show_kind(__entry->kind),
			      __entry->model, __entry->priority, nnaccel_show_state(__entry->state),
			      nnaccel_show_status(__entry->status), __entry->error));

#define NNACCEL_COMMAND_EVENT(name) \
	DEFINE_EVENT(nnaccel_command, name, \
		     TP_PROTO(const struct nnaccel_command *cmd), \
		     TP_ARGS(cmd))

NNACCEL_COMMAND_EVENT(nnaccel_command_queue);
NNACCEL_COMMAND_EVENT(nnaccel_command_fetch);
NNACCEL_COMMAND_EVENT(nnaccel_command_commit);
NNACCEL_COMMAND_EVENT(nnaccel_command_abandon);
NNACCEL_COMMAND_EVENT(nnaccel_command_end);

DECLARE_EVENT_CLASS(nnaccel_buffer,
		    TP_PROTO(const struct nnaccel_buffer *buffer),
		    TP_ARGS(buffer),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u32, id)
				     __field(u64, capacity)
				     __field(u32, num_roles)
				     __field(bool, linear)),
		    TP_fast_assign(__entry->context = buffer->pool.obj.ctx->number;
				   __entry->id = buffer->id;
				   __entry->capacity = buffer->pool.length;
				   __entry->num_roles = buffer->num_roles;
				   __entry->linear = !buffer->layout;),
		    TP_printk("context=%llu id=%u capacity=%llu roles=%u linear=%d",
			      __entry->context, __entry->id, __entry->capacity,
			      __entry->num_roles, __entry->linear));

#define NNACCEL_BUFFER_EVENT(name) \
	DEFINE_EVENT(nnaccel_buffer, name, \
		     TP_PROTO(const struct nnaccel_buffer *buffer), \
		     TP_ARGS(buffer))

NNACCEL_BUFFER_EVENT(nnaccel_buffer_alloc);
NNACCEL_BUFFER_EVENT(nnaccel_buffer_free);

TRACE_EVENT(nnaccel_buffer_copy,
	    TP_PROTO(const struct nnaccel_buffer *buffer, u32 flags, u64 length),
	    TP_ARGS(buffer, flags, length),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(u32, id)
			     __field(u64, length)
			     __field(bool, in)),
	    TP_fast_assign(__entry->context = buffer->pool.obj.ctx->number;
			   __entry->id = buffer->id;
			   __entry->length = length;
			   __entry->in = flags & NNACCEL_COPY_IN;),
	    TP_printk("context=%llu id=%u in=%d length=%llu", __entry->context,
		      __entry->id, __entry->in, __entry->length));

DECLARE_EVENT_CLASS(nnaccel_burst,
		    TP_PROTO(const struct nnaccel_burst *burst),
		    TP_ARGS(burst),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(const void *, burst)
				     __field(u32, number)
				     __field(u32, capacity)),
		    TP_fast_assign(__entry->context = burst->obj.ctx->number;
				   __entry->burst = burst;
				   __entry->number = burst->number;
				   __entry->capacity = burst->capacity;),
		    TP_printk("context=%llu burst=%p number=%u capacity=%u", __entry->context,
			      __entry->burst, __entry->number, __entry->capacity));

#define NNACCEL_BURST_EVENT(name) \
	DEFINE_EVENT(nnaccel_burst, name, \
		     TP_PROTO(const struct nnaccel_burst *burst), \
		     TP_ARGS(burst))

NNACCEL_BURST_EVENT(nnaccel_burst_create);
NNACCEL_BURST_EVENT(nnaccel_burst_announce);
NNACCEL_BURST_EVENT(nnaccel_burst_dead);
NNACCEL_BURST_EVENT(nnaccel_burst_destroy);

DECLARE_EVENT_CLASS(nnaccel_slot,
		    TP_PROTO(const struct nnaccel_burst *burst, const struct nnaccel_slot *slot),
		    TP_ARGS(burst, slot),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u32, number)
				     __field(u32, slot)
				     __field(u32, prot)
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
