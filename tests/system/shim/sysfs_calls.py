"""Every function of the C library by which programs list folders and look at files, on those of the device. Run with the
shim preloaded; prints ok."""
import ctypes
import errno
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
CLASS = "/sys/class/infiniband"
DEVICE = CLASS + "/mrc0"
PORT = DEVICE + "/ports/1"


class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("reclen", ctypes.c_uint16), ("type", ctypes.c_uint8),
                ("name", ctypes.c_char * 256)]


def function(name, result, *arguments):
    found = getattr(libc, name)
    found.restype, found.argtypes = result, arguments
    return found


def by_dir(directory, read):
    names = []
    while entry := read(directory):
        names.append(entry.contents.name.decode())
    return names


def check_dir_functions():
    opendir = function("opendir", ctypes.c_void_p, ctypes.c_char_p)
    closedir = function("closedir", ctypes.c_int, ctypes.c_void_p)
    rewind = function("rewinddir", None, ctypes.c_void_p)
    tell, seek = function("telldir", ctypes.c_long, ctypes.c_void_p), function("seekdir", None, ctypes.c_void_p, ctypes.c_long)
    dirfd = function("dirfd", ctypes.c_int, ctypes.c_void_p)
    for name in ("readdir", "readdir64"):
        read = function(name, ctypes.POINTER(Dirent), ctypes.c_void_p)
        directory = opendir(PORT.encode())
        names = by_dir(directory, read)
        assert {".", "..", "state", "gids", "counters"} <= set(names) and len(set(names)) == len(names), names
        end = tell(directory)
        rewind(directory)
        assert by_dir(directory, read) == names
        seek(directory, 1)
        assert by_dir(directory, read) == names[1:]
        seek(directory, end + 5)
        assert by_dir(directory, read) == []
        at = os.open("state", os.O_RDONLY, dir_fd=dirfd(directory))
        assert os.read(at, 64) == b"4: ACTIVE\n"
        os.close(at)
        assert closedir(directory) == 0
    assert opendir((PORT + "/state").encode()) is None and ctypes.get_errno() == errno.ENOTDIR
    assert opendir((PORT + "/nothing").encode()) is None and ctypes.get_errno() == errno.ENOENT
    other = opendir(b"/proc/self")  # not ours, while one of ours is open
    ours = opendir(PORT.encode())
    assert "status" in by_dir(other, function("readdir", ctypes.POINTER(Dirent), ctypes.c_void_p))
    assert closedir(other) == 0 and closedir(ours) == 0


def check_scandir():
    for name, compare in (("scandir", "alphasort"), ("scandir64", "alphasort64")):
        scan = getattr(libc, name)
        found = ctypes.POINTER(ctypes.POINTER(Dirent))()
        count = scan(PORT.encode(), ctypes.byref(found), None, getattr(libc, compare))
        names = [found[i].contents.name.decode() for i in range(count)]
        assert names == sorted(names) and "rate" in names, names


def check_descriptors():
    """hwloc opens all from a descriptor of "/"; libraries of C++ walk trees by openat and fdopendir."""
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    folder = os.open("sys/class/infiniband", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root)
    assert stat.S_ISDIR(os.fstat(folder).st_mode)
    assert "mrc0" in os.listdir(folder)
    copy = os.dup(folder)
    assert stat.S_ISDIR(os.stat("mrc0/ports", dir_fd=copy).st_mode)
    assert os.readlink("mrc0", dir_fd=copy).endswith("/infiniband/mrc0")
    inner = os.open("mrc0/ports/1", os.O_RDONLY, dir_fd=folder)
    assert sorted(os.listdir(inner)) == sorted(os.listdir(PORT))
    for fd in (root, folder, copy, inner):
        os.close(fd)


def check_attributes():
    assert stat.S_ISDIR(os.stat(DEVICE).st_mode) and stat.S_ISLNK(os.lstat(DEVICE).st_mode)
    assert stat.S_ISREG(os.stat(PORT + "/state").st_mode) and os.stat(PORT + "/state").st_mode & 0o222 == 0
    assert stat.S_ISCHR(os.stat("/dev/infiniband/uverbs900").st_mode)
    assert os.access(PORT, os.R_OK) and not os.access(PORT + "/nothing", os.F_OK)
    assert not os.access(PORT + "/state", os.W_OK)
    assert os.stat(DEVICE + "/ports/../ports//1/./state").st_size == len("4: ACTIVE\n")
    for path, flags, number in ((PORT + "/state", os.O_WRONLY, errno.EACCES), (PORT, os.O_RDWR, errno.EISDIR),
                                (PORT + "/state", os.O_DIRECTORY, errno.ENOTDIR), (PORT + "/nothing", os.O_RDONLY, errno.ENOENT)):
        try:
            os.open(path, flags)
            raise AssertionError(path)
        except OSError as failure:
            assert failure.errno == number, (path, failure)
    real = os.path.realpath(DEVICE + "/device")  # by readlink, link after link
    resolved = function("realpath", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p)
    assert resolved((DEVICE + "/device").encode(), ctypes.create_string_buffer(4096)).decode() == real
    with open(real + "/numa_node", encoding="ascii") as file:
        assert file.read() == "-1\n"
    entries = {entry.name: entry for entry in os.scandir(CLASS)}
    assert entries["mrc0"].is_symlink() and entries["mrc0"].is_dir()


def check_functions_of_checked_programs():
    buffer = ctypes.create_string_buffer(4096)
    chk = function("__realpath_chk", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    assert chk((DEVICE + "/ports/..").encode(), buffer, 4096) == os.path.realpath(DEVICE).encode()
    fd = libc.__open_2((PORT + "/lid").encode(), os.O_RDONLY)
    assert os.read(fd, 64) == b"0x0\n"
    os.close(fd)
    n = function("__readlink_chk", ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t)(
        DEVICE.encode(), buffer, 4096, 4096)
    assert buffer.raw[:n].endswith(b"/infiniband/mrc0")
    for name in ("__xstat", "__lxstat64"):
        assert getattr(libc, name)(1, (PORT + "/lid").encode(), buffer) == 0
    fd = os.open(PORT, os.O_RDONLY | os.O_DIRECTORY)
    for name in ("__fxstat", "__fxstat64"):
        buffer.raw = bytes(4096)
        assert getattr(libc, name)(1, fd, buffer) == 0 and stat.S_ISDIR(int.from_bytes(buffer.raw[24:28], "little"))
    os.close(fd)


def main():
    check_dir_functions()
    check_scandir()
    check_descriptors()
    check_attributes()
    check_functions_of_checked_programs()
    print("ok")


main()
