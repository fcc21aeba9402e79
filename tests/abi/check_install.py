#!/usr/bin/env python3
"""Installs the built library into a scratch folder and builds a program against it twice: by pkg-config and by CMake."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
#include <mrc.h>
#include <mrc_soft.h>
int main(void) {
  uint32_t version = 0;
  mrc_query_version(&version, 0, 0, 0);
  return version == MRC_API_CURRENT_VERSION && mrc_soft_is_soft_context(0) == 0 ? 0 : 1;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(client C)
find_package(mrc 1.0 REQUIRED)
add_executable(client client.c)
target_link_libraries(client PRIVATE mrc::mrc)
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True, help="the build folder")
    parser.add_argument("--libdir", required=True, help="CMAKE_INSTALL_LIBDIR")
    parser.add_argument("--cc", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        prefix, source = root / "prefix", root / "source"
        for component in ("runtime", "development"):
            run(args.cmake, "--install", args.build, "--prefix", prefix, "--component", component)
        source.mkdir()
        (source / "client.c").write_text(PROGRAM)
        (source / "CMakeLists.txt").write_text(PROJECT)
        libdir = prefix / args.libdir
        environment = dict(os.environ, PKG_CONFIG_PATH=str(libdir / "pkgconfig"), LD_LIBRARY_PATH=str(libdir))
        # The folder of mrc.pc is the one configured; prefix moves it to where it lies now.
        flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "mrc", env=environment)
        run(args.cc, source / "client.c", "-o", root / "by_pkg_config", *flags.split())
        run(root / "by_pkg_config", env=environment)
        run(args.cmake, "-S", source, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={args.cc}")
        run(args.cmake, "--build", root / "build")
        run(root / "build" / "client", env=environment)
    print("installed, found and linked by pkg-config and by CMake")


if __name__ == "__main__":
    main()
