"""Write the bundled emoji collection from two npm packages.

    npm pack @lobehub/fluent-emoji-3d@1.1.0 emojibase-data@17.0.0
    python scripts/build_emoji.py lobehub-fluent-emoji-3d-1.1.0.tgz emojibase-data-17.0.0.tgz \
        src/omhash/datasets/bundled

Every emoji that has a picture in the one and a group in the other comes in, without its
skin tones. The same packages and the same Pillow write the same bytes.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

_SIDE = 96
_QUALITY = 80
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pictures(package: Path) -> dict[str, bytes]:
    """The pictures of the package by the code points of their emoji."""
    with tarfile.open(package) as archive:
        return {
            Path(member.name).stem: archive.extractfile(member).read()  # type: ignore[union-attr]  # a file
            for member in archive
            if member.name.endswith(".webp")
        }


def described(package: Path) -> list[dict[str, Any]]:
    """Every emoji's code points, name, tags, group and subgroup, in Unicode's order."""
    with tarfile.open(package) as archive:

        def read(name: str) -> Any:
            return json.load(archive.extractfile(f"package/en/{name}.json"))  # type: ignore[arg-type]  # a file

        emoji, names = read("data"), read("messages")
    groups = {group["order"]: group["message"] for group in names["groups"]}
    # Their messages are short ("smiling"); the keys tell them apart ("face-smiling").
    subgroups = {group["order"]: group["key"].replace("-", " ") for group in names["subgroups"]}
    found = [
        {
            "code": one["hexcode"].lower(),
            "emoji": one["emoji"],
            "name": one["label"],
            "tags": one.get("tags", []),
            "group": groups[one["group"]],
            "subgroup": subgroups[one["subgroup"]],
            "order": one["order"],
        }
        for one in emoji
        if "group" in one
    ]
    found.sort(key=lambda one: one["order"])
    return [{name: value for name, value in one.items() if name != "order"} for one in found]


def picture_of(one: Mapping[str, Any], found: Mapping[str, bytes]) -> bytes | None:
    """The emoji's picture, whether it is filed with or without the variation selector."""
    full = "-".join(f"{ord(character):x}" for character in one["emoji"])
    forms = (full, one["code"], one["code"].replace("-fe0f", ""))
    return next((found[form] for form in forms if form in found), None)


def smaller(picture: bytes) -> bytes:
    """The picture at the size of the collection."""
    with Image.open(io.BytesIO(picture)) as image:
        reduced = image.convert("RGBA").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    reduced.save(out, "WEBP", quality=_QUALITY, method=6, exact=False)
    return out.getvalue()


def write(folder: Path, emoji: Sequence[Mapping[str, Any]], found: Mapping[str, bytes]) -> None:
    """Write `emoji.json` and `emoji.zip`."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    with zipfile.ZipFile(folder / "emoji.zip", "w", zipfile.ZIP_STORED) as archive:
        for one in emoji:
            picture = picture_of(one, found)
            if picture is not None:
                entry = zipfile.ZipInfo(f"{one['code']}.webp", _EPOCH)
                entry.create_system, entry.external_attr = 3, 0o644 << 16
                archive.writestr(entry, smaller(picture))
                kept.append(json.dumps(one, ensure_ascii=False))
    written = "[\n" + ",\n".join(kept) + "\n]\n"
    (folder / "emoji.json").write_text(written, encoding="utf-8", newline="\n")
    size = sum(file.stat().st_size for file in folder.glob("emoji.*"))
    print(f"{len(kept)} emoji, {size:,} bytes")


def main() -> None:
    """Write the collection."""
    parser = argparse.ArgumentParser(description="Write the bundled emoji collection.")
    parser.add_argument("pictures", type=Path, help="the package fluent-emoji-3d (.tgz)")
    parser.add_argument("data", type=Path, help="the package emojibase-data (.tgz)")
    parser.add_argument("output", type=Path)
    wanted = parser.parse_args()
    write(wanted.output, described(wanted.data), pictures(wanted.pictures))


if __name__ == "__main__":
    main()
