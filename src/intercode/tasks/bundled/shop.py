"""The server of a small web shop: configuration, logs, order data, a job queue, releases."""

from __future__ import annotations

from intercode.tasks.bundled import shop_logs
from intercode.tasks.bundled.dice import Dice
from intercode.tasks.tree import Entry, noon

# sku, item, price, reorder at, discontinued
_PRODUCTS = (
    ("MUG-01", "Mug, blue", "9.50", 20, "no"),
    ("MUG-02", 'Mug "Monday"', "10.50", 20, "no"),
    ("POS-24", 'Poster, 24" x 36"', "18.00", 10, "no"),
    ("TEA-07", "Thé vert", "7.25", 40, "no"),
    ("TEA-09", "Oolong tea", "8.90", 40, "no"),
    ("BAG-03", "Tote bag", "12.00", 15, "no"),
    ("NOT-11", "Notebook, A5, lined", "6.40", 25, "no"),
    ("PEN-02", "Füllfederhalter", "24.50", 5, "no"),
    ("PEN-05", "Ink, black", "5.80", 30, "yes"),
    ("CUP-08", "湯呑み (tea cup)", "15.90", 12, "no"),
    ("SOC-01", "Socks", "8.30", 18, "yes"),
    ("CAN-04", "Candle 🕯", "11.20", 16, "no"),
)
# name, e-mail, city, country
_CUSTOMERS = (
    ("Müller, Anna", "anna.mueller@example.org", "Köln", "DE"),
    ("Bruno Costa", "bruno@example.com", "São Paulo", "BR"),
    ("Chiara Rossi", "", "Torino", "IT"),
    ("Søren Kierulf", "soren@example.net", "Aarhus", "DK"),
    ("Dilek Çelik", "dilek@example.org", "İzmir", "TR"),
    ("山田 花", "hana@example.jp", "東京", "JP"),
    ("O'Brien, Niamh", "niamh@example.ie", "Cork", "IE"),
    ("Élodie Petit", "", "Nîmes", "FR"),
    ("Lars Holm", "lars@example.net", "", "DK"),
    ("Weber, Jonas", "jonas@example.org", "Bonn", "DE"),
    ("Marta Nowak", "marta@example.pl", "Łódź", "PL"),
    ("Pierre Martin", "pierre@example.fr", "Lyon", "FR"),
    ("Ada Okafor", "ada@example.com", "Lagos", ""),
    ("Schmidt, Eva", "", "Ulm", "DE"),
    ("Tom Baker", "tom@example.com", "Leeds", "GB"),
    ("Ines Duarte", "ines@example.pt", "Porto", "PT"),
    ("Kenji Mori", "", "大阪", "JP"),
    ("Rosa Lind", "rosa@example.net", "Oslo", ""),
    ("Freja Dam", "freja@example.net", "Odense", "DK"),
    ("Claire Moreau", "claire@example.fr", "Lille", "FR"),
    ("Hugo Klein", "hugo@example.org", "Jena", "DE"),
    ("Sara Conti", "sara@example.it", "Bari", "IT"),
    ("Lea Roth", "lea@example.org", "Mainz", "DE"),
    ("Paul Dupont", "", "Brest", "FR"),
)
_STATUSES = ("delivered", "delivered", "delivered", "shipped", "paid", "cancelled", "returned")
_NOTES = (
    "", "", "", "", "gift, please wrap", "leave at the door", 'said "no hurry"', "delivered, twice",
)  # fmt: skip


def entries() -> list[Entry]:
    return [
        Entry("shop/README.md", _README),
        *shop_logs.entries(),
        *_configuration(),
        Entry("shop/data/products.csv", _products()),
        Entry("shop/data/customers.csv", _customers()),
        Entry("shop/data/orders.csv", _orders(), mtime=noon("2024-04-01")),
        *_stock(),
        *_incoming(),
        *_queue(),
        *_releases(),
        *_backups(),
    ]


_README = """\
# The shop's server

- `config/`    settings; start with `app.ini`
- `logs/`      see `logs/README.txt`
- `data/`      products, customers, orders; `data/incoming/` is what partners upload
- `stock/`     one list per warehouse
- `queue/`     jobs, one file each, in the folder that says how they are doing
- `releases/`  what is or was online; `current` is what visitors see
- `backups/`   dumps of the database; `POLICY.txt` says how long they stay
"""


def _configuration() -> list[Entry]:
    return [
        Entry("shop/config/app.ini", _APP_INI),
        Entry("shop/config/database.ini", _DATABASE_INI),
        Entry("shop/config/live.env", "DB_HOST=db-3.internal\nDB_PORT=6447\nMAIL_PORT=2525\n"),
        Entry(
            "shop/config/production.env",
            "# retired in 2023; nothing reads this file any more\nDB_HOST=db-1\nDB_PORT=5432\n",
            mtime=noon("2022-10-05"),
        ),
        Entry("shop/config/staging.env", "DB_HOST=localhost\nDB_PORT=5433\nMAIL_PORT=1025\n"),
    ]


_APP_INI = """\
; the shop's main settings
[server]
listen = 8080
workers = 4
debug = true
env_file = /shop/config/live.env

[cache]
size = 256
debug = true

[mail]
sender = shop@example.org
debug = true

[search]
language = de,fr,en
"""

_DATABASE_INI = """\
; ${NAME} is taken from the env_file that app.ini names for the server
[production]
host = ${DB_HOST}
port = ${DB_PORT}

[staging]
host = localhost
port = 5433
"""


def _quoted(value: str) -> str:
    """A CSV field, quoted only where it must be."""
    if "," in value or '"' in value:
        return '"' + value.replace('"', '""') + '"'
    return value


def _products() -> str:
    rows = [
        f"{sku},{_quoted(item)},{price},{reorder},{discontinued}\n"
        for sku, item, price, reorder, discontinued in _PRODUCTS
    ]
    return "sku,item,price,reorder_at,discontinued\n" + "".join(rows)


def _customers() -> str:
    rows = [
        f"C{number:03},{_quoted(name)},{email},{city},{country},20{19 + number % 5}\n"
        for number, (name, email, city, country) in enumerate(_CUSTOMERS, start=1)
    ]
    return "customer_id,name,email,city,country,since\n" + "".join(rows)


def _orders() -> str:
    """A quarter's orders. The last three customers never order; some prices were left empty."""
    dice = Dice(20_240_103)
    dates = sorted((dice.between(1, 3), dice.between(1, 28)) for _ in range(190))
    rows = []
    for number, (month, day) in enumerate(dates, start=1001):
        customer = dice.between(1, len(_CUSTOMERS) - 3)
        sku, item, price, _, _ = dice.pick(_PRODUCTS)
        shown = "" if dice.chance(12) else price
        rows.append(
            f"{number},2024-{month:02}-{day:02},C{customer:03},{sku},{_quoted(item)},"
            f"{dice.between(1, 5)},{shown},{dice.pick(_STATUSES)},{_quoted(dice.pick(_NOTES))}\n"
        )
    return "order_id,date,customer_id,sku,item,quantity,unit_price,status,note\n" + "".join(rows)


def _stock() -> list[Entry]:
    """Two warehouses that never agreed on a separator, nor on what they keep."""
    dice = Dice(9)
    skus = [sku for sku, *_ in _PRODUCTS]
    north = [f"{sku},{dice.below(22)}\n" for sku in skus if sku not in ("PEN-02", "BAG-03")]
    south = [f"{sku};{dice.below(22)}\n" for sku in reversed(skus) if sku != "TEA-07"]
    return [
        Entry("shop/stock/north.csv", "sku,count\n" + "".join(north)),
        Entry("shop/stock/south.csv", "sku;count\n" + "".join(south)),
    ]


def _incoming() -> list[Entry]:
    """A week of uploads: Windows line ends, an open last line, rows sent twice, an empty day."""
    dice = Dice(303)
    sent: list[str] = []
    files = []
    for day in range(1, 8):
        new = [
            f"P{day}{number:02},{dice.pick(_PRODUCTS)[0]},{dice.between(1, 9)}"
            for number in range(dice.between(4, 9))
        ]
        again = [dice.pick(sent) for _ in range(3)] if sent else []
        sent += new
        end = "\r\n" if day in (2, 3, 6) else "\n"
        text = end.join(["order_id,sku,quantity", *new, *again]) + end
        if day == 4:
            text = text.rstrip("\n")
        if day == 5:
            text = ""
        date = f"2024-03-{day:02}"
        files.append(Entry(f"shop/data/incoming/orders-{date}.csv", text, mtime=noon(date)))
    notice = "Partners upload here every night.\r\nDo not rename their files.\r\n"
    return [*files, Entry("shop/data/incoming/NOTICE.txt", notice)]


def _queue() -> list[Entry]:
    dice = Dice(55)
    jobs = []
    for number in range(101, 125):
        kind = dice.pick(("mail", "invoice", "thumbnail"))
        head = f"id={number:04}\nkind={kind}\n"
        if number % 3 == 0:
            jobs.append(Entry(f"shop/queue/done/job-{number:04}.job", f"{head}attempts=1\n"))
        elif number % 7 == 0:
            jobs.append(Entry(f"shop/queue/pending/job-{number:04}.job", f"{head}attempts=0\n"))
        else:
            attempts = dice.pick((1, 2, 2, 3, 5, 10, 12))
            error = dice.pick(("timeout", "disk full, attempts=2 more", "no such customer"))
            body = f"{head}attempts={attempts}\nerror={error}\n"
            jobs.append(Entry(f"shop/queue/failed/job-{number:04}.job", body))
    return jobs


def _releases() -> list[Entry]:
    """``2024-04-11`` is newest but not ready; ``next`` is no release at all."""
    ready = {"2023-12-01": True, "2024-01-15": True, "2024-02-20": True, "2024-03-12": False,
             "2024-03-28": True, "2024-04-11": False}  # fmt: skip
    tree = [Entry("shop/releases/current", link="2024-02-20")]
    for number, (date, is_ready) in enumerate(ready.items()):
        folder = f"shop/releases/{date}"
        tree.append(Entry(f"{folder}/index.html", f"<h1>Shop</h1><!-- build {number} -->\n"))
        tree.append(Entry(f"{folder}/style.css", "body { margin: 2em }\n"))
        if is_ready:
            tree.append(Entry(f"{folder}/READY", "checked\n"))
    return [
        *tree,
        Entry("shop/releases/next/index.html", "<h1>Ideas</h1>\n"),
        Entry("shop/releases/next/READY", "not a release, only ideas\n"),
    ]


def _backups() -> list[Entry]:
    nights = [f"2024-03-{day:02}" for day in (22, 23, 24, 25, 27, 28, 29, 30, 31)]
    nights += ["2024-04-01", "2024-04-02"]
    names = [f"nightly-{date}" for date in nights]
    names += ["monthly-2024-01-31", "monthly-2024-02-29", "monthly-2024-03-31"]
    names += ["manual-2023-06-17-before-move"]
    dumps = [
        Entry(f"shop/backups/{name}.sql", f"-- dump {name}\nSELECT 1;\n", mtime=noon("2024-04-02"))
        for name in names
    ]
    return [
        *dumps,
        Entry("shop/backups/POLICY.txt", _POLICY),
        Entry("shop/backups/KEEP.txt", "# asked for by accounting\nnightly-2024-03-24.sql\n"),
    ]


_POLICY = """\
How long dumps stay
===================
- nightly: the five newest, by the date in the name; older ones are deleted
- monthly: all of them
- manual:  all of them
- a dump named in KEEP.txt stays in any case, and does not count towards the five
"""
