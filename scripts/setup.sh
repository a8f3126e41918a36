#!/usr/bin/env bash
# Installs what building and testing need: Debian packages (with apt) and the Python wheels in .venv. Repeatable; does
# nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(
  build-essential cmake ninja-build pkg-config git ca-certificates ccache mold
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev libclang-19-dev llvm-19 llvm-19-dev libpolly-19-dev zlib1g-dev libzstd-dev
  libboost-dev libtbb-dev nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev
  libutf8proc-dev libgumbo-dev libmd4c-dev libzip-dev libpugixml-dev libsqlite3-dev libcurl4-openssl-dev libssl-dev libseccomp-dev libxxhash-dev libsodium-dev
  libgtest-dev libbenchmark-dev python3-venv python3-numpy man-db groff-base
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi
