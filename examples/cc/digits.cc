// Restores a model of TensorFlow 1 and runs it: the Session of TensorFlow's C++ interface.
//
//     c++ -std=c++11 digits.cc $(flowc config --cflags --libs) -o digits
//     ./digits MODEL images.bin labels.bin        # MODEL.meta and its checkpoint MODEL.*
//
// images.bin: float32 pixels, 64 an image; labels.bin: an int64 for each.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "flowc/session.h"

namespace tf = flowc;  // in place of namespace tf = tensorflow

static std::vector<char> contents(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

static tf::Tensor loaded(const char *path, tf::DataType dtype, const tf::TensorShape &shape) {
  tf::Tensor tensor(dtype, shape);
  const std::vector<char> bytes = contents(path);
  if (bytes.size() == tensor.TotalBytes()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

static int failed(const char *what, const tf::Status &status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: digits MODEL images.bin labels.bin\n");
    return 2;
  }
  const std::string model = argv[1];
  tf::GraphDef graph;
  tf::Status status = tf::ReadBinaryProto(tf::Env::Default(), model + ".meta", &graph);
  if (!status.ok()) return failed("reading", status);

  std::unique_ptr<tf::Session> session(tf::NewSession(tf::SessionOptions()));
  if (!session) return 1;
  status = session->Create(graph);
  if (!status.ok()) return failed("creating", status);

  // A Saver's nodes take the checkpoint's name from its constant.
  status = session->Run({{"save/Const", tf::Tensor(model)}}, {}, {"save/restore_all"}, nullptr);
  if (!status.ok()) return failed("restoring", status);

  const int64_t count = static_cast<int64_t>(contents(argv[3]).size() / sizeof(int64_t));
  const tf::Tensor images = loaded(argv[2], tf::DT_FLOAT, {count, 8, 8});
  const tf::Tensor labels = loaded(argv[3], tf::DT_INT64, {count});
  std::vector<tf::Tensor> outputs;
  status = session->Run({{"images", images}, {"labels", labels}}, {"probabilities:0", "accuracy:0"},
                        {}, &outputs);
  if (!status.ok()) return failed("running", status);

  const auto probabilities = outputs[0].matrix<float>();
  std::printf("the first image is a 0 with probability %.4f, a 1 with %.4f\n", probabilities(0, 0),
              probabilities(0, 1));
  std::printf("%.2f %% of %d right\n", 100 * outputs[1].scalar<float>()(), static_cast<int>(count));
  status = session->Close();
  return status.ok() ? 0 : failed("closing", status);
}
