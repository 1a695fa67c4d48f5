"""A `python` whose processes begin with torch and transformers loaded: forked from one that has loaded them.

    python -P loaded_python.py SOCKET

Loading the two takes four processor seconds. The project's own modules are loaded by each process for itself, from the
folder that it runs in.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

MODULES = (
    "accelerate",
    "bm25s",
    "faiss",
    "httpx",
    "jinja2",
    "pandas",
    "peft",
    "pyarrow.acero",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.json",
    "pyarrow.parquet",
    "pydantic.json_schema",
    "pydantic.main",
    "rapidfuzz.distance",
    "rapidfuzz.fuzz",
    "rapidfuzz.process",
    "ruamel.yaml",
    "scipy.optimize",
    "torch",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.llama.modeling_llama",
)
# Only these commands of the form `python -m MODULE` are forked; all others execute the interpreter.
FORKED = ("stages.", "accelerate.commands.launch", "torch.distributed.run")
CLIENT = """#!{python} -ISs
import json, os, socket, sys
words = sys.argv[1:]
while words[:1] == ["-u"]:
    del words[0]
if words[:1] != ["-m"] or not words[1].startswith({forked!r}):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    order = dict(program=sys.argv[0], words=words[1:], cwd=os.getcwd(), env=dict(os.environ))
    socket.send_fds(server, [json.dumps(order).encode()], [0, 1, 2])
    status = server.recv(1)
sys.exit(status[0] if status else 1)
"""


@contextlib.contextmanager
def interpreter() -> Iterator[str]:
    """The path of such a `python`, which works until the block ends. A signal to it does not reach what it runs."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        address, client = Path(folder, "socket"), Path(folder, "python")
        text = CLIENT.format(python=sys.executable, socket=str(address), forked=FORKED)
        client.write_text(text, encoding="utf-8")
        client.chmod(0o755)
        command = [sys.executable, "-P", str(Path(__file__).resolve()), str(address)]
        server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        try:
            while not address.exists():
                assert server.poll() is None
                time.sleep(0.05)
            yield str(client)
        finally:
            server.kill()
            server.wait()


def _serve(address: str) -> socket.socket:
    """Fork for each connection; returns the connection in each child."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                return connection
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _run(connection: socket.socket) -> int:
    """Run the module that the client names; returns its exit status."""
    message, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    order = json.loads(message)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    path = [part for part in order["env"].get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.path[:0] = [order["cwd"], *path]
    sys.executable, sys.argv = order["program"], order["words"]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _main() -> None:
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not {"stages", "nightjar"} & sys.modules.keys()
    gc.collect()
    gc.freeze()  # a child that looked for garbage in all this would copy it
    connection = _serve(sys.argv[1])
    status = [1]

    def end() -> None:
        """Without the garbage of all that was loaded ahead, which takes a quarter of a second."""
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(bytes(status))
        os._exit(status[0])

    atexit.register(end)  # after all that the module itself registers
    status[0] = _run(connection)


if __name__ == "__main__":
    _main()
