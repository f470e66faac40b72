"""vLLM: a server at a given address, or one that a run starts, watches and stops.

:func:`serve` is called once, by the controller; every process then asks its ``base_url`` through :class:`Vllm`. Options
of such a model in ``specs/models.yaml``, beside those of :mod:`harness.backends.chat`:

    python           interpreter that has vLLM (default: this one)
    serve_args       further arguments of ``vllm serve``, e.g. [--max-model-len, "8192", --dtype, bfloat16]
    fast_args        arguments that change speed and memory only, so not part of a reply's identity
    env              further environment variables of the server
    start_timeout_s  default 900
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import FatalError
from ..probe import Request, Response
from .chat import Chat, model_id
from .config import ModelConfig
from .decisions import Decisions
from .meter import Meter
from .weights import checkpoint_sha256

_TAIL = 15
_EVERY_S = 5.0


class Vllm(Chat):
    """A chat backend that can also take typed decisions, by vLLM's own System One route."""

    def __init__(self, config: ModelConfig, meter: Meter | None = None) -> None:
        super().__init__(config, meter)
        self._decisions: Decisions | None = None

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        return checkpoint_sha256(config.model)

    def parse(self, request: Request, data: Mapping[str, Any]) -> Response:
        """As for any chat; the provider says whether this server stops loops: 0 loops is not unknown."""
        detects = "repetition_detection" in self.config.options.get("extra_body", {})
        reply = super().parse(request, data)
        return reply if reply.provider else replace(reply, provider="vllm, loop detector" if detects else "vllm")

    async def complete(self, request: Request) -> Response:
        if not self.config.base_url:
            raise FatalError(f"model {self.config.name}: no vLLM server runs; a run starts one, or give its base_url")
        if request.readout != "decision":
            return await super().complete(request)
        if self._decisions is None:
            self._decisions = Decisions(self.config, self.meter)
        return await self._decisions.complete(request)


class Server:
    """A running vLLM server. ``base_url`` ends in /v1; the log is at ``log``."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.log = log
        atexit.register(self.stop)

    def alive(self) -> bool:
        return self.process.poll() is None

    def listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 2.0).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """End the server and all its processes; may be called twice, and happens by itself when this process dies."""
        atexit.unregister(self.stop)
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()  # the guard ends the server when nobody holds the other end
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5.0)

    def death(self) -> str:
        """What to tell when it ended before it was stopped; "" while it lives."""
        if not self.listens():  # then its guard is about to end too
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15.0)
        if self.alive():
            return ""
        return (f"the vLLM server at {self.base_url} ended by itself with status {self.process.returncode}; every reply "
                f"so far is kept: run again to go on. Its log is {self.log}, the last lines:\n{self.last_lines()}")

    def last_lines(self) -> str:
        """The end of the log."""
        try:
            with self.log.open("rb") as f:
                f.seek(max(0, self.log.stat().st_size - 20_000))
                lines = f.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-_TAIL:])


def command(config: ModelConfig, port: int) -> list[str]:
    """The command line that serves ``config`` on that port of the loopback interface."""
    options = config.options
    args = [options.get("python") or sys.executable, "-m", "vllm.entrypoints.openai.api_server",
            "--model", config.model, "--served-model-name", config.model, "--host", "127.0.0.1", "--port", str(port)]
    if config.revision:
        args += ["--revision", config.revision]
    if options.get("adapter_rank"):  # adapters are loaded while it runs, so one server does for a base and all of its
        args += ["--enable-lora", "--max-lora-rank", str(max(8, options["adapter_rank"]))]
    elif config.adapter:
        args += ["--enable-lora", "--lora-modules", json.dumps({"name": model_id(config), "path": config.adapter})]
    return [*args, *map(str, options.get("serve_args", ())), *map(str, options.get("fast_args", ()))]


def load_adapter(base_url: str, config: ModelConfig) -> None:
    """Make a running server serve an adapter under its own id; one that it has already is left as it is.

    Raises:
        FatalError: the server cannot; says how it has to be started.
    """
    body = json.dumps({"lora_name": model_id(config), "lora_path": config.options["adapter_folder"]}).encode()
    request = urllib.request.Request(f"{base_url}/load_lora_adapter", body, {"content-type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=120).close()
    except urllib.error.HTTPError as error:
        said = error.read(2000).decode("utf-8", "replace")
        if "already" not in said:
            raise FatalError(f"model {config.name}: the server at {base_url} did not load {config.adapter}: {said}; "
                             "start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1") from None
    except OSError as error:
        raise FatalError(f"model {config.name}: no server at {base_url} to load {config.adapter}: {error}") from None


def same_server(one: ModelConfig, other: ModelConfig) -> bool:
    """Whether one server can answer for both: two readouts of the same weights need the memory once."""
    return command(one, 0) == command(other, 0) and one.options.get("env") == other.options.get("env")


def serve(
    config: ModelConfig, folder: Path, say: Callable[[str], None] = print, *, argv: Sequence[str] | None = None
) -> Server:
    """Start a server and wait until it is healthy.

    Args:
        config: of a ``vllm`` model without base_url.
        folder: where ``vllm-NAME.log`` is written; the run's folder.
        say: told every few seconds what is being waited for.
        argv: the command instead of vLLM's own, ``{port}`` standing for the port (for tests, or a wrapper script).

    Raises:
        FatalError: it died or did not become healthy in time; holds the last lines of its log.
    """
    options = config.options
    timeout = float(options.get("start_timeout_s", 900.0))
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"vllm-{''.join(c if c.isalnum() or c in '-._' else '-' for c in config.name)}.log"
    for attempt in range(3):
        port = free_port()
        args = [a.replace("{port}", str(port)) for a in argv] if argv else command(config, port)
        if not shutil.which(args[0]):
            raise FatalError(f"model {config.name}: {args[0]}: no such program; set options.python to the "
                             "interpreter that has vLLM")
        server = _start(config, args, port, log)
        try:
            if _wait(config, server, port, timeout, say):
                return server
            taken = "ddress already in use" in server.last_lines()
            if attempt < 2 and taken:  # somebody took the port between our look and its start
                continue
            raise FatalError(f"model {config.name}: the vLLM server ended with status {server.process.returncode}; "
                             f"its log is {log}, the last lines:\n{server.last_lines()}")
        except BaseException:
            server.stop()
            raise
    raise AssertionError("unreachable")


def _start(config: ModelConfig, args: Sequence[str], port: int, log: Path) -> Server:
    env = {**os.environ, "VLLM_NO_USAGE_STATS": "1", **{k: str(v) for k, v in config.options.get("env", {}).items()}}
    guard = [sys.executable, str(Path(__file__).with_name("guard.py")), *args]
    with log.open("wb") as out:
        process = subprocess.Popen(guard, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, env=env,
                                   start_new_session=True)  # Ctrl-C on the terminal is ours to handle, not the server's
    return Server(process, port, log)


def _wait(config: ModelConfig, server: Server, port: int, timeout: float, say: Callable[[str], None]) -> bool:
    """Whether the server got healthy; False when it ended."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    started = told = time.monotonic()
    while server.alive():
        try:
            with opener.open(f"http://127.0.0.1:{port}/health", timeout=5.0) as reply:
                if reply.status == 200:
                    say(f"vLLM serves {config.name} at {server.base_url} after {time.monotonic() - started:.0f} s")
                    return True
        except (urllib.error.URLError, OSError):
            pass
        now = time.monotonic()
        if now - started > timeout:
            raise FatalError(f"model {config.name}: the vLLM server was not healthy after {timeout:g} s "
                             f"(options.start_timeout_s); its log is {server.log}, the last lines:\n"
                             f"{server.last_lines()}")
        if now - told >= _EVERY_S:
            told = now
            last: Any = server.last_lines().rpartition("\n")[2].strip()
            say(f"waiting for vLLM to load {config.name}, {now - started:.0f} s: {last[:100]}")
        time.sleep(0.25)
    return False


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
