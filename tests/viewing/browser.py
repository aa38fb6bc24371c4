"""A real Chromium without a window, driven over its DevTools protocol."""

import base64
import contextlib
import io
import json
import shutil
import subprocess
import time
import urllib.request

import numpy as np

BINARIES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--window-size=640,480",
    "--remote-debugging-port=0",
)


def binary():
    """Path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, BINARIES)), None)


class DevToolsError(Exception):
    """What the browser answers when it cannot do what it is asked."""


class Browser:
    """One page of a browser of its own. A context manager."""

    def __init__(self, profile, url):
        from websockets.sync.client import connect

        self.process = subprocess.Popen(
            [binary(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        address = profile / "DevToolsActivePort"
        until(lambda: address.exists() and address.read_text().strip(), 30.0, "the browser did not start")
        port = address.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            (page,) = (target for target in json.load(answer) if target["type"] == "page")
        self._open = contextlib.ExitStack()
        self._socket = self._open.enter_context(connect(page["webSocketDebuggerUrl"], max_size=2**26))
        self._count = 0
        self.call("Page.navigate", url=url)
        until(self._loaded, 60.0, f"{url} does not load")

    def call(self, method, **parameters):
        """Call a method of the DevTools protocol and return its result."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60.0))
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise DevToolsError(f"{method}: {answer['error']}")
                return answer["result"]

    def _loaded(self):
        """Whether the page has taken the blank one's place; until then the browser may refuse to answer."""
        shown = "document.readyState === 'complete' && location.href !== 'about:blank'"
        try:
            return self.call("Runtime.evaluate", expression=shown)["result"]["value"]
        except DevToolsError:
            return False

    def picture(self):
        """What the page looks like, (height, width, 3) from 0 to 255."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int16)

    def press(self, code, key, number):
        """Press and release a key, named as in JavaScript; `number` is the one Windows gives it."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number)
            time.sleep(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._open.close()
        self.process.terminate()
        self.process.wait(20.0)


def until(check, limit, complaint):
    """Wait until `check` returns something true, and return it; fail with `complaint` after `limit` seconds."""
    end = time.monotonic() + limit
    while not (found := check()):
        assert time.monotonic() < end, complaint
        time.sleep(0.2)
    return found
