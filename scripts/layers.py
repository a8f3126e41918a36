#!/usr/bin/env python3
"""Checks who includes whom (DESIGN.md section 3). Prints each include that the table forbids; exit 1 if there is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder -> folders whose headers it may include, besides its own. The longest matching folder counts.
RUNTIME = ["runtime"]
ALLOWED = {
    "runtime/base": [],
    "runtime/symbolic": ["runtime/base"],
    "runtime/guards": ["runtime/base", "runtime/symbolic"],
    "runtime/program": ["runtime/base", "runtime/symbolic"],
    "runtime/cache": ["runtime/base", "runtime/symbolic", "runtime/guards", "runtime/program"],
    "runtime/device": ["runtime/base", "runtime/symbolic", "runtime/program", "runtime/guards"],
    "runtime/executor": ["runtime/base", "runtime/symbolic", "runtime/program", "runtime/device", "runtime/guards"],
    "runtime": RUNTIME,
    "compiler/graph": ["runtime/base", "runtime/symbolic"],
    "compiler/capture": ["runtime/base", "runtime/symbolic", "compiler/graph"],
    "compiler/passes": ["runtime/base", "runtime/symbolic", "compiler/graph", "compiler/capture"],
    "compiler/loop": ["runtime/base", "runtime/symbolic", "compiler/graph"],
    "compiler": ["runtime", "compiler"],
    "backends/cpu/codegen": ["runtime", "compiler", "backends/cpu"],
    "backends/cpu/templates": ["runtime", "compiler"],
    "backends/cpu": RUNTIME,
    "backends/cpu/cc": ["runtime/base", "runtime/program"],
    "backends/cuda": RUNTIME,
    "backends/cuda/codegen": ["runtime", "compiler", "backends/cuda"],
    "backends/cuda/templates": ["runtime", "compiler", "backends/cuda"],
    "backends/null": RUNTIME,
    "backends": ["runtime", "compiler", "backends/cpu", "backends/cuda", "backends/null"],
    "models/files": ["runtime/base"],
    "models/hub": ["runtime/base", "models/files"],
    "models/tokenizers": ["runtime/base", "models/files"],
    "models/architectures": ["runtime/base", "runtime/symbolic", "compiler/graph", "compiler/capture", "models/files"],
    "models": ["runtime", "compiler", "models"],
    "apps": ["runtime", "compiler", "models", "apps"],
}
FOLDERS = ("runtime", "compiler", "backends", "models", "apps", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def owner(path):
    return max((f for f in ALLOWED if within(path, f)), key=len, default=None)


def main():
    bad = 0
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in (".h", ".hpp", ".cpp", ".c"):
                continue
            path = file.relative_to(ROOT).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = match.group(1)
                why = None
                if not (ROOT / target).is_file():
                    if target == "edge_infer.h" or target == "edge_infer.hpp":
                        continue
                    why = "is not a path from the root"
                elif not path.startswith("tests/"):
                    me = owner(path)
                    own = within(target, me) if me else False
                    # A folder's own rule holds below it, too, unless a longer rule names the deeper folder.
                    if not own and not any(within(target, f) for f in ALLOWED[me]):
                        why = f"is not for {me}"
                if why:
                    print(f"{path}:{number}: \"{target}\" {why}")
                    bad += 1
    print(f"layers: {bad} forbidden includes")
    return 1 if bad else 0


sys.exit(main())
