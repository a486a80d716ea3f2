// Rows of a table by their numbers, as GatherV2 gives them along axis 0; a number beyond the table
// gives zeros, where GatherV2 fails.

#include <flowc/op_kernel.h>

#include <cstring>

using namespace flowc;

REGISTER_OP("PullEmbedding")
    .Input("params: float")
    .Input("ids: Tids")
    .Output("rows: float")
    .Attr("Tids: {int32, int64}")
    .SetShapeFn([](InferenceContext *c) {
      if (c->Rank(0) != 2) return errors::InvalidArgument("the table must be a matrix");
      TensorShape dims = c->input(1);
      dims.push_back(c->Dim(0, 1));
      c->set_output(0, dims);
      return OkStatus();
    });

template <typename Ids>
struct PullEmbedding {
  void Compute(OpKernelContext *c) {
    const int64_t rows = c->input(0).dim_size(0), width = c->input(0).dim_size(1);
    const float *table = c->input(0).flat<float>().data();
    float *out = c->output(0).flat<float>().data();
    for (Ids id : c->input(1).flat<Ids>()) {
      if (id >= 0 && id < rows)
        std::memcpy(out, table + id * width, width * sizeof(float));
      else
        std::memset(out, 0, width * sizeof(float));
      out += width;
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("PullEmbedding").TypeConstraint<int32_t>("Tids"),
                        PullEmbedding<int32_t>);
REGISTER_KERNEL_BUILDER(Name("PullEmbedding").TypeConstraint<int64_t>("Tids"),
                        PullEmbedding<int64_t>);
