"""Files appear whole or not at all.

What writing needs is imported when something is written: `import oeuvre` stays light.
"""

import errno
import os

__all__ = ["write_bytes"]


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole: a crash leaves either the old file or the new one.

    The bytes go to a new file beside `path`, which takes its name once they are on the disk.
    """
    import tempfile
    from pathlib import Path

    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:  # name the file that was asked for, not the one beside it
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode & 0o777)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
