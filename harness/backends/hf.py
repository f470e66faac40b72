"""A transformers checkpoint in process, with or without a LoRA adapter, read by the letters of the options.

For bases that the numpy runtime does not know and for proofs on a real model; a server is faster. Needs torch,
transformers and peft (the train extra). Options of the configuration: ``dtype`` (float32), ``threads`` (0: torch's
own), ``device`` (cpu), ``adapter_folder``. ``model`` is a folder or the name of a checkpoint.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from ..errors import BackendError
from ..probe import Request, Response, Usage
from .base import Backend
from .config import ModelConfig
from .weights import checkpoint_sha256


class Transformers(Backend):
    local = True

    def __init__(self, config: ModelConfig, meter: Any = None) -> None:
        super().__init__(config, meter)
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch, options = torch, config.options
        if options.get("threads"):
            torch.set_num_threads(options["threads"])
        self.device = options.get("device", "cpu")
        revision = {"revision": config.revision} if config.revision else {}
        self.tokenizer = AutoTokenizer.from_pretrained(config.model, **revision)
        dtype = getattr(torch, options.get("dtype", "float32"))
        model = AutoModelForCausalLM.from_pretrained(config.model, dtype=dtype, **revision)
        if options.get("adapter_folder"):
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, options["adapter_folder"]).merge_and_unload()
        self.model = model.to(self.device).eval()
        self.lock = threading.Lock()

    @classmethod
    def identity(cls, config: ModelConfig, request: Request) -> str:
        return checkpoint_sha256(config.model)

    def answer(self, request: Request) -> Response:
        begun = time.perf_counter()
        if request.images:
            return Response(error=f"{self.config.name} is asked in process, where images are not supported",
                            finish_reason="error")
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.text})
        text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False,
                                                  enable_thinking=False)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"].to(self.device)
        with self.lock, self.torch.no_grad():
            logits = self.model(input_ids=ids, logits_to_keep=1, use_cache=False).logits[0, -1].double()
        logs = logits.log_softmax(-1)
        scores = {key: float(logs[self._token(letter)]) for letter, key in request.letters.items()}
        best = max(scores, key=scores.__getitem__)
        return Response(text=next(n for n, key in request.letters.items() if key == best), option_scores=scores,
                        scores_are="logprobs", label_mass=sum(math.exp(s) for s in scores.values()),
                        served_model=self.config.model, usage=Usage(tokens_in=int(ids.shape[1]), tokens_out=1),
                        latency_s=time.perf_counter() - begun)

    def _token(self, letter: str) -> int:
        ids = self.tokenizer(letter, add_special_tokens=False)["input_ids"]
        if len(ids) != 1:
            raise BackendError(f"model {self.config.name}: its tokenizer splits the option letter {letter!r}")
        return int(ids[0])
