"""What stands in the archive's hand-written files, by path below ``/archive``.

The date is the file's modification time; it need not agree with a date in its name or its text.
"""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {}


def _file(path: str, date: str, text: str) -> None:
    TEXTS[path] = (date, text.lstrip("\n"))


# --- notes: one thought a file -----------------------------------------------------------------

_file(
    "notes/family.md",
    "2021-02-14",
    """
# Family

- Papa's mother: Élise Marchand
- Papa's sister: Ada Okafor, since her wedding
- Mama's father: Karl Weber (†)
- the neighbour everyone calls Grandma: Élise Morel
tags: family
""",
)
_file(
    "notes/people/Élise Marchand.md",
    "2019-09-15",
    """
# Élise Marchand

born: 1939-09-14
phone: 0555 0101
Likes: marzipan, crosswords.
tags: family, birthday
""",
)
_file(
    "notes/people/Élise Morel.md",
    "2020-04-01",
    """
# Élise Morel

born: 1944-02-29
phone: 0555 0188
Has our spare key.
tags: neighbours, birthday
""",
)
_file(
    "notes/people/Ada Okafor.md",
    "2021-06-30",
    """
# Ada Okafor

born: 1971-11-03
tags: family, birthday
""",
)
_file(
    "notes/people/Karl Weber.md",
    "2019-11-20",
    """
# Karl Weber

born: 1936-05-30
tags: family
""",
)
_file(
    "notes/house/wifi.md",
    "2022-08-30",
    """
# Network

2020-02-11 wifi password: otter-lamp-42
2022-08-30 wifi password: quiet-harbour-7
tags: house
""",
)
_file(
    "notes/house/boiler.md",
    "2020-10-02",
    """
# Boiler

- [x] bleed the radiators
- [ ] ask for a new valve
tags: house, repairs
""",
)
_file(
    "notes/house/2023 new flat.md",
    "2021-01-05",
    """
# The new flat

2023-04-02 wifi password: plum-kettle-19
- [ ] hang the lamp
- [ ] find the cellar key
- [x] tell the bank
tags: house, moving
""",
)
_file(
    "notes/house/guests.md",
    "2023-12-01",
    """
# For guests

2021-05-01 wifi password: please-knock
Towels are in the blue cupboard.
tags: house
""",
)
_file(
    "notes/garden.md",
    "2020-05-09",
    """
# Garden

- [x] sow radishes
- [ ] cut the plum tree
- [ ] mend the fence
- [ ] compost
tags: garden, repairs
""",
)
_file(
    "notes/cooking/soups.md",
    "2020-11-11",
    """
# Soups

Leek, always.
tags: cooking, garden
""",
)
_file(
    "notes/cooking/épices.md",
    "2021-12-24",
    """
# Épices

- [ ] acheter du cumin
tags: cooking, épices
""",
)
_file(
    "notes/cooking/味噌.md",
    "2021-08-08",
    """
# 味噌

- [x] start the big jar
tags: cooking, épices
""",
)
_file(
    "notes/travel/Nîmes 2019.md",
    "2019-07-20",
    """
# Nîmes

The arena at six in the morning.
tags: travel
""",
)
_file(
    "notes/travel/packing list.md",
    "2022-01-01",
    """
# Packing

- [ ] passports
- [ ] chargers
  - [ ] the old one as well
- [x] books
tags: travel, moving
""",
)
_file(
    "notes/travel/todo.txt",
    "2021-07-07",
    """
- [ ] not a note: no tags, other ending
tags: none
""",
)

# --- letters, filed ----------------------------------------------------------------------------

_file(
    "letters/2019/2019-03-02_Marchand.txt",
    "2019-03-04",
    """
From: Élise Marchand
To: the children
Date: 2 March 2019

Thank you for the drawing of the cat.
""",
)
_file(
    "letters/2019/2019-11-30_Weber.txt",
    "2019-12-01",
    """
From: Jonas Weber
To: all
Date: 30 November 2019

The stone is set.
""",
)
_file(
    "letters/2021/2021-05-03_Okafor.txt",
    "2021-05-09",
    """
From: Ada Okafor
To: Papa
Date: 3 May 2021

We have a garden now!
""",
)
_file(
    "letters/2021/2021-12-19_Brien.txt",
    "2022-01-02",
    """
From: Niamh O Brien
To: Mama
Date: 19 December 2021

Snow on the pier.
""",
)
_file(
    "letters/2022/2022-02-28_Marchand.txt",
    "2022-03-01",
    """
From: Élise Marchand
To: the children
Date: 28 February 2022

The cat sends regards.
""",
)

# --- scans, not yet looked at ------------------------------------------------------------------

_file(
    "inbox/scan-0041.txt",
    "2023-09-20",
    """
From: Søren Kierulf
To: Papa
Date: 2 November 2022

The boat is sold.
""",
)
_file(
    "inbox/scan-0042.txt",
    "2023-09-20",
    """
City Works
Invoice 20-771
Date: 14 January 2023

Electricity: 311,40
""",
)
_file(
    "inbox/scan-0043.txt",
    "2023-09-20",
    """
From: Dilek Çelik
To: Mama
Date: 17 July 2021

Come and see the sea.
""",
)
_file(
    "inbox/scan-0044.txt",
    "2023-09-21",
    """
From: Ada Okafor
To: Papa
Date: 9 June 2023

Tomatoes, at last.
""",
)
_file(
    "inbox/scan-0045.txt",
    "2023-09-21",
    """
Guarantee for one kettle.
It came with a letter, which is not here.
""",
)
_file(
    "inbox/scan-0046.txt",
    "2023-09-22",
    """
From: Élise Marchand
To: the children
Date: 24 December 2020

Date: is what the cat would write.
From: the cat
""",
)

# --- the rest ----------------------------------------------------------------------------------

_file(
    "README.txt",
    "2023-12-31",
    """
photos/    by year, then by month where somebody had the time
letters/   see the names in there
inbox/     scans, not yet looked at
notes/     one thought a file
""",
)
_file("drafts/-draft.txt", "2021-04-04", "Dear Sir or Madam,\n")
_file("drafts/--final--.txt", "2021-04-05", "Dear Madam,\n")
_file(
    "drafts/Letter to Grandma.txt",
    "2020-02-02",
    """
Dear Grandma,
we are well.
""",
)
_file(
    "drafts/Letter to Grandma (2).txt",
    "2020-02-03",
    """
Dear Grandma,
we are very well.
""",
)
_file("drafts/O'Brien reply.txt", "2022-01-05", "Dear Niamh,\n")
_file('drafts/She said "yes".txt', "2019-06-01", "She did!\n")
_file("drafts/speech  two spaces.txt", "2019-06-08", "Dear guests,\n")
_file("drafts/Überraschung für Élise.txt", "2019-08-30", "Cake at four.\n")
_file("drafts/poems/haiku one.txt", "2020-10-10", "old pond\n")
_file("drafts/poems/no-space.txt", "2020-10-11", "new pond\n")
_file("drafts/old stuff/to do.txt", "2019-01-01", "nothing\n")
_file(
    "recipes/-5 minutes soup.txt",
    "2020-01-10",
    """
# Soup in five minutes
Water, salt, leek.
""",
)
_file(
    "recipes/Crème brûlée.txt",
    "2021-01-10",
    """
# Crème brûlée
Cream, sugar, a torch.
""",
)
_file(
    "recipes/Grandma's cake.txt",
    "2019-10-10",
    """
# Grandma's cake
Ask her.
""",
)
_file(
    "recipes/bread.txt",
    "2022-03-03",
    """
# Bread: the slow one
Flour, water, time.
""",
)
_file(
    "recipes/たまごやき.txt",
    "2022-05-05",
    """
# Tamagoyaki (たまごやき)
Eggs, dashi.
""",
)
_file("recipes/untitled.md", "2022-05-06", "# Not in the index\n")
