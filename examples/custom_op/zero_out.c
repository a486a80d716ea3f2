/* An op in C: the first element stays, all others become 0. */

#include <flowc/op.h>

FLOWC_KERNEL(zero_out) {
  const int32_t *in = call->inputs[0].data;
  int32_t *out = call->outputs[0].data;
  int64_t n = flowc_op_size(&call->inputs[0]);
  if (n == 0) {
    flowc_op_fail(call, FLOWC_INVALID_ARGUMENT, "nothing to keep of %d dims", call->inputs[0].rank);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = i == 0 ? in[i] : 0;
}

FLOWC_OP(zero_out, "ZeroOut(to_zero: int32) -> zeroed: int32", NULL)
FLOWC_REGISTER_KERNEL(zero_out, "ZeroOut", "")
