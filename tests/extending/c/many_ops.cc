// Ops in C++: dtypes, attrs, sizes that the kernel finds, faults, and a resource.

#include <flowc/op_kernel.h>

#include <map>
#include <mutex>

REGISTER_OP("Scaled")
    .Input("x: T")
    .Attr("T: {float, double}")
    .Attr("by: float = 2.0")
    .Attr("more: list(int) = [1]")
    .Attr("mode: string = 'plain'")
    .Output("y: T")
    .SetShapeFn(flowc::UnchangedShape);

static const std::string THROWN = "throw";  // is destroyed when its library is unloaded

template <typename T>
struct Scaled {
  void Compute(flowc::OpKernelContext *c) {
    auto in = c->input(0).flat<T>();
    auto out = c->output(0).flat<T>();
    const T by = static_cast<T>(c->attrs().Float("by"));
    const std::string mode = c->attrs().String("mode");
    OP_REQUIRES(c, by >= 0, flowc::errors::OutOfRange("by is negative"));
    if (mode == THROWN) throw std::runtime_error("thrown by the kernel");
    T sum = 0;
    for (int64_t n : c->attrs().Ints("more")) sum += static_cast<T>(n);
    for (int64_t i = 0; i < in.size(); i++) out[i] = in[i] * by * sum;
    if (mode == "beyond") out[in.size()] = 1;
    if (mode == "before") out.data()[-1] = 1;
  }
};
REGISTER_KERNEL_BUILDER(Name("Scaled").TypeConstraint<float>("T"), Scaled<float>);
REGISTER_KERNEL_BUILDER(Name("Scaled").TypeConstraint<double>("T"), Scaled<double>);

REGISTER_OP("Positive")
    .Input("x: float")
    .Input("forget: bool")
    .Output("y: float")
    .SetShapeFn([](flowc::InferenceContext *c) { c->set_output(0, {FLOWC_BY_KERNEL}); });

struct Positive {
  void Compute(flowc::OpKernelContext *c) {
    if (c->input(1).flat<bool>()[0]) return;
    auto in = c->input(0).flat<float>();
    int64_t n = 0;
    for (float v : in) n += v > 0;
    flowc::Tensor *made = nullptr;
    OP_REQUIRES_OK(c, c->allocate_output(0, {n}, &made));
    auto out = made->flat<float>();
    n = 0;
    for (float v : in)
      if (v > 0) out[n++] = v;
  }
};
REGISTER_KERNEL_BUILDER(Name("Positive").Device(flowc::DEVICE_CPU), Positive);

// As TensorFlow's own kernels are written.
namespace turned {
using namespace flowc;

REGISTER_OP("Turned").Input("x: float").Output("y: float").Attr("add: float = 0").SetShapeFn(
    [](InferenceContext *c) {
      if (c->Rank(0) != 2) return errors::InvalidArgument("a matrix is expected");
      c->set_output(0, {c->Dim(0, 1), c->Dim(0, 0)});
      return OkStatus();
    });

class TurnedOp : public OpKernel {
 public:
  explicit TurnedOp(OpKernelConstruction *context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("add", &add_));
    OP_REQUIRES(context, add_ >= 0, errors::InvalidArgument("add is negative"));
  }
  void Compute(OpKernelContext *context) override {
    const Tensor &x = context->input(0);
    const int64_t rows = x.dim_size(0), columns = x.dim_size(1);
    Tensor *y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {columns, rows}, &y));
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++)
        y->flat<float>()(j * rows + i) = x.flat<float>()(i * columns + j) + add_;
  }

 private:
  float add_ = 0;
};
REGISTER_KERNEL_BUILDER(Name("Turned").Device(DEVICE_CPU), TurnedOp);
}  // namespace turned

// Sums of the elements before, by way of temporary tensors, which need no thought of their end.
REGISTER_OP("Running").Input("x: float").Output("y: float").SetShapeFn(flowc::UnchangedShape);

struct Running {
  void Compute(flowc::OpKernelContext *c) {
    auto in = c->input(0).flat<float>();
    flowc::Tensor sums, more;
    OP_REQUIRES_OK(c, c->allocate_temp<double>({in.size() + 1}, &sums));
    OP_REQUIRES_OK(c, c->allocate_temp<int8_t>({3, 5}, &more));
    OP_REQUIRES(c, more.dim_size(1) == 5 && sums.dtype() == FLOWC_DOUBLE && more.NumElements() == 15,
                flowc::errors::Internal("another tensor"));
    OP_REQUIRES(c, reinterpret_cast<uintptr_t>(more.flat<int8_t>().data()) % 64 == 0,
                flowc::errors::Internal("not aligned"));
    OP_REQUIRES(c, !c->allocate_temp<float>({int64_t{1} << 62, 8}, &more).ok(),
                flowc::errors::Internal("more memory than there is"));
    OP_REQUIRES(c, in.size() == 0 || in[0] >= 0, flowc::errors::InvalidArgument("begins below 0"));
    auto sum = sums.flat<double>();
    sum[0] = 0;
    for (int64_t i = 0; i < in.size(); i++) sum[i + 1] = sum[i] + in[i];
    for (int64_t i = 0; i < in.size(); i++) c->output(0).flat<float>()[i] = sum[i + 1];
  }
};
REGISTER_KERNEL_BUILDER(Name("Running").Device(flowc::DEVICE_GPU), Running);
REGISTER_KERNEL_BUILDER(Name("Running").Device(flowc::DEVICE_CPU), Running);

// Sums over all calls, in a tensor that the node keeps.
REGISTER_OP("Total").Input("x: T").Attr("T: {float, int64}").Output("sum: T").SetIsPersistent()
    .SetShapeFn(flowc::UnchangedShape);

template <typename T>
struct Total {
  void Compute(flowc::OpKernelContext *c) {
    auto in = c->input(0).flat<T>();
    flowc::Tensor kept;
    OP_REQUIRES_OK(c, c->allocate_persistent<T>({in.size()}, &kept));
    OP_REQUIRES(c, c->num_inputs() == 1 && kept.dim_size(0) == in.size() &&
                       reinterpret_cast<uintptr_t>(kept.flat<T>().data()) % 64 == 0,
                flowc::errors::Internal("another tensor"));
    auto sum = kept.flat<T>();
    for (int64_t i = 0; i < in.size(); i++) {
      if constexpr (std::is_same_v<T, int64_t>)
        c->output(0).flat<T>()[i] = __atomic_add_fetch(&sum[i], in[i], __ATOMIC_RELAXED);
      else
        c->output(0).flat<T>()[i] = sum[i] += in[i];
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("Total").TypeConstraint<float>("T"), Total<float>);
REGISTER_KERNEL_BUILDER(Name("Total").TypeConstraint<int64_t>("T"), Total<int64_t>);

// An op that is registered without memory, whose kernel wants some.
REGISTER_OP("Forgetful").Input("x: int64").Output("y: int64").SetShapeFn(flowc::UnchangedShape);

struct Forgetful {
  void Compute(flowc::OpKernelContext *c) {
    flowc::Tensor kept;
    OP_REQUIRES_OK(c, c->allocate_persistent<int64_t>({1}, &kept));
  }
};
REGISTER_KERNEL_BUILDER(Name("Forgetful"), Forgetful);

// An op whose kernel is for another device.
REGISTER_OP("Distant").Input("x: float").Output("y: float").SetShapeFn(flowc::UnchangedShape);
REGISTER_KERNEL_BUILDER(Name("Distant").Device(flowc::DEVICE_GPU), Running);

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

REGISTER_OP("Counted")
    .Input("counts: resource")
    .Input("keys: int64")
    .Output("found: int64")
    .SetShapeFn([](flowc::InferenceContext *c) { c->set_output(0, c->input(1)); });

struct Counted {
  void Compute(flowc::OpKernelContext *c) {
    auto keys = c->input(1).flat<int64_t>();
    for (int64_t i = 0; i < keys.size(); i++)
      c->output(0).flat<int64_t>()[i] = c->resource<Counts>(0)->Add(keys[i]);
  }
};
REGISTER_KERNEL_BUILDER(Name("Counted"), Counted);
