#!/usr/bin/env bash
# Builds and runs the tests. --all (what CI runs): also retrieval on real documents, format, AddressSanitizer with UBSan,
# ThreadSanitizer, and 60 s of each fuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
EDGE_INFER_TEST_MODEL=${EDGE_INFER_TEST_MODEL:-$(scripts/model.sh)}
EDGE_INFER_PDFIUM=${EDGE_INFER_PDFIUM:-$PWD/.cache/pypdfium2_raw/libpdfium.so}
export EDGE_INFER_TEST_MODEL EDGE_INFER_PDFIUM
scripts/layers.sh
ctest --test-dir build/release --output-on-failure -j 2 -LE retrieval
[ "${1:-}" = --all ] || exit 0
ctest --test-dir build/release --output-on-failure -L retrieval
scripts/fmt.sh --check
scripts/build.sh asan
ctest --test-dir build/asan --output-on-failure -j 2 -L unit
scripts/build.sh tsan --target tests_threads
ctest --test-dir build/tsan --output-on-failure -j 2 -L threads
scripts/fuzz.sh all 60

