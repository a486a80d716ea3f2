// Rows of a table by their numbers, as GatherV2 gives them along axis 0; a number beyond the table
// gives zeros, where GatherV2 fails.

#include <flowc/op_kernel.h>

#include <cstring>

static void Rows(flowc::InferenceContext *c) {
  if (c->Rank(0) != 2) return c->fail("the table must be a matrix");
  std::vector<int64_t> dims = c->input(1);
  dims.push_back(c->Dim(0, 1));
  c->set_output(0, dims);
}

REGISTER_OP("PullEmbedding(params: float, ids: Tids; Tids: {int32, int64}) -> rows: float", Rows);

template <typename Ids>
struct PullEmbedding {
  void Compute(flowc::OpKernelContext *c) {
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

REGISTER_KERNEL("PullEmbedding", "Tids: int32", PullEmbedding<int32_t>);
REGISTER_KERNEL("PullEmbedding", "Tids: int64", PullEmbedding<int64_t>);
