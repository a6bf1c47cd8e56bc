"""A family's archive: photographs, letters, notes, accounts, music, and names of every kind."""

from __future__ import annotations

import hashlib

from intercode.tasks.bundled.archive_text import TEXTS
from intercode.tasks.bundled.dice import Dice
from intercode.tasks.tree import Entry, build_tar, gzip_stored, noon

_HOLIDAY_2019 = (
    "Été à Nîmes.jpg",
    "IMG_20190703_180211.jpg",
    "IMG_20190704_091500.jpg",
    "beach (1).jpg",
    "beach (2).jpg",
    "grandma's garden.jpg",
    "漢字の看板.jpg",
)
_CAMERA = (
    "20200105_101010", "20201224_193000", "20201225_081233", "20210714_101530", "20210714_101544",
    "20211031_170000", "20220102_120501", "20220619_154200", "20230808_080808",
)  # fmt: skip
# Copies in the unsorted folder, and what they are copies of.
_COPIES = {
    "copy of beach (1).jpg": "photos/2019/beach (1).jpg",
    "DSC00017.jpg": "photos/2019/07/DSC00017.jpg",
    "Été à Nîmes (2).jpg": "photos/2019/Été à Nîmes.jpg",
    "scan.jpg": "photos/2020/family/wedding – table 4.jpg",
}
_SPENDING = ("Miete", "Épicerie", "Bücher", "Reisen", "Strom", "Garten")
_ALBUMS = {
    "Los Hermanos Ríos": ("01 Madrugada", "02 La niña", "03 Río arriba"),
    "The Quiet Harbour": ("01 Low Water", "02 It's Raining", "03 #3", "04 What Now?"),
    "雪の音楽隊": ("01 初雪", "02 長い夜"),
}


def entries() -> list[Entry]:
    photos = _photos()
    return [
        *photos,
        *_unsorted({entry.path: entry.data for entry in photos}),
        *_checksums(photos),
        *_texts(),
        *_ledgers(),
        *_music(),
        *_backup(),
        Entry("archive/attic"),
    ]


def _picture(name: str) -> str:
    """Enough of a photograph for a tree of files: a size, and bytes that nobody else has."""
    dice = Dice(int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]))
    pixels = "".join(f"{dice.below(65_536):04x}" for _ in range(dice.between(20, 120)))
    return f"picture {dice.between(800, 4000)}x{dice.between(600, 3000)}\n{pixels}\n"


def _photo(path: str, date: str) -> Entry:
    return Entry(f"archive/photos/{path}", _picture(path), mtime=noon(date))


def _photos() -> list[Entry]:
    return [
        *(_photo(f"2019/{name}", "2019-07-05") for name in _HOLIDAY_2019),
        _photo("2019/07/DSC00017.jpg", "2019-07-09"),
        _photo("2019/07/DSC00018.jpg", "2019-07-09"),
        _photo("2020/12/IMG_20201206_110000.jpg", "2020-12-06"),
        _photo("2020/family/wedding – table 4.jpg", "2020-08-22"),
        _photo("2020/family/🎂 birthday.jpg", "2020-09-14"),
        _photo("2021/-blurred-.jpg", "2021-03-01"),
        _photo("2021/07/IMG_20210701_200000.jpg", "2021-07-01"),
    ]


def _unsorted(originals: dict[str, str | bytes | None]) -> list[Entry]:
    folder = "archive/photos/unsorted"
    camera = [_photo(f"unsorted/IMG_{moment}.jpg", "2023-09-01") for moment in _CAMERA]
    copies = [
        Entry(f"{folder}/{name}", originals[f"archive/{original}"], mtime=noon("2023-09-01"))
        for name, original in _COPIES.items()
    ]
    return [
        *camera,
        *copies,
        _photo("unsorted/IMG_20220230.jpg", "2023-09-01"),
        _photo("unsorted/beach (1).jpg", "2023-09-01"),
        _photo("unsorted/lake 湖.jpg", "2023-09-01"),
        Entry(f"{folder}/IMG_notes.txt", "The camera's clock was right, for once.\n"),
    ]


def _checksums(photos: list[Entry]) -> list[Entry]:
    """Sums of the 2019 folder from before two files changed and one went missing."""
    sums = {}
    for photo in photos:
        name = photo.path.removeprefix("archive/photos/2019/")
        if name != photo.path and isinstance(photo.data, str):
            changed = name in ("beach (2).jpg", "grandma's garden.jpg")
            before = "another picture\n" if changed else photo.data
            sums[name] = hashlib.md5(before.encode(), usedforsecurity=False).hexdigest()
    sums["harbour at night.jpg"] = hashlib.md5(b"lost", usedforsecurity=False).hexdigest()
    text = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return [Entry("archive/photos/2019/CHECKSUMS.md5", text, mtime=noon("2019-12-31"))]


def _texts() -> list[Entry]:
    return [
        Entry(f"archive/{path}", text, mtime=noon(date)) for path, (date, text) in TEXTS.items()
    ]


def _ledgers() -> list[Entry]:
    """Household accounts: semicolons, decimal commas, and some entries booked a year late."""
    dice = Dice(1789)
    return [
        Entry(f"archive/accounts/{year}.csv", _ledger(year, dice)) for year in range(2019, 2024)
    ]


def _ledger(year: int, dice: Dice) -> str:
    moments = sorted((dice.between(1, 12), dice.between(1, 28)) for _ in range(40))
    rows = [_booking(f"{year}-{month:02}-{day:02}", dice) for month, day in moments]
    rows += [_booking(f"{year - 1}-12-{dice.between(10, 28)}", dice) for _ in range(5)]
    return "date;category;text;amount\n" + "".join(rows)


def _booking(date: str, dice: Dice) -> str:
    if dice.chance(15):
        return f"{date};Lohn;Gehalt, netto;{dice.between(1800, 2600)},{dice.below(100):02}\n"
    category = dice.pick(_SPENDING)
    text = dice.pick(("Überweisung", "bar", "Karte, Filiale 7", "Lastschrift"))
    return f"{date};{category};{text};-{dice.between(3, 300)},{dice.below(100):02}\n"


def _music() -> list[Entry]:
    songs = [
        Entry(f"archive/music/albums/{album}/{song}.ogg", f"sound of {song}\n")
        for album, titles in _ALBUMS.items()
        for song in titles
    ]
    return [
        *songs,
        Entry("archive/music/albums/favourite.ogg", link="Los Hermanos Ríos/03 Río arriba.ogg"),
        Entry("archive/music/playlists/evening.m3u", _EVENING),
        Entry("archive/music/playlists/road trip.m3u", _ROAD_TRIP),
    ]


_EVENING = """\
#EXTM3U
../albums/The Quiet Harbour/01 Low Water.ogg
../albums/The Quiet Harbour/05 Lanterns.ogg
#EXTINF:211,The Quiet Harbour - #3
../albums/The Quiet Harbour/03 #3.ogg
../albums/雪の音楽隊/02 長い夜.ogg
../albums/雪の音楽隊/03 春.ogg
"""
_ROAD_TRIP = """\
#EXTM3U
# everyone may add two

../albums/Los Hermanos Ríos/02 La niña.ogg
../albums/Los Hermanos Rios/03 Río arriba.ogg
/archive/music/albums/favourite.ogg
../albums/The Quiet Harbour/04 What Now?.ogg
/archive/music/albums/The Quiet Harbour/06 Coda.ogg
../albums/favorite.ogg
"""


def _backup() -> list[Entry]:
    """An old copy of the notes: some still there, some changed since, some lost."""
    kept = {
        path: text
        for path, (date, text) in TEXTS.items()
        if path.startswith("notes/") and "people" not in path and date < "2021"
    }
    changed = {"notes/garden.md": "# Garden\n\nAn older page.\ntags: garden\n"}
    lost = {
        "notes/choir/Sopran – Termine.md": "# Choir\n\nMondays at seven.\ntags: music\n",
        "notes/choir/songs.md": "# Songs\n\n- [x] learn the second verse\ntags: music\n",
        "notes/moving-house.md": "# Moving house\n\nTwelve boxes of books.\ntags: house\n",
        "notes/résumé.md": "# Résumé\n\nNever finished.\ntags: work\n",
    }
    old = [
        Entry(path, text, mtime=noon("2020-11-30"))
        for path, text in {**kept, **changed, **lost}.items()
    ]
    return [Entry("archive/backup/notes-2020.tar.gz", gzip_stored(build_tar(old)))]
