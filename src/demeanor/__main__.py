"""`demeanor` and `python -m demeanor`."""

from __future__ import annotations

import os
import signal
import sys

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
    from demeanor.core.text.streams import install_streams

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
    sys.exit(code)


def _run() -> int:
    if sys.argv[1:2] in (["--version"], ["-V"]):
        from demeanor._version import __version__

        sys.stdout.write(f"demeanor {__version__}\n")
        return 0
    from demeanor.cli import run_and_end

    return run_and_end(sys.argv[1:])


if __name__ == "__main__":
    main()
