// Rows for keys that nobody knows beforehand, in C++: a Session has one table, and so has each
// instance of a compiled library. Several runs may call it at the same time, so that it takes a lock.

#include <flowc/op_kernel.h>

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

using namespace flowc;

struct RowTable {
  explicit RowTable(const Attrs &attrs) : dim(static_cast<size_t>(attrs.Int("dim"))) {
    if (dim == 0) throw std::invalid_argument("rows of no elements");
  }

  // The row of a key; one that is new has zeros. The lock is held.
  float *row(int64_t key) {
    auto found = rows.try_emplace(key);
    if (found.second) found.first->second.resize(dim);
    return found.first->second.data();
  }

  std::string Save() {
    std::lock_guard<std::mutex> held(lock);
    std::string bytes;
    for (const auto &[key, row] : rows) {
      bytes.append(reinterpret_cast<const char *>(&key), sizeof key);
      bytes.append(reinterpret_cast<const char *>(row.data()), dim * sizeof(float));
    }
    return bytes;
  }

  void Restore(const std::string &bytes) {
    std::lock_guard<std::mutex> held(lock);
    rows.clear();
    const size_t size = sizeof(int64_t) + dim * sizeof(float);
    for (size_t at = 0; at + size <= bytes.size(); at += size) {
      int64_t key;
      std::memcpy(&key, &bytes[at], sizeof key);
      std::memcpy(row(key), &bytes[at + sizeof key], dim * sizeof(float));
    }
  }

  const size_t dim;
  std::unordered_map<int64_t, std::vector<float>> rows;
  std::mutex lock;
};
REGISTER_RESOURCE("RowTable", "dim: int", RowTable);

REGISTER_OP("PullFromTable")
    .Input("table: resource")
    .Input("keys: int64")
    .Output("rows: float")
    .Attr("dim: int")
    .SetShapeFn([](InferenceContext *c) {
      TensorShape dims = c->input(1);
      dims.push_back(c->attrs().Int("dim"));
      c->set_output(0, dims);
    });

struct PullFromTable {
  void Compute(OpKernelContext *c) {
    RowTable *table = c->resource<RowTable>(0);
    const auto dim = static_cast<size_t>(c->attrs().Int("dim"));
    OP_REQUIRES(c, dim == table->dim, errors::InvalidArgument("the table has other rows"));
    float *out = c->output(0).flat<float>().data();
    std::lock_guard<std::mutex> held(table->lock);
    for (int64_t key : c->input(1).flat<int64_t>()) {
      std::memcpy(out, table->row(key), dim * sizeof(float));
      out += dim;
    }
  }
};
REGISTER_KERNEL_BUILDER(Name("PullFromTable").Device(DEVICE_CPU), PullFromTable);

REGISTER_OP("PushToTable")
    .Input("table: resource")
    .Input("keys: int64")
    .Input("deltas: float")
    .Output("keys_known: int64")
    .SetShapeFn([](InferenceContext *c) { c->set_output(0, {}); });

struct PushToTable {
  void Compute(OpKernelContext *c) {
    RowTable *table = c->resource<RowTable>(0);
    const auto keys = c->input(1).flat<int64_t>();
    const float *delta = c->input(2).flat<float>().data();
    OP_REQUIRES(c, c->input(2).NumElements() == keys.size() * static_cast<int64_t>(table->dim),
                errors::InvalidArgument("a row of deltas is expected for each key"));
    std::lock_guard<std::mutex> held(table->lock);
    for (int64_t key : keys) {
      float *row = table->row(key);
      for (size_t i = 0; i < table->dim; i++) row[i] += *delta++;
    }
    c->output(0).flat<int64_t>()[0] = static_cast<int64_t>(table->rows.size());
  }
};
REGISTER_KERNEL_BUILDER(Name("PushToTable").Device(DEVICE_CPU), PushToTable);
