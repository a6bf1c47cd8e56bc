"""Servers that the player starts, and talks to over loopback. What they keep is sealed with what a
right request holds, so that reading their files is not enough."""

from __future__ import annotations

import hashlib
import json

from intercode.tasks.bundled.ctf.puzzle import Files, Puzzle, python, stream, xor

_PIN_SERVER = '''\
#!/usr/bin/env python3
"""The cloakroom: python3 server.py, then http://127.0.0.1:8080/"""
import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SEALED = bytes.fromhex("@SEALED@")
CHECK = "@CHECK@"


class Cloakroom(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/":
            return self.answer(200, "Hand in your ticket: /coat?ticket=0000\\n")
        ticket = parse_qs(url.query).get("ticket", [""])[0]
        key = hashlib.sha256(f"cloakroom {ticket}".encode()).digest()
        if url.path != "/coat" or hashlib.sha256(key).hexdigest() != CHECK:
            return self.answer(403, "That is not your coat.\\n")
        self.answer(200, bytes(a ^ b for a, b in zip(SEALED, key)).decode() + "\\n")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", 8080), Cloakroom).serve_forever()
'''
_TICKET = "0473"


def _cloakroom(flag: str) -> Files:
    key = hashlib.sha256(f"cloakroom {_TICKET}".encode()).digest()
    script = _PIN_SERVER.replace("@SEALED@", xor(flag.encode(), key).hex())
    return {"server.py": script.replace("@CHECK@", hashlib.sha256(key).hexdigest())}


_TRAIL_SERVER = '''\
#!/usr/bin/env python3
"""The museum: python3 server.py, then http://127.0.0.1:8081/entrance"""
import hashlib
import json
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOMS = json.load(open("rooms.json"))


class Museum(BaseHTTPRequestHandler):
    def do_GET(self):
        came_from = SimpleCookie(self.headers.get("Cookie", "")).get("room")
        secret = f"{came_from.value if came_from else ''} {self.path}"
        sealed = ROOMS.get(hashlib.sha256(f"name {secret}".encode()).hexdigest()[:16])
        if sealed is None:
            self.send_error(404, "There is no such way from where you are")
            return
        key = hashlib.sha512(f"door {secret}".encode()).digest()
        page = bytes(a ^ b for a, b in zip(bytes.fromhex(sealed), key))
        self.send_response(200)
        self.send_header("Set-Cookie", "room=" + self.path.strip("/"))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", 8081), Museum).serve_forever()
'''


def _museum(flag: str) -> Files:
    """A room for each letter of the flag; its door opens only to those who came the right way."""
    names = [stream(f"room {n}", 4).hex() for n in range(len(flag))]
    rooms, came_from = {}, ""
    for n, letter in enumerate(flag):
        path = "/entrance" if n == 0 else f"/{names[n]}"
        way_on = f'<a href="/{names[n + 1]}">on</a>' if n + 1 < len(flag) else "the end"
        secret = f"{came_from} {path}"
        key = hashlib.sha512(f"door {secret}".encode()).digest()
        page = f"<p>{letter}</p>{way_on}\n".encode()
        rooms[hashlib.sha256(f"name {secret}".encode()).hexdigest()[:16]] = xor(page, key).hex()
        came_from = path.strip("/")
    body = json.dumps(dict(sorted(rooms.items())), indent=1)
    return {"server.py": _TRAIL_SERVER, "rooms.json": body + "\n"}


def _visiting(script: str) -> str:
    """An action that runs a script while the server runs, and no longer."""
    return (
        f"python3 server.py & pid=$!\n{python(script)}\nkill $pid; wait $pid 2> /dev/null || true"
    )


PUZZLES = (
    Puzzle(
        "cloakroom",
        ("web", "brute force"),
        "easy",
        "server.py is a cloakroom: start it with python3 server.py, and it answers at "
        "http://127.0.0.1:8080/. Tickets have four digits and begin with 0. The flag is in the "
        "pocket of the coat.",
        _cloakroom,
        (
            _visiting("""
                import http.client, time
                for _ in range(100):
                    try:
                        server = http.client.HTTPConnection("127.0.0.1", 8080)
                        server.connect()
                        break
                    except OSError:
                        time.sleep(0.05)
                for ticket in range(1000):
                    server.request("GET", f"/coat?ticket={ticket:04}")
                    answer = server.getresponse()
                    text = answer.read().decode()
                    if answer.status == 200:
                        print(text)
                        break
            """),
        ),
    ),
    Puzzle(
        "museum",
        ("web", "cookies"),
        "medium",
        "server.py is a museum: start it with python3 server.py and enter at "
        "http://127.0.0.1:8081/entrance. Every room shows one letter of the flag and the way on, "
        "and wants to know where you came from.",
        _museum,
        (
            _visiting("""
                import http.cookiejar, re, time, urllib.request
                jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
                visitor, path, seen = urllib.request.build_opener(jar), "/entrance", ""
                for _ in range(100):
                    try:
                        page = visitor.open("http://127.0.0.1:8081" + path).read().decode()
                    except OSError:
                        time.sleep(0.05)
                        continue
                    seen += re.search("<p>(.*)</p>", page)[1]
                    on = re.search('href="(.*?)"', page)
                    if on is None:
                        break
                    path = on[1]
                print(seen)
            """),
        ),
    ),
)
