"""Archives of packed codes."""

from __future__ import annotations

from pathlib import Path

import torch

from training.talker import archive


def test_packed_codes_come_out_of_their_archive_as_they_went_in(tmp_path: Path) -> None:
    packed, archives, unpacked = (tmp_path / name for name in ("packed", "archives", "unpacked"))
    packed.mkdir()
    parts = [packed_part(num_frames) for num_frames in (5, 12)]
    for number, part in enumerate(parts):
        torch.save(part, packed / f"{number:04d}.pt")

    archive.main(["pack", "--packed", str(packed), "--archives", str(archives)])
    archive.main(["unpack", "--packed", str(unpacked), "--archives", str(archives)])

    (path,) = unpacked.glob("*.pt")
    found = torch.load(path)
    for name in parts[0]:
        assert torch.equal(found[name], torch.cat([part[name] for part in parts]))


def packed_part(num_frames: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(num_frames)
    return {
        "codes": torch.randint(0, 512, (num_frames, 12), generator=generator).to(torch.int16),
        "phones": torch.randint(0, 48, (num_frames, 4), generator=generator).to(torch.uint8),
        "frames": torch.tensor([num_frames]),
    }
