"""`demeanor` and `python -m demeanor`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from typing import NoReturn

_INTERRUPTED = 130
_NO_WINDOWS = """\
demeanor: Windows is not supported: agents are started and ended by means that only Linux and macOS have
  → use WSL 2 (wsl --install), and install Demeanor there
  → more about this: install.md in the documentation
"""
_LOST = "demeanor: standard output can't be written: {why}; exit code 70 instead of {code}\n"


def main() -> None:
    """Run the command line and end with its exit code; with 70 if its output could not be written."""
    if sys.platform == "win32":
        sys.stderr.write(_NO_WINDOWS)
        sys.exit(2)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job of a shell: the signal is meant for us
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from demeanor.core.streams import install_streams

    lost = install_streams(os.environ)
    try:
        code = _run()
    except SystemExit as ending:  # argparse ends the program after --help and after a mistake
        code = ending.code if isinstance(ending.code, int) else 0
    except KeyboardInterrupt:  # while modules are imported
        code = _INTERRUPTED
    why = lost()
    if why is not None:
        sys.stderr.write(_LOST.format(why=why, code=int(code)))
        code = 70
    sys.stderr.flush()
    if code == _INTERRUPTED:
        os._exit(code)  # freeing everything takes seconds on a busy machine
    _end(code)


def _end(code: int) -> NoReturn:
    """End the process. Its memory is not freed object by object, which takes 10 ms after a run; but what was registered
    for the end is done, and threads, a debugger or a profiler get to finish their work.
    """
    threading = sys.modules.get("threading")
    others = [one for one in threading.enumerate() if one is not threading.main_thread()] if threading else []
    if sys.gettrace() or sys.getprofile() or not all(one.daemon for one in others):
        gc.freeze()  # otherwise Python searches everything for cycles before it ends, 50 ms after a run
        sys.exit(code)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from demeanor._version import __version__

        sys.stdout.write(f"demeanor {__version__}\n")
        return 0
    # A run creates many small values and few reference cycles: collecting less often makes it about 5 % faster. Imports
    # and a short run create 70,000 objects, so they need no collection.
    gc.set_threshold(150_000, 20, 20)
    from demeanor.cli import run_and_end

    return run_and_end(sys.argv[1:])


if __name__ == "__main__":
    main()
