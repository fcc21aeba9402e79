#!/usr/bin/env python3
"""Installs the built library into a scratch folder, moves that, and builds a program against it: by pkg-config, by CMake, and
under the names that existing programs use."""
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
# The interface of a program for an MRC NIC: the functions of mrc.h alone, under the name of the NIC's library.
PROGRAM_FOR_NICS = """
#include <mrc.h>
int main(void) {
  uint32_t version = 0;
  mrc_query_version(&version, 0, 0, 0);
  return version == MRC_API_CURRENT_VERSION ? 0 : 1;
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
        for component in ("runtime", "development", "compat_names"):
            run(args.cmake, "--install", args.build, "--prefix", root / "first", "--component", component)
        (root / "first").rename(prefix)
        source.mkdir()
        (source / "client.c").write_text(PROGRAM)
        (source / "CMakeLists.txt").write_text(PROJECT)
        libdir = prefix / args.libdir
        environment = dict(os.environ, PKG_CONFIG_PATH=str(libdir / "pkgconfig"), LD_LIBRARY_PATH=str(libdir))
        flags = run("pkg-config", "--cflags", "--libs", "mrc", env=environment).split()
        assert (prefix / "include").resolve() in [pathlib.Path(f[2:]).resolve() for f in flags if f.startswith("-I")], flags
        assert run("pkg-config", "--print-requires-private", "mrc", env=environment).split() == ["libibverbs"]
        run(args.cc, source / "client.c", "-o", root / "by_pkg_config", *flags)
        run(root / "by_pkg_config", env=environment)
        (source / "nic.c").write_text(PROGRAM_FOR_NICS)
        for name in ("nv_mrc", "_mrc"):
            run(args.cc, source / "nic.c", "-o", root / name, f"-I{prefix / 'include'}", f"-L{libdir}", f"-l{name}")
            run(root / name, env=environment)
            assert f"lib{name}.so" in run("ldd", root / name, env=environment)
        run(args.cmake, "-S", source, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={args.cc}")
        run(args.cmake, "--build", root / "build")
        run(root / "build" / "client", env=environment)
    print("installed, moved, found and linked by pkg-config, by CMake and by the names of others")


if __name__ == "__main__":
    main()
