"""Attempts to break out of the sandbox. Each prints ESCAPED if it gets what it must not get.

They know what an attacker could guess: SERVER and ZYGOTE are process ids; PORT, ABSTRACT, NAMED
and DATAGRAM lead to sockets of the server; KEY, DATABASE and OTHER are files of it; `mine()` is the
path of a document that the attacker may read.
"""

# Expressions that must raise an error. If one does not, ESCAPED is printed after it.

READS = {
    "/etc/shadow": 'open("/etc/shadow").read()',
    "/etc/passwd": 'open("/etc/passwd").read()',
    "the database": "open(DATABASE).read()",
    "the key in the home folder": "open(KEY).read()",
    "a stored file of another user": "open(OTHER).read()",
    "another user by their id": 'get_memory_path("ds-9", "secret.txt").read_text()',
    "one's own document under another name": 'get_memory_path("ds-1", "../../canary")',
    "a path as an id": 'get_memory_path("../../etc", "passwd")',
    "dots from one's own document": 'open(mine().parent / "../../../other/secret.txt").read()',
    "the folder of all runners": (
        '[name for name in os.listdir(mine().parent / "../../..") if "-" in name][0]'
    ),
    "the environment of the server": 'open(f"/proc/{SERVER}/environ", "rb").read()',
    "the environment of the zygote": 'open(f"/proc/{ZYGOTE}/environ", "rb").read()',
    "the environment of init": 'open("/proc/1/environ", "rb").read(1)',
    "the memory of the server": 'open(f"/proc/{SERVER}/mem", "r+b")',
    "the files that the server has open": 'os.listdir(f"/proc/{SERVER}/fd")',
    "the root of the server": 'os.listdir(f"/proc/{SERVER}/root")',
    "the memory of the machine": 'open("/dev/mem", "rb")',
    "the log of the kernel": 'open("/dev/kmsg")',
    "a disk": 'open("/dev/vda", "rb")',
    "the terminal": 'open("/dev/tty")',
    "the addresses of the kernel": 'open("/proc/kallsyms").read(10)',
    "the connections of the machine": 'open("/proc/net/tcp").read()',
    "the mounts of the machine": 'open("/proc/self/mountinfo").read()',
    "settings of the kernel": 'open("/sys/kernel/uevent_seqnum").read()',
    "the home folder": "os.listdir(os.path.dirname(KEY))",
    "folders of others": (
        '[name for place in ("/home", "/var", "/etc") for name in os.listdir(place)][0]'
    ),
    "a link in scratch": 'os.symlink(KEY, tmp("link")) or open(tmp("link")).read()',
    "a hard link in scratch": 'os.link(KEY, tmp("hard")) or open(tmp("hard")).read()',
    "a file by its handle": 'libc.syscall(304, -100, b"x" * 16, 0) + 1 or 1/0',
}

WRITES = {
    "one's own document": 'open(mine(), "ab")',
    "deleting one's own document": "os.unlink(mine())",
    "renaming its folder": 'os.rename(mine().parent, str(mine().parent) + "x")',
    "its permissions": "os.chmod(mine(), 0o777)",
    "its length": "os.truncate(mine(), 0)",
    "its times": "os.utime(mine())",
    "its attributes": 'os.setxattr(mine(), "user.x", b"1")',
    "its owner": "os.chown(mine(), os.getuid(), os.getgid())",
    "a hard link to it": 'os.link(mine(), tmp("l"))',
    "a file beside it": 'open(mine().parent / "new", "w")',
    "the database": 'open(DATABASE, "a")',
    "the root": 'open("/pwned", "w")',
    "the temporary folder": 'open("/tmp/pwned", "w")',
    "shared memory": 'open("/dev/shm/pwned", "w")',
    "system settings": 'open("/etc/pwned", "w")',
    "the home folder": 'open(os.path.dirname(KEY) + "/pwned", "w")',
    "the interpreter": 'open(sys.prefix + "/lib/python3.11/site-packages/pwned.pth", "w")',
    "the standard library": 'open(os.__file__, "a")',
    "the program itself": 'open(memolith.__file__, "a")',
    "a device": 'os.mknod(tmp("device"), 0o20666, os.makedev(1, 1))',
    "its score for the killer": 'open("/proc/self/oom_score_adj", "w").write("-1000")',
}

NETWORK = {
    "the server itself": 'socket.create_connection(("127.0.0.1", PORT), 2)',
    "the world": 'socket.create_connection(("192.0.2.1", 80), 2)',
    "a datagram": (
        'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53))'
    ),
    "IPv6": "socket.socket(socket.AF_INET6)",
    "listening": 'socket.create_server(("127.0.0.1", 0))',
    "HTTP": 'urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=2)',
    "an abstract socket": "socket.socket(socket.AF_UNIX).connect(ABSTRACT)",
    "a socket with a name": "socket.socket(socket.AF_UNIX).connect(NAMED)",
    "netlink": "socket.socket(16, 3, 0)",
    "raw packets": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "packets": "socket.socket(17, 3, 0)",
    "virtual machines": "socket.socket(40, socket.SOCK_STREAM)",
    "the crypto of the kernel": "socket.socket(38, 5, 0)",
    "a pair to a socket with a name": "socket.socketpair()[0].connect(NAMED)",
    "a pair of datagrams": (
        'socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", DATAGRAM)'
    ),
    "a pair in order": "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
}

PROCESSES = {
    "a shell": 'subprocess.run(["/bin/sh", "-c", "id"], check=True)',
    "os.system": 'os.system("id") and 1/0',
    "another program": 'os.execv(sys.executable, [sys.executable, "-c", "print(\'ESCAPED\')"])',
    "a fork": "os.fork() or os._exit(0)",
    "a new process by posix_spawn": (
        'os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})'
    ),
    "a pool of processes": "multiprocessing.Pool(1)",
    "a raw fork": "libc.syscall(57) + 1 or 1/0",
    "a raw clone": "libc.syscall(56, 17, 0, 0, 0, 0) + 1 or 1/0",
    "a raw clone3": "libc.syscall(435, bytes(88), 88) + 1 or 1/0",
    "another namespace": "libc.unshare(0x10000000) + 1 or 1/0",
    "a mount": 'libc.mount(b"none", b"/scratch", b"tmpfs", 0, None) + 1 or 1/0',
    "another root": 'os.chroot(tmp(""))',
    "root": "os.setuid(0) or (1/0 if os.getuid() else None)",
    "capabilities": 'libc.capset(struct.pack("2I", 0x20080522, 0), b"\\xff" * 24) + 1 or 1/0',
    "tracing the server": "libc.ptrace(16, SERVER, 0, 0) + 1 or 1/0",
    "reading its memory": "libc.syscall(310, SERVER, 0, 0, 0, 0, 0) + 1 or 1/0",
    "a handle on the server": "os.pidfd_open(SERVER)",
    "its limits": "resource.prlimit(SERVER, resource.RLIMIT_NOFILE, (1, 1))",
    "one's own memory limit": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "one's own file limit": "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
    "typing into a terminal": 'fcntl.ioctl(0, 0x5412, b"x")',
    "a group of its own": "os.setsid()",
    "handles that were left open": "[fd for fd in range(4, 1024) if is_open(fd)][0]",
    "secrets in the environment": 'os.environ["SERVER_SECRET"]',
    "the processors of the server": "os.sched_setaffinity(SERVER, os.sched_getaffinity(0))",
    "the processors of the zygote": "os.sched_setaffinity(ZYGOTE, os.sched_getaffinity(0))",
}

MEMORY = {
    "shared memory": "mmap.mmap(-1, 4096)",
    "shared memory that validates its flags": "mmap.mmap(-1, 4096, flags=0x23)",
    "shared memory by a device": (
        'mmap.mmap(os.open("/dev/zero", os.O_RDONLY), 4096, mmap.MAP_SHARED, mmap.PROT_READ)'
    ),
    "huge pages": "mmap.mmap(-1, 1 << 21, flags=0x40022)",
    "swapping its memory out": "mmap.mmap(-1, 1 << 20, flags=0x22).madvise(21)",
    "a file in memory": 'os.memfd_create("x")',
    "space behind the end of its output": "libc.fallocate(1, 1, 0, 1 << 30) + 1 or 1/0",
    "space behind the end of a file": (
        'libc.fallocate(os.open(tmp("f"), os.O_RDWR | os.O_CREAT), 1, 0, 1 << 26) + 1 or 1/0'
    ),
}

SIGNALS = {
    "the server": "os.kill(SERVER, 10)",
    "asking for the server": "os.kill(SERVER, 0)",
    "the zygote": "os.kill(ZYGOTE, 9)",
    "everybody": "os.kill(-1, 10)",
    "the group": "os.killpg(0, 10)",
    "the parent": "os.kill(os.getppid() or 2, 10)",
    "a thread of the server": "libc.syscall(200, SERVER, 10) + 1 or 1/0",
    "by tgkill": "libc.syscall(234, SERVER, SERVER, 10) + 1 or 1/0",
    "by queue": "libc.sigqueue(SERVER, 10, None) + 1 or 1/0",
    "as the owner of a pipe": "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, SERVER)",
    "as the owner of its line": "fcntl.fcntl(os.dup(1), fcntl.F_SETOWN, SERVER)",
    "as the owner of a pipe, the newer way": (
        'fcntl.fcntl(os.pipe()[0], 15, struct.pack("ii", 1, SERVER))'
    ),
    "another signal for a pipe": "fcntl.fcntl(os.pipe()[0], fcntl.F_SETSIG, 10)",
    "as the owner of a socket": (
        'fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack("i", SERVER))'
    ),
    "as the group of a socket": (
        'fcntl.ioctl(socket.socketpair()[0], 0x8902, struct.pack("i", SERVER))'
    ),
    "when a folder changes": 'fcntl.fcntl(os.open(tmp(""), os.O_RDONLY), fcntl.F_NOTIFY, 4)',
    "when a file is opened": (
        'fcntl.fcntl(os.open(tmp("f"), os.O_RDWR | os.O_CREAT), fcntl.F_SETLEASE, 1)'
    ),
}

IMPORTS = (
    "import ctypes, fcntl, memolith, mmap, multiprocessing, os, resource, socket, struct\n"
    "import subprocess, sys, time, urllib.request\n"
)
PRELUDE = (
    IMPORTS
    + """
libc = ctypes.CDLL(None, use_errno=True)
def tmp(name): return os.path.join(os.environ.get("TMPDIR", "/tmp"), name)
def mine(): return get_memory_path("ds-1", "a.txt")
def is_open(descriptor):
    try: return bool(os.fstat(descriptor))
    except OSError: return False
"""
)

DANGEROUS_CALLS = {
    "mount": 165,
    "umount2": 166,
    "unshare": 272,
    "setns": 308,
    "pivot_root": 155,
    "chroot": 161,
    "bpf": 321,
    "io_uring_setup": 425,
    "keyctl": 250,
    "add_key": 248,
    "request_key": 249,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "memfd_create": 319,
    "memfd_secret": 447,
    "open_by_handle_at": 304,
    "name_to_handle_at": 303,
    "init_module": 175,
    "finit_module": 313,
    "kexec_load": 246,
    "reboot": 169,
    "swapon": 167,
    "iopl": 172,
    "personality": 135,
    "ptrace": 101,
    "setuid": 105,
    "setresuid": 117,
    "capset": 126,
    "quotactl": 179,
    "acct": 163,
    "syslog": 103,
    "settimeofday": 164,
    "clock_settime": 227,
    "mknod": 133,
    "shmget": 29,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "fanotify_init": 300,
    "inotify_init1": 294,
    "move_mount": 429,
    "fsopen": 430,
    "open_tree": 428,
    "landlock_create_ruleset": 444,
    "seccomp": 317,
    "execveat": 322,
    "vfork": 58,
    "clone3": 435,
    "setpriority": 141,
    "sched_setscheduler": 144,
    "sethostname": 170,
    "modify_ldt": 154,
    "tkill": 200,
    "setsid": 112,
    "setpgid": 109,
    "socket": 41,
    "accept": 43,
    "bind": 49,
    "listen": 50,
    "connect": 42,
    "openat2": 437,
    "mount_setattr": 442,
    "pkey_alloc": 330,
    "splice": 275,
    "vmsplice": 278,
    "tee": 276,
    "statmount": 457,
    "listmount": 458,
}
"""By their names and numbers on x86-64; each must be refused whatever its arguments are."""

# Whole programs that take too much, kill themselves or forge messages.
PROGRAMS = {
    "all dangerous calls": f"DANGEROUS_CALLS = {DANGEROUS_CALLS}"
    + """
import errno
refusals = (errno.EPERM, errno.ENOSYS)
for name, number in DANGEROUS_CALLS.items():
    ctypes.set_errno(0)
    result = libc.syscall(number, -1, -1, -1, -1, -1, -1)
    if result != -1 or ctypes.get_errno() not in refusals:
        print("ESCAPED", name)
""",
    "calls of another ABI": "print('ESCAPED', libc.syscall(0x40000000 + 39))",
    "calls of 32 bits": """
import mmap
page = mmap.mmap(-1, 4096, prot=7, flags=0x22)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print("ESCAPED", ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""",
    "whether the database exists": "print('ESCAPED' if os.path.exists(DATABASE) else 'hidden')",
    "one huge allocation": "x = bytearray(1 << 36)\nprint('ESCAPED')",
    "many allocations": "x = []\nwhile True: x.append(bytearray(20 << 20))",
    "shared memory without end": """
import mmap
x = []
while True:
    x.append(mmap.mmap(-1, 20 << 20))
    for place in range(0, 20 << 20, 4096): x[-1][place] = 1
""",
    "a huge array": "import numpy\nx = numpy.ones((200000, 200000))\nprint('ESCAPED')",
    "threads without end": """
import threading, time
threading.stack_size(65536)
for count in range(20000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ESCAPED")
""",
    "shared memory out of sight": """
x = []
for count in range(30):
    x.append(mmap.mmap(-1, 20 << 20))
    for place in range(0, 20 << 20, 4096): x[-1][place] = 1
    x[-1].madvise(mmap.MADV_DONTNEED)
print("ESCAPED")
""",
    "a signal by way of a pipe": """
reader, writer = os.pipe()
def try_to(*command):
    try: fcntl.fcntl(reader, *command)
    except OSError: pass
try_to(fcntl.F_SETOWN, SERVER)
try_to(fcntl.F_SETSIG, 10)
try_to(fcntl.F_SETFL, os.O_ASYNC)
os.write(writer, b"x")
""",
    "handles without end": "x = [open('/dev/null') for _ in range(500)]\nprint('ESCAPED')",
    "pipes without end": "x = [os.pipe() for _ in range(200)]\nprint('ESCAPED')",
    "a huge error": "raise ValueError('z' * 10_000_000)",
    "deep recursion": "sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
    "a fault": "ctypes.string_at(0)",
    "an exit": "os._exit(3)",
    "a polite exit": "sys.exit(3)",
    "an abort": "os.abort()",
    "killing itself": "os.kill(os.getpid(), 9)",
    "closing its lines": "os.closerange(0, 10)",
    "closing what it prints to": "sys.stdout.close(); os.close(1); os.close(2)",
    "a line that is none": "os.write(3, b'garbage\\n')",
    "a line that never ends": "os.write(3, b'A' * 200_000)",
    "a line nested too deep": "os.write(3, b'[' * 60_000 + b'\\n')",
    "a line of the wrong shape": "os.write(3, b'[1]\\n')",
    "a pickle": """
import pickle
class Evil:
    def __reduce__(self): return os.system, ("touch " + os.path.dirname(KEY) + "/pwned",)
os.write(3, pickle.dumps(Evil()) + b"\\n")
""",
    "an answer of its own": """
for number in range(300): os.write(3, b'[%d, "value", ""]\\n' % number)
""",
    "a question for a path": """
for number in range(300):
    os.write(3, b'[%d, "ask", "[\\\\"../../x\\\\", \\\\"y\\\\"]"]\\n' % number)
""",
    "a question for numbers": """
for number in range(300): os.write(3, b'[%d, "ask", "[1, 2]"]\\n' % number)
""",
    "a question that is none": """
for number in range(300): os.write(3, b'[%d, "ask", "7"]\\n' % number)
""",
    "text that is no text": "print('\\ud800'); os.write(1, b'\\xff\\xfe\\x00')",
    "an exception that fails": """
class Bad(BaseException):
    def __str__(self): raise Bad()
raise Bad()
""",
}
# Programs that take more of the disk than they may; each gets an empty scratch.
FILLING = {
    "scratch without end": """
for count in range(200): open(tmp(f"big{count}"), "wb").write(bytes(1 << 20))
time.sleep(0.2)
print("ESCAPED")
""",
    "one file without end": "open(tmp('one'), 'wb').write(bytes(200 << 20))\nprint('ESCAPED')",
    "files without end": """
for count in range(3000): open(tmp(f"small{count}"), "w").close()
time.sleep(0.2)
print("ESCAPED")
""",
    "folders without end": """
for count in range(3000): os.mkdir(tmp(f"folder{count}"))
time.sleep(0.2)
print("ESCAPED")
""",
    "folders within folders": """
os.chdir(tmp(""))
for count in range(3000):
    os.mkdir("d")
    os.chdir("d")
time.sleep(0.2)
print("ESCAPED")
""",
    "files deeper than a path is long": """
os.chdir(tmp(""))
for count in range(20):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
for count in range(20): open(f"deep{count}", "wb").write(bytes(2 << 20))
time.sleep(0.2)
print("ESCAPED")
""",
    "folders without permissions": """
for count in range(10):
    os.mkdir(tmp(f"closed{count}"), 0o300)
    open(tmp(f"closed{count}/f"), "wb").write(bytes(4 << 20))
time.sleep(0.2)
print("ESCAPED")
""",
    "files that are unlinked": """
x = []
for count in range(20):
    x.append(open(tmp("gone"), "wb"))
    os.unlink(tmp("gone"))
    x[-1].write(bytes(4 << 20))
    x[-1].flush()
time.sleep(0.2)
print("ESCAPED")
""",
    "files that never had a name": """
x = []
for count in range(20):
    x.append(os.open(tmp(""), os.O_TMPFILE | os.O_RDWR))
    os.write(x[-1], bytes(4 << 20))
time.sleep(0.2)
print("ESCAPED")
""",
    "unlinked files that are only mapped": """
x = []
for count in range(20):
    with open(tmp("mapped"), "w+b") as file:
        os.unlink(tmp("mapped"))
        file.write(bytes(4 << 20))
        file.flush()
        # Not by the module mmap, which keeps the file open.
        x.append(libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE, file.fileno(), 0))
time.sleep(0.2)
print("ESCAPED")
""",
}
# Programs that never end by themselves; they run with a short limit on time.
SLOW = {
    "a loop without end": "while True: pass",
    "a loop that ignores exceptions": """
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "a loop that ignores signals": """
import signal
signal.signal(2, signal.SIG_IGN)
while True: pass
""",
    "a long sleep": "import time\ntime.sleep(1000)",
    "a regular expression": "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
    "stopping itself": "os.kill(os.getpid(), 19)",
    "output without end": "while True: print('x' * 10000)",
    "output past Python": "while True: os.write(2, b'y' * 65536)",
    "a program after a forged answer": 'os.write(3, b\'[1, "value", ""]\\n\')\nwhile True: pass',
}


def must_raise(group: str, expressions: dict[str, str]) -> dict[str, str]:
    """Programs, named `group: name`, that print ESCAPED if their expression raises no error."""
    programs = {}
    for name, expression in expressions.items():
        programs[f"{group}: {name}"] = f"{expression}\nprint('ESCAPED')"
    return programs


ONE_LINERS = {
    **must_raise("read", READS),
    **must_raise("write", WRITES),
    **must_raise("connect to", NETWORK),
    **must_raise("start", PROCESSES),
    **must_raise("take", MEMORY),
    **must_raise("signal", SIGNALS),
}
ATTEMPTS = {**ONE_LINERS, **PROGRAMS, **FILLING, **SLOW}

LEAKS: dict[str, set[str]] = {
    "namespace": set(),
    # Landlock cannot hide that a path exists; this is documented.
    "landlock": {"whether the database exists"},
}
"""The attempts that get through in a mode."""

HARMLESS = [
    "read: /etc/passwd",
    "read: the database",
    "read: the key in the home folder",
    "read: a stored file of another user",
    "read: the environment of the server",
    "read: the connections of the machine",
    "read: the home folder",
    "read: a link in scratch",
    "write: the database",
    "write: the home folder",
    "connect to: the server itself",
    "start: a shell",
    "start: os.system",
    "start: secrets in the environment",
    "start: the processors of the server",
    "take: shared memory",
    "take: shared memory by a device",
    "take: a file in memory",
    "take: space behind the end of a file",
    "signal: asking for the server",
    "signal: as the owner of a pipe",
    "signal: as the owner of a pipe, the newer way",
    "signal: another signal for a pipe",
    "signal: as the owner of a socket",
    "signal: when a folder changes",
    "files that are unlinked",
    "files that never had a name",
    "unlinked files that are only mapped",
]
"""The attempts that do no harm where nothing stops them: for the control without a sandbox."""
