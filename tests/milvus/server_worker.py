"""A Milvus server that only this machine can reach, started, stopped and killed by lines on stdin.

Milvus listens on every interface and on fixed ports. So it runs in a network of its own, and this
program hands connections on to it from one port of the loopback interface.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


def tell(**words):
    os.write(1, f"{json.dumps(words)}\n".encode())


def leave_the_network():
    """Move this process into a network that has nothing but a loopback interface."""
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        tell(refused=os.strerror(ctypes.get_errno()))
        sys.exit()
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_RUNNING))


def hand_on(listening, milvus):
    while True:
        client, _ = listening.accept()
        try:
            # After a restart it may have another port.
            server = socket.create_connection(("127.0.0.1", milvus.listen_port))
        except OSError:
            client.close()
            continue
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=copy, args=(one, other), daemon=True).start()


def copy(source, target):
    try:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                target.sendall(content)
    finally:
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def main():
    folder = sys.argv[1]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        leave_the_network()  # all sockets but that one are in the new network
        from milvus import default_server as server

        server.set_base_dir(folder)
        # Seconds that parts of a killed server still count as running: else a minute.
        server.config.set("common.session.ttl", 3)
        threading.Thread(target=hand_on, args=(listening, server), daemon=True).start()
        try:
            server.start()
            tell(port=listening.getsockname()[1])
            for line in sys.stdin:
                word = line.strip()
                if word == "kill":
                    server.server_proc.kill()
                    server.server_proc.wait()
                elif word == "start":
                    server.start()
                elif word == "freeze":
                    server.server_proc.send_signal(signal.SIGSTOP)
                elif word == "thaw":
                    server.server_proc.send_signal(signal.SIGCONT)
                tell(done=word)
        finally:
            if server.server_proc is not None:
                server.server_proc.kill()
                server.server_proc.wait()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
