// Ops in C++: dtypes, attrs, sizes that the kernel finds, faults, and a resource.

#include <flowc/op_kernel.h>

#include <map>
#include <mutex>

REGISTER_OP("Scaled(x: T; T: {float, double}, by: float = 2.0, more: list(int) = [1], mode: string = 'plain') -> y: T",
            flowc::UnchangedShape);

template <typename T>
struct Scaled {
  void Compute(flowc::OpKernelContext *c) {
    auto in = c->input(0).flat<T>();
    auto out = c->output(0).flat<T>();
    const T by = static_cast<T>(c->attrs().Float("by"));
    const std::string mode = c->attrs().String("mode");
    OP_REQUIRES(c, by >= 0, flowc::errors::OutOfRange("by is negative"));
    if (mode == "throw") throw std::runtime_error("thrown by the kernel");
    T sum = 0;
    for (int64_t n : c->attrs().Ints("more")) sum += static_cast<T>(n);
    for (int64_t i = 0; i < in.size(); i++) out[i] = in[i] * by * sum;
    if (mode == "beyond") out[in.size()] = 1;
    if (mode == "before") out.data()[-1] = 1;
  }
};
REGISTER_KERNEL("Scaled", "T: float", Scaled<float>);
REGISTER_KERNEL("Scaled", "T: double", Scaled<double>);

static void Found(flowc::InferenceContext *c) { c->set_output(0, {FLOWC_BY_KERNEL}); }
REGISTER_OP("Positive(x: float, forget: bool) -> y: float", Found);

struct Positive {
  void Compute(flowc::OpKernelContext *c) {
    if (c->input(1).flat<bool>()[0]) return;
    auto in = c->input(0).flat<float>();
    int64_t n = 0;
    for (float v : in) n += v > 0;
    auto out = c->allocate_output(0, {n}).flat<float>();
    n = 0;
    for (float v : in)
      if (v > 0) out[n++] = v;
  }
};
REGISTER_KERNEL("Positive", "", Positive);

static void Turned(flowc::InferenceContext *c) {
  if (c->Rank(0) != 2) return c->fail("a matrix is expected");
  c->set_output(0, {c->Dim(0, 1), c->Dim(0, 0)});
}
REGISTER_OP("Turned(x: float) -> y: float", Turned);

struct TurnedKernel {
  void Compute(flowc::OpKernelContext *c) {
    const int64_t rows = c->input(0).dim_size(0), columns = c->input(0).dim_size(1);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++)
        c->output(0).flat<float>()[j * rows + i] = c->input(0).flat<float>()[i * columns + j];
  }
};
REGISTER_KERNEL("Turned", "", TurnedKernel);

// A count for each key, which grows.
struct Counts {
  explicit Counts(const flowc::Attrs &attrs) : first(attrs.Int("first")) {}
  int64_t Add(int64_t key) {
    std::lock_guard<std::mutex> held(lock);
    return ++counts.emplace(key, first).first->second;
  }
  std::string Save() {
    std::lock_guard<std::mutex> held(lock);
    std::string found;
    for (const auto &pair : counts)
      found.append(reinterpret_cast<const char *>(&pair.first), 8)
          .append(reinterpret_cast<const char *>(&pair.second), 8);
    return found;
  }
  void Restore(const std::string &text) {
    std::lock_guard<std::mutex> held(lock);
    counts.clear();
    for (size_t i = 0; i + 16 <= text.size(); i += 16)
      counts[*reinterpret_cast<const int64_t *>(&text[i])] =
          *reinterpret_cast<const int64_t *>(&text[i + 8]);
  }
  int64_t first;
  std::map<int64_t, int64_t> counts;
  std::mutex lock;
};
REGISTER_RESOURCE("Counts", "first: int = 0", Counts);

static void LikeKeys(flowc::InferenceContext *c) { c->set_output(0, c->input(1)); }
REGISTER_OP("Counted(counts: resource, keys: int64) -> found: int64", LikeKeys);

struct Counted {
  void Compute(flowc::OpKernelContext *c) {
    auto keys = c->input(1).flat<int64_t>();
    for (int64_t i = 0; i < keys.size(); i++)
      c->output(0).flat<int64_t>()[i] = c->resource<Counts>(0)->Add(keys[i]);
  }
};
REGISTER_KERNEL("Counted", "", Counted);
