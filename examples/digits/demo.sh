#!/usr/bin/env bash
# Compiles the digit classifier to a shared library and runs it from Python and from C.
#   demo.sh OUT     (flowc and python of the environment in PATH, and a C compiler)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: demo.sh OUT}
cc=${CC:-cc}
mkdir -p "$out"
out=$(cd "$out" && pwd)

step() {
  printf '\n== %s\n' "$1"
  shift
  printf '$ %s\n' "$*"
  local start=$EPOCHREALTIME
  "$@"
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "(%.2f s)\n", b - a }'
}

step "Compile the model, for every batch size" \
  flowc compile "$here/model.meta" -o "$out/model.so" \
  --feed 'images=f32[batch,8,8]' --fetch probabilities
step "What the library needs" ldd "$out/model.so"
step "Run it from Python, with NumPy alone" python "$here/run.py" "$out/model.so"
python - "$here/test.npz" "$out" <<'END'
import sys
import numpy as np
data = np.load(sys.argv[1])
data["images"].tofile(sys.argv[2] + "/images.bin")
data["labels"].tofile(sys.argv[2] + "/labels.bin")
END
step "Build a C program with it" \
  "$cc" -O2 "$here/../c/classify.c" -I"$out" -L"$out" -l:model.so "-Wl,-rpath,$out" \
  -o "$out/classify"
step "Run the C program" "$out/classify" "$out/images.bin" "$out/labels.bin"
