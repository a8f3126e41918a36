#!/usr/bin/env bash
# Builds and runs what needs a GPU: test-gpu.sh [ARGUMENTS of gpu_check]. --pack DIR: instead puts the programs, the
# libraries that they need and their data into DIR, to be carried to a machine with a GPU; DIR/run [ARGUMENTS] is the
# command there, DIR/bench [MODEL_DIR...] the one for figures. 77: there is no CUDA device here.
set -euo pipefail
cd "$(dirname "$0")/.."
pack=
if [ "${1:-}" = --pack ]; then
  pack=${2:?a folder}
  shift 2
fi
scripts/setup.sh
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -DCMAKE_MESSAGE_LOG_LEVEL=WARNING > /dev/null
programs=(gpu_check gpu_model_check)
[ -z "$pack" ] || programs+=(gpu_bench edge-infer)
cmake --build build/release --target "${programs[@]}"
model=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
bin=build/release/bin
if [ -n "$pack" ]; then
  rm -rf "$pack"
  mkdir -p "$pack/bin" "$pack/lib" "$pack/tests/golden" "$pack/tests/data"
  cp "${programs[@]/#/$bin/}" "$pack/bin"
  strip "$pack"/bin/*
  # The C and C++ libraries are the machine's own; everything else travels.
  ldd "$pack"/bin/* | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$pack/lib"
  cp -r tests/golden/loops "$pack/tests/golden"
  cp -r tests/data/texts "$pack/tests/data"
  cp -rL "$model" "$pack/model"
  cp tests/gpu/run.sh "$pack/run"
  cp tests/gpu/bench/run.sh "$pack/bench"
  cp tests/gpu/bench/*.py "$pack"
  du -sh "$pack"
  exit
fi
EDGE_INFER_BIN=$PWD/$bin EDGE_INFER_TEST_MODEL=$model exec tests/gpu/run.sh "$@"
