"""Serves a small language model over the OpenAI Chat wire, with llama.cpp.

Takes the weights and a chat template; prints the address that it listens on; ends when its input does.
"""

import os
import socket
import sys

import xllamacpp


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    weights, template = sys.argv[1:3]
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.n_ctx = 4096
    params.n_parallel = 1
    # Made to call a tool, a small model calls it again and again; the limit ends that.
    params.n_predict = 160
    # One thread: two fall far behind one as soon as another process wants a core.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostname = "127.0.0.1"
    params.port = free_port()
    params.use_jinja = True
    params.warmup = False
    # The same words each time, as far as one machine can say.
    params.sampling.temp = 0.0
    with open(template, encoding="utf-8") as text:
        params.chat_template = text.read()
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # An answer may still be going on, and an ordinary end would wait for it.
    os._exit(0)


if __name__ == "__main__":
    main()
