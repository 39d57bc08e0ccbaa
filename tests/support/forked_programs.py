"""Programs in processes that begin at once: forks of one that has imported lowprec, and has no other thread."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER = """
import contextlib, json, os, sys, traceback
import lowprec.cli, lowprec.checkpoints.execution.worker
with contextlib.suppress(ImportError):
    import onnx
for line in sys.stdin:
    program, said, folder, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.dup2(os.open(said, os.O_WRONLY), 1)
        os.dup2(1, 2)
        sys.argv[1:], status = arguments, 1
        try:
            exec(program, {"__name__": "__main__"})
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@functools.cache
def _server() -> tuple[subprocess.Popen[str], Path]:
    """Return the process whose forks run programs, and the file that they write to."""
    folder = Path(tempfile.mkdtemp())
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(lambda: (server.kill(), server.communicate(), shutil.rmtree(folder)))
    return server, folder / "said"


class Program:
    """A program that runs in the current folder, one at a time, with arguments as `python -c` has them."""

    def __init__(self, text: str, *arguments: str) -> None:
        self._server, self._said = _server()
        self._said.write_text("")
        assert self._server.stdin is not None
        print(json.dumps([text, str(self._said), os.getcwd(), *arguments]), file=self._server.stdin, flush=True)
        self._pid = self._answer()

    def _answer(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())

    def said(self) -> str:
        """Return what it has printed, on either stream."""
        return self._said.read_text()

    def until(self, text: str) -> None:
        """Wait until it has printed a text."""
        end = time.monotonic() + 60
        while text not in self.said():
            assert time.monotonic() < end
            time.sleep(0.002)

    def wait(self) -> int:
        """Return its status when it has ended; below 0 the signal."""
        return os.waitstatus_to_exitcode(self._answer())

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.kill(self._pid, signal.SIGKILL)
        self.wait()
