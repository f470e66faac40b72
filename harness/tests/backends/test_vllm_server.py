"""Starting, watching and stopping a server, with a small stand-in for vLLM on the same command line."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from harness.backends.config import ModelConfig
from harness.backends.vllm import command, serve
from harness.errors import FatalError
from harness.tests.asking import ask, request
from harness.tests.plugin.session import interruptible

STAND_IN = """
import http.server, subprocess, sys, time
port, mode = int(sys.argv[1]), sys.argv[2]
print("INFO loading weights", flush=True)
if mode == "dies":
    print("ValueError: No available memory for the cache blocks", flush=True); sys.exit(3)
if mode == "hangs":
    time.sleep(600)
engine = subprocess.Popen([sys.executable, "-c", "import time; print('engine', flush=True); time.sleep(600)"])
print("engine pid", engine.pid, flush=True)
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", port), H).serve_forever()
"""


def start(tmp_path, mode="serves", say=lambda text: None, **options):
    config = ModelConfig("org/my model", "vllm", model="org/m", options=options)
    return serve(config, tmp_path, say, argv=[sys.executable, "-c", STAND_IN, "{port}", mode])


def engine_pid(log):
    return int(next(line.split()[-1] for line in log.read_text().splitlines() if line.startswith("engine pid")))


def gone(pid, within=15.0):
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_server_is_waited_for_logged_and_stopped_with_its_children(tmp_path):
    said = []
    server = start(tmp_path, say=said.append)
    with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/health") as reply:
        assert reply.status == 200
    child = engine_pid(server.log)
    assert server.log == tmp_path / "vllm-org-my-model.log"
    assert "vLLM serves" in said[-1]
    server.stop()
    server.stop()
    assert gone(child)


def test_a_server_that_dies_shows_the_end_of_its_log(tmp_path):
    with pytest.raises(FatalError, match="No available memory for the cache blocks"):
        start(tmp_path, "dies")


def test_a_server_that_never_gets_healthy_is_given_up(tmp_path):
    with pytest.raises(FatalError, match=r"not healthy after 1 s[^\n]*\n.*loading weights"):
        start(tmp_path, "hangs", start_timeout_s=1)


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(FatalError, match="no such program; set options"):
        serve(ModelConfig("m", "vllm", options={"python": "/nowhere/python"}), tmp_path)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_however_its_run_ends(tmp_path, how):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); sys.argv[1:] = sys.argv[2:]\n"
        "from pathlib import Path\nfrom harness.tests.backends import test_vllm_server as t\n"
        "t.start(Path(sys.argv[1])); print('up', flush=True); time.sleep(600)"
    )
    run = subprocess.Popen([sys.executable, "-c", code, os.getcwd(), str(tmp_path)], stdout=subprocess.PIPE, text=True,
                           preexec_fn=interruptible)
    assert run.stdout.readline().strip() == "up"
    child = engine_pid(tmp_path / "vllm-org-my-model.log")
    run.send_signal(how)
    run.wait(30)
    assert gone(child)


def test_the_command_line_serves_model_revision_and_adapter():
    config = ModelConfig(
        "m",
        "vllm",
        model="org/m",
        revision="abc",
        adapter="/adapters/ftC-0",
        options={"python": "/v/bin/python", "serve_args": ["--dtype", "bfloat16"], "fast_args": ["--max-num-seqs", 8]},
    )
    assert command(config, 5) == [
        "/v/bin/python",
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        "org/m",
        "--served-model-name",
        "org/m",
        "--host",
        "127.0.0.1",
        "--port",
        "5",
        "--revision",
        "abc",
        "--enable-lora",
        "--lora-modules",
        '{"name": "ftC-0", "path": "/adapters/ftC-0"}',
        "--dtype",
        "bfloat16",
        "--max-num-seqs",
        "8",
    ]


@pytest.mark.parametrize("readout", ["decision", "json_choice"])
def test_without_a_server_a_vllm_model_says_so_when_it_is_asked(readout):
    with pytest.raises(FatalError, match="give its base_url"):
        ask(ModelConfig("m", "vllm", model="org/m"), request(readout))
