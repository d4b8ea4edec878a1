"""``ordbridge app``: the page to drop a file on."""

from __future__ import annotations

import argparse
import sys

from ordbridge.cli import show


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Open a page in the browser. It runs on this machine only, sends nothing anywhere, keeps nothing."
    )
    parser.add_argument("--port", type=int, metavar="N", help="default: any that is free")
    parser.add_argument("--megabytes", type=float, metavar="N", help="refuse files that are larger than this")
    parser.add_argument("--memory", type=float, metavar="GB", help="what one computation may use; default: 4")
    parser.add_argument("--no-browser", action="store_true", help="print the address of the page and open no browser")
    parser.set_defaults(run=run, until_stopped=True)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    import webbrowser

    from ordbridge.app import Server

    given = {name: value for name in ("port", "megabytes", "memory") if (value := getattr(args, name)) is not None}
    server = Server(**given)
    show.line(f"the page is at {server.address} (Ctrl-C ends it)")
    sys.stdout.flush()
    if not args.no_browser:
        webbrowser.open(server.doorway())
    try:
        server.serve()
    except KeyboardInterrupt:
        show.line("ended; nothing was kept")
    finally:
        server.close()
    return 0
