"""The web shop's logs: hundreds of plausible lines, with planted facts for tasks to find."""

from __future__ import annotations

from collections.abc import Sequence

from intercode.tasks.bundled.dice import Dice
from intercode.tasks.tree import Entry, gzip_stored, noon

# Documentation addresses only (RFC 5737 and RFC 3849). Earlier ones visit more often.
_VISITORS = (
    "192.0.2.17", "198.51.100.4", "203.0.113.90", "192.0.2.201", "2001:db8::7e",
    "198.51.100.77", "203.0.113.12", "192.0.2.64", "198.51.100.143", "2001:db8::51:4",
    "203.0.113.33", "192.0.2.9", "198.51.100.250", "203.0.113.171",
)  # fmt: skip
_SCANNER = "203.0.113.240"
_MEMBERS = ("-", "-", "-", "-", "anna", "bruno", "chiara", "søren", "dilek", "hana")
_PAGES = (
    "/", "/", "/products/17", "/products/23", "/products/31", "/cart", "/checkout",
    "/search?q=tea", "/search?q=th%C3%A9+vert", "/static/app.css", "/static/app.js",
    "/static/logo.svg", "/login", "/account/orders",
)  # fmt: skip
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64)",
    "Mozilla/5.0 (Windows NT 10.0; Win64)",
    "Mozilla/5.0 (iPhone; like Mac OS X)",
    "FeedFetcher/2.1",
)
_FAULTS = (
    "payment gateway timeout",
    "stock service refused connection",
    "template cart.html not found",
    "session store full",
    "mail queue stalled",
)
_HINTS = ("slow query on orders", "cache miss storm", "payment gateway timeout", "retrying mail")


def entries() -> list[Entry]:
    return [*_access_logs(), *_error_logs(), _checkout_log(), _readme()]


def _access_logs() -> list[Entry]:
    older = _access_log("31/Mar/2024", lines=240, seed=331)
    oldest = _access_log("30/Mar/2024", lines=210, seed=330, scanned=True)
    return [
        Entry(
            "shop/logs/access.log",
            _access_log("02/Apr/2024", lines=320, seed=402),
            mtime=noon("2024-04-02"),
        ),
        Entry(
            "shop/logs/access.log.1",
            _access_log("01/Apr/2024", lines=260, seed=401),
            mtime=noon("2024-04-01"),
        ),
        Entry("shop/logs/access.log.2.gz", gzip_stored(older.encode()), mtime=noon("2024-03-31")),
        Entry("shop/logs/access.log.3.gz", gzip_stored(oldest.encode()), mtime=noon("2024-03-30")),
    ]


def _access_log(day: str, *, lines: int, seed: int, scanned: bool = False) -> str:
    """One day in the combined format; ``scanned`` adds a burst from one curious address."""
    dice = Dice(seed)
    moments = sorted(dice.below(86_400) for _ in range(lines))
    text = [_request(dice, day, moment) for moment in moments]
    if scanned:
        text += [
            f"{_SCANNER} - - [{day}:23:{57 + number // 60}:{number % 60:02} +0000]"
            f' "GET /{dice.pick(("wp", "adm", "x"))}{number}.php HTTP/1.1" 404 162'
            ' "-" "curl/7.88"\n'
            for number in range(150)
        ]
    return "".join(text)


def _request(dice: Dice, day: str, moment: int) -> str:
    # The lower of two throws, so that a few addresses stand out as they do in life.
    visitor = _VISITORS[min(dice.below(len(_VISITORS)), dice.below(len(_VISITORS)))]
    member = dice.pick(_MEMBERS)
    page, status = dice.pick(_PAGES), 200
    throw = dice.below(100)
    if throw < 6:
        # A path and a size that look like the status: only the right column counts.
        page, status = dice.pick(("/products/404", "/promo/old", "/static/app.map")), 404
    elif throw < 10:
        page, status = "/products/404-not-a-mug", 200
    elif throw < 14:
        page, status = "/admin", 403
    elif throw < 19:
        page, status = dice.pick(("/checkout", "/cart", "/search?q=tea")), dice.pick((500, 502))
    elif throw < 30:
        status = 304
    size = "-" if status == 304 else str(dice.pick((404, 512, 1204, 2311, 5120, 18_044, 500)))
    method = "POST" if page in ("/login", "/checkout") else "GET"
    clock = f"{moment // 3600:02}:{moment // 60 % 60:02}:{moment % 60:02}"
    return (
        f'{visitor} - {member} [{day}:{clock} +0000] "{method} {page} HTTP/1.1" {status} {size}'
        f' "-" "{dice.pick(_AGENTS)}"\n'
    )


def _error_logs() -> list[Entry]:
    put_away = [
        Entry(
            f"shop/logs/old/{month[:4]}/error-{month}.log.gz",
            gzip_stored(_error_log(month, lines=40, seed=number).encode()),
            mtime=noon(f"{month}-28"),
        )
        for number, month in enumerate(("2023-11", "2023-12", "2024-01", "2024-02"))
    ]
    return [
        *put_away,
        Entry("shop/logs/error-2024-03.log", _error_log("2024-03", lines=110, seed=33)),
        Entry("shop/logs/error-2024-04.log", _error_log("2024-04", lines=25, seed=34)),
    ]


def _error_log(month: str, *, lines: int, seed: int) -> str:
    dice = Dice(seed)
    last_day = 2 if month == "2024-04" else 28
    moments = sorted(
        (dice.between(1, last_day), dice.below(24), dice.below(60), dice.below(60))
        for _ in range(lines)
    )
    return "".join(
        f"{month}-{day:02}T{hour:02}:{minute:02}:{second:02}Z {_complaint(dice)}\n"
        for day, hour, minute, second in moments
    )


def _complaint(dice: Dice) -> str:
    """Warnings repeat one message more often than any error does: the level must be looked at."""
    level = dice.pick(("error", "error", "warn"))
    messages: Sequence[str] = _FAULTS if level == "error" else _HINTS
    message = messages[min(dice.below(len(messages)), dice.below(len(messages)))]
    if level == "warn" and dice.chance(55):
        message = "payment gateway timeout"
    elif level == "error" and dice.chance(25):
        message = "session store full"
    return f"[{level}] worker-{dice.between(1, 4)} req={dice.below(65_536):04x} {message}"


def _checkout_log() -> Entry:
    """Requests that start, pay and end, interleaved; a few never reach their end."""
    dice = Dice(77)
    events: list[tuple[int, int, str, str]] = []
    for number in range(70):
        request, start = f"r{dice.below(4096):03x}{number:02}", dice.below(86_000)
        lost = number % 13 == 5
        steps = ["start", "pay", "end"]
        if lost:
            steps = steps[: dice.between(1, 2)]
        for step in steps:
            events.append((start, len(events), request, step))
            start += dice.between(1, 90)
    text = "".join(
        f"2024-04-02T{moment // 3600:02}:{moment // 60 % 60:02}:{moment % 60:02}Z"
        f" req={request} event={step}\n"
        for moment, _, request, step in sorted(events)
    )
    return Entry("shop/logs/checkout.log", text, mtime=noon("2024-04-02"))


def _readme() -> Entry:
    return Entry(
        "shop/logs/README.txt",
        "access.log     today; .1 is yesterday, .2.gz and up are older\n"
        "error-*.log    one a month\n"
        "checkout.log   one line per step of a purchase\n"
        "\n"
        "When a month is over, its error log is compressed with `gzip -n` (default level)\n"
        "and moved to old/YEAR/. Nothing of a finished month stays in this folder.\n",
    )
