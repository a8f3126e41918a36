#!/usr/bin/env bash
# Builds and runs what needs a GPU: test-gpu.sh [ARGUMENTS of gpu_check]. --pack DIR: instead puts the programs, the
# libraries that they need and their data into DIR, to be carried to a machine with a GPU; DIR/run [ARGUMENTS] is the
# command there. 77: there is no CUDA device here.
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
cmake --build build/release --target gpu_check gpu_model_check
model=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
bin=build/release/bin
if [ -n "$pack" ]; then
  rm -rf "$pack"
  mkdir -p "$pack/bin" "$pack/lib" "$pack/tests/golden" "$pack/tests/data"
  cp $bin/gpu_check $bin/gpu_model_check "$pack/bin"
  strip "$pack"/bin/*
  # The C and C++ libraries are the machine's own; everything else travels.
  ldd $bin/gpu_check $bin/gpu_model_check | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$pack/lib"
  cp -r tests/golden/loops "$pack/tests/golden"
  cp -r tests/data/texts "$pack/tests/data"
  cp -rL "$model" "$pack/model"
  cat > "$pack/run" <<'RUN'
#!/usr/bin/env bash
# Runs the checks; the last lines say what failed.
cd "$(dirname "$0")"
export LD_LIBRARY_PATH=$PWD/lib:${LD_LIBRARY_PATH:-} EDGE_INFER_TEST_MODEL=$PWD/model
bin/gpu_check "$@"
status=$?
# Without sections: all of it.
case " $* " in
  *" attention "*|*" gemm "*|*" golden "*|*" conformance "*|*" random "*|*" program "*|*" gemm-speed "*|*" tune "*) exit $status ;;
esac
[ $status = 77 ] || bin/gpu_model_check --gtest_brief=1 || status=1
exit $status
RUN
  chmod +x "$pack/run"
  du -sh "$pack"
  exit
fi
status=0
$bin/gpu_check "$@" || status=$?
[ $status = 77 ] && exit 77
EDGE_INFER_TEST_MODEL=$model $bin/gpu_model_check --gtest_brief=1 || status=1
exit $status
