"""The library of the op ZeroOut, built from C++ for whichever module is to load it.

In: TensorFlow or flowc, a folder. Out: the path of the library. The kernel for TensorFlow is made
for its headers, that for flowc is the example's.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_op" / "zero_out.c"
FOR_TENSORFLOW = """
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
using namespace tensorflow;
REGISTER_OP("ZeroOut").Input("to_zero: int32").Output("zeroed: int32").SetShapeFn(
    [](shape_inference::InferenceContext* c) { c->set_output(0, c->input(0)); return OkStatus(); });
struct ZeroOutOp : OpKernel {
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* c) override {
    const auto in = c->input(0).flat<int32>();
    Tensor* made = nullptr;
    OP_REQUIRES_OK(c, c->allocate_output(0, c->input(0).shape(), &made));
    auto out = made->flat<int32>();
    for (int i = 0; i < in.size(); i++) out(i) = i == 0 ? in(i) : 0;
  }
};
REGISTER_KERNEL_BUILDER(Name("ZeroOut").Device(DEVICE_CPU), ZeroOutOp);
"""


def zero_out_library(tf: Any, folder: str) -> str:
    """Builds it there."""
    out = f"{folder}zero_out.so"
    source = EXAMPLE
    if "tensorflow" in tf.__name__:
        source = Path(folder, "zero_out.cc")
        source.write_text(FOR_TENSORFLOW)
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    flags = [f for f in tf.sysconfig.get_compile_flags() if compiler == "g++" or "std" not in f]
    command = [compiler, "-shared", "-fPIC", *flags, str(source), "-o", out]
    subprocess.run([*command, *tf.sysconfig.get_link_flags()], check=True)
    return out
