/* SPDX-License-Identifier: MIT */
/*
 * BIDIRECTIONAL_SEQUENCE_LSTM: runs one float LSTM cell forwards along a sequence, and another cell
 * backwards. In a stack of BIDIRECTIONAL_SEQUENCE_LSTM operations, an auxiliary input connects an
 * operation to the operation below.
 */
#include "ops/check.h"
#include "ops/lstm_cell.h"

/* Indices of the operation's inputs. */
enum {
	FW_WEIGHTS = 1, BW_WEIGHTS = 18, FW_H = 35, FW_C = 36, BW_H = 37, BW_C = 38,
	AUX = NN_BIDIRECTIONAL_LSTM_AUX,
	FW_AUX = 40, BW_AUX = 44, ACTIVATION = 48, CELL_CLIP = 49, PROJECTION_CLIP = 50,
	MERGE = NN_BIDIRECTIONAL_LSTM_MERGE, TIME_MAJOR = 52, FW_NORM = 53, BW_NORM = 57,
	NUM_INPUTS = 61,
};

/*
 * Checks that all gates with input weights have auxiliary weights, or that no gate has auxiliary
 * weights.
 */
static enum nn_status aux_weights(const struct nn_run *r, bool *given)
{
	*given = !r->inputs[FW_AUX + NN_LSTM_OUTPUT].omitted;
	for (uint32_t g = 0; g < NN_LSTM_GATES; g++) {
		bool fw_wanted = *given && !r->inputs[FW_WEIGHTS + g].omitted;
		bool bw_wanted = *given && !r->inputs[BW_WEIGHTS + g].omitted;

		if (r->inputs[FW_AUX + g].omitted == fw_wanted ||
		    r->inputs[BW_AUX + g].omitted == bw_wanted)
			return nn_run_fail(r, "auxiliary weights %u and %u must %s", FW_AUX + g,
					   BW_AUX + g, *given ? "be given" : "be omitted");
	}
	return NN_OK;
}

enum nn_status nn_bidirectional_lstm_shape(const struct nn_run *r, struct nn_sequence *s,
					   struct nn_lstm_cell *fw, struct nn_lstm_cell *bw)
{
	const struct nn_tensor *aux = &r->inputs[AUX];
	const bool time_major = nn_run_bool(r, TIME_MAJOR, false);
	const struct nn_sequence aux_sequence = nn_sequence_of(r, AUX, time_major);
	bool linked;
	enum nn_status status = aux_weights(r, &linked);

	if (status)
		return status;
	*s = nn_sequence_of(r, 0, time_major);
	if (linked && aux->omitted)
		return nn_run_fail(r, "auxiliary weights without an auxiliary input");
	if (linked && aux_sequence.size != s->size)
		return nn_run_fail(r, "auxiliary weights with an auxiliary input of %u, must be %u",
				   aux_sequence.size, s->size);
	*fw = (struct nn_lstm_cell){
		.weights = FW_WEIGHTS,
		.state_h = FW_H,
		.state_c = FW_C,
		.layer_norm = FW_NORM,
		.aux_weights = linked ? FW_AUX : 0,
		.activation = nn_run_int(r, ACTIVATION, 0),
		.cell_clip = nn_run_float(r, CELL_CLIP, 0),
		.projection_clip = nn_run_float(r, PROJECTION_CLIP, 0),
	};
	*bw = *fw;
	bw->weights = BW_WEIGHTS;
	bw->state_h = BW_H;
	bw->state_c = BW_C;
	bw->layer_norm = BW_NORM;
	bw->aux_weights = linked ? BW_AUX : 0;
	status = nn_lstm_cell_shape(r, fw, s->batch, s->size);
	return status ? status : nn_lstm_cell_shape(r, bw, s->batch, aux_sequence.size);
}

static enum nn_status infer_bidirectional_lstm(struct nn_run *r)
{
	struct nn_lstm_cell fw, bw;
	struct nn_sequence s;
	enum nn_status status = nn_bidirectional_lstm_shape(r, &s, &fw, &bw);

	return status ? status : nn_bidirectional_outputs(r, nn_run_bool(r, MERGE, false), &s,
		(uint32_t[]){ fw.outputs, bw.outputs }, 4,
		(uint32_t[]){ fw.outputs, fw.units, bw.outputs, bw.units });
}

static enum nn_status execute_bidirectional_lstm(struct nn_run *r)
{
	bool merge = nn_run_bool(r, MERGE, false), linked = !r->inputs[AUX].omitted;
	uint32_t sequences = merge ? 1 : 2, width;
	float *states[4] = { NULL };
	struct nn_lstm_cell fw, bw;
	struct nn_sequence s, bw_s;
	const float *x, *aux = NULL;
	enum nn_status status = nn_bidirectional_lstm_shape(r, &s, &fw, &bw);

	if (status)
		return status;
	/*
	 * If the operation has an auxiliary input but no auxiliary weights, the backward cell reads
	 * the auxiliary input, which has the backward cell's input size.
	 */
	bw_s = s;
	bw_s.size = bw.size;
	x = nn_sequence_read(r, 0, &s);
	if (linked)
		aux = nn_sequence_read(r, AUX, &bw_s);
	if (!x || (linked && !aux))
		return NN_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < 4 && r->num_outputs > sequences; i++)
		states[i] = r->outputs[sequences + i].data;
	width = merge ? fw.outputs + bw.outputs : fw.outputs;
	status = nn_lstm_sequence(r, &fw, &s, x, fw.aux_weights ? aux : NULL, false,
				  r->outputs[0].data, 0, width, states[0], states[1]);
	if (status)
		return status;
	return nn_lstm_sequence(r, &bw, &bw_s, aux && !bw.aux_weights ? aux : x,
				bw.aux_weights ? aux : NULL, true, r->outputs[merge ? 0 : 1].data,
				merge ? fw.outputs : 0, merge ? width : bw.outputs, states[2],
				states[3]);
}

static enum nn_status check_bidirectional_lstm(const struct nn_check *c)
{
	const uint32_t outputs = c->operation->num_outputs;

	return outputs != 3 && outputs != 4 ? NN_OK :
	       nn_check_fail(c, "%u outputs, must be 1, 2, 5 or 6", outputs);
}

/*
 * Bit set of the optional inputs of a cell. The cell's 17 weights and biases begin at input
 * `weights`.
 */
#define OPTIONAL(weights) ((NN_IN(0) | NN_IN(4) | NN_IN(8) | NN_IN(9) | NN_IN(10) | NN_IN(11) |	\
			    NN_IN(15) | NN_IN(16)) << (weights))
/* Bit set of the four consecutive inputs from `first` on. */
#define FOUR(first) (UINT64_C(0xf) << (first))

/*
 * The rules allow inputs of any rank for states, because an omitted input may have any rank. The
 * execution checks the ranks of the states.
 */
NN_OPERATION(BIDIRECTIONAL_SEQUENCE_LSTM,
	NN_INPUTS(NUM_INPUTS, { NN_FLOATS, 3, 3 }, NN_LSTM_CELL_RULES(FW_WEIGHTS),
		  NN_LSTM_CELL_RULES(BW_WEIGHTS), [FW_H ... ACTIVATION - 1] = { NN_SAME, 0, 0 },
		  [ACTIVATION] = NN_SCALAR_INT, [CELL_CLIP ... PROJECTION_CLIP] = NN_SCALAR_FLOAT,
		  [MERGE ... TIME_MAJOR] = NN_SCALAR_BOOL,
		  [FW_NORM ... NUM_INPUTS - 1] = { NN_SAME, 0, 0 }),
	NN_OUTPUTS_FROM(1, [0 ... 5] = { NN_SAME, 2, 3 }),
	.dims = "xys " NN_LSTM_CELL_DIMS("u", "s", "o") NN_LSTM_CELL_DIMS("v", "t", "p")
		"*o *u *p *v xya " NN_FOUR("us") NN_FOUR("vt") "- - - - - " NN_FOUR("u")
		NN_FOUR("v"),
	.omissible = OPTIONAL(FW_WEIGHTS) | OPTIONAL(BW_WEIGHTS) | NN_IN(AUX) | FOUR(FW_AUX) |
		    FOUR(BW_AUX) | FOUR(FW_NORM) | FOUR(BW_NORM),
	.float16_as_float32 = true,
	.check = check_bidirectional_lstm, .infer = infer_bidirectional_lstm,
	.execute = execute_bidirectional_lstm);
