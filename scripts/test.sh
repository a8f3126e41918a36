#!/usr/bin/env bash
# Builds and runs the tests. --all: also format, AddressSanitizer with UBSan, 60 s of each fuzzer, ThreadSanitizer.
# --retrieval: also retrieval on real documents, which fetches them and indexes 44 books (ten minutes).
set -euo pipefail
cd "$(dirname "$0")/.."
all=false retrieval=false
case "${1:-}" in
  "") ;;
  --all) all=true ;;
  --retrieval) retrieval=true ;;
  *) echo "usage: ./dev test [--all|--retrieval]" >&2; exit 2 ;;
esac
stage() { echo "== $* (after ${SECONDS} s)"; }
tests() {  # tests PRESET ARGUMENTS: none selected is an error, not a success
  ctest --test-dir "build/$1" --output-on-failure --no-tests=error -j 2 "${@:2}"
}
named() {  # named TEST...: a pattern of exactly these
  local IFS='|'
  echo "^($*)$"
}

stage format and layers
scripts/setup.sh
if $all; then scripts/fmt.sh --check; fi
scripts/layers.sh
stage release
scripts/build.sh release
EDGE_INFER_TEST_MODEL=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
EDGE_INFER_PDFIUM=${EDGE_INFER_PDFIUM:-$PWD/.cache/pypdfium2_raw/libpdfium.so}
export EDGE_INFER_TEST_MODEL EDGE_INFER_PDFIUM
tests release -LE retrieval
if $all; then
  # Sanitizers where parsing, ownership and threads are; kernels are checked by their own fenced-memory tests.
  asan=(test_base test_symbolic test_runtime test_graph test_models_files test_tokenizers test_documents test_index
    test_server test_pull test_loop test_cache test_cuda test_cuda_device test_packs test_cuda_packs)
  stage AddressSanitizer and UBSan
  scripts/build.sh asan --target "${asan[@]}"
  tests asan -R "$(named "${asan[@]}")"
  stage fuzzers
  scripts/fuzz.sh all 60
  tsan=(test_runtime test_index test_server test_cache test_cuda_device test_packs test_cuda_packs)
  stage ThreadSanitizer
  scripts/build.sh tsan --target "${tsan[@]}"
  tests tsan -R "$(named "${tsan[@]}")"
fi
if $retrieval; then
  stage retrieval
  tests release -L retrieval --verbose  # says why when it is skipped
fi
stage all passed
