"""Tables in Markdown, and their place on a page that is written by hand."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from oeuvre import atomic
from oeuvre.errors import DataError

__all__ = ["markdown", "marks", "splice"]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Write a table; its last `numbers` columns are set flush right."""
    words = len(header) - numbers
    lines = [header, ["---"] * words + ["---:"] * numbers, *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def marks(command: str) -> tuple[str, str]:
    """Return what stands on a page before and after the part that a command writes."""
    return f"<!-- written by {command} -->", f"<!-- end of what {command} writes -->"


def splice(page: Path, text: str, command: str) -> None:
    """Put a text between a command's marks on a page, in place of what was there."""
    begin, end = marks(command)
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise DataError(f"{str(page)!r} must hold the marks {begin!r} and {end!r}.")
    atomic.write_bytes(page, f"{before}{begin}\n\n{text}\n\n{end}{after}".encode())
