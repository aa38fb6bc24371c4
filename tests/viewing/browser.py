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
    "--remote-debugging-port=0",
)


def binary():
    """Path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, BINARIES)), None)


class DevToolsError(Exception):
    """What the browser answers when it cannot do what it is asked."""


class Browser:
    """One page of a browser of its own, of a size in pixels. A context manager."""

    def __init__(self, profile, url, size=(640, 480)):
        from websockets.sync.client import connect

        self.process = subprocess.Popen(
            [binary(), *_FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={profile}", "about:blank"],
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
            self.key(kind, code, key, number)
            time.sleep(0.3)

    def key(self, kind, code, key, number, **parameters):
        """Press (keyDown) or release (keyUp) a key, as `press`."""
        self.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number, **parameters
        )

    def mouse(self, kind, place, button="none", wait=0.2, **parameters):
        """Tell the page that the mouse is at a place in pixels: mouseMoved, mousePressed or mouseReleased."""
        x, y = place
        held = {"none": 0, "left": 1, "right": 2}[button]
        self.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=held,
            clickCount=1,
            **parameters,
        )
        time.sleep(wait)

    def drag(self, begin, end, button="left", **parameters):
        """Press at one place, go to another, and release there, slowly: the page looks now and then."""
        self.mouse("mouseMoved", begin)
        self.mouse("mousePressed", begin, button, **parameters)
        for part in (0.25, 0.5, 0.75, 1.0):
            place = [a + part * (b - a) for a, b in zip(begin, end, strict=True)]
            self.mouse("mouseMoved", place, button, **parameters)
        self.mouse("mouseReleased", end, button, **parameters)

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
