"""The public data sets of the paper: from a local folder, or from their homes on the network.

A file is looked for under the name of its data set in each folder of the path list `OEUVRE_DATA`,
then in the user's cache, which downloads fill. Whatever its source, its content is checked; of
EMNIST only the archive's checksum is published, and checked when it is downloaded.
"""

import gzip
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl
import pooch
import requests

from oeuvre import atomic
from oeuvre.errors import DataError

__all__ = ["DATASETS", "Dataset", "Source", "content", "digests", "ensure", "table"]

VARIABLE = "OEUVRE_DATA"


@dataclass(frozen=True)
class Source:
    """A file of a data set, and where it comes from.

    A file is stored as `name`, through gzip if that ends in .gz; `sha256` is of its content, so it
    may be packed again. `url` leads to the file, or to an archive that has it as `member`;
    `archive` is the published checksum of what is there, where the content's is not known.
    """

    name: str
    sha256: str | None
    url: str
    member: str | None = None
    archive: str | None = None


@dataclass(frozen=True)
class Dataset:
    """Files that belong together, in a folder named as the data set's key."""

    title: str
    home: str
    files: tuple[Source, ...]


def _idx(url: str, digests: dict[str, str]) -> tuple[Source, ...]:
    return tuple(
        Source(f"{part}-ubyte.gz", digest, f"{url}/{part}-ubyte.gz")
        for part, digest in digests.items()
    )


UCI = "https://archive.ics.uci.edu"
KAGGLE = "https://www.kaggle.com"
TEBOUL = "alexteboul/diabetes-health-indicators-dataset"
EMNIST_PARTS = ("train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1")

DATASETS = {
    "mnist": Dataset(
        "MNIST",
        "http://yann.lecun.com/exdb/mnist/",
        _idx(
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            {
                "train-images-idx3": "ba891046e6505d7aadcbbe25680a0738"
                "ad16aec93bde7f9b65e87a2fc25776db",
                "train-labels-idx1": "65a50cbbf4e906d70832878ad85ccda5"
                "333a97f0f4c3dd2ef09a8a9eef7101c5",
                "t10k-images-idx3": "0fa7898d509279e482958e8ce81c8e77"
                "db3f2f8254e26661ceb7762c4d494ce7",
                "t10k-labels-idx1": "ff7bcfd416de33731a308c3f266cc351"
                "222c34898ecbeaf847f06e48f7ec33f2",
            },
        ),
    ),
    "fashion_mnist": Dataset(
        "Fashion-MNIST",
        "https://github.com/zalandoresearch/fashion-mnist",
        _idx(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            {
                "train-images-idx3": "c59f468a2f672dc815687fe0f8388776"
                "8d799fd8a3f3276145d20f83aa44d888",
                "train-labels-idx1": "bad3541b69d912435c50bb6ba87bec29"
                "4ff4f6a2e1246121d8633921760443d9",
                "t10k-images-idx3": "5b4141f0afbad91edebe8549f8fcffe0"
                "87ea10ca49f1dbef5c9a5cd8815ce37b",
                "t10k-labels-idx1": "0402a96d92fd2663957122ceb108a494"
                "c5af83dab82d92729df917d7dec38c34",
            },
        ),
    ),
    "emnist": Dataset(
        "EMNIST digits",
        "https://www.nist.gov/itl/products-and-services/emnist-dataset",
        tuple(
            Source(
                f"emnist-digits-{part}-ubyte.gz",
                None,
                "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                f"gzip/emnist-digits-{part}-ubyte.gz",
                "md5:58c8d27c78d21e728a6bc7b3cc06412e",
            )
            for part in EMNIST_PARTS
        ),
    ),
    "diabetes_brfss2015": Dataset(
        "Diabetes Health Indicators",
        f"{KAGGLE}/datasets/{TEBOUL}",
        (
            Source(
                "diabetes_binary_health_indicators_BRFSS2015.csv.gz",
                "19f367e3e3350768f0c144c5d73ee5b355f67a57eaaa86ca7bd8aec594d8b1d0",
                f"{KAGGLE}/api/v1/datasets/download/{TEBOUL}",
                "diabetes_binary_health_indicators_BRFSS2015.csv",
            ),
        ),
    ),
    "bike_sharing_uci": Dataset(
        "UCI Bike Sharing",
        f"{UCI}/dataset/275/bike+sharing+dataset",
        (
            Source(
                "hour.csv.gz",
                "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f",
                f"{UCI}/static/public/275/bike+sharing+dataset.zip",
                "hour.csv",
            ),
        ),
    ),
    "toulouse_bikes": Dataset(
        "Toulouse Bikes",
        "https://maxhalford.github.io/blog/openbikes-challenge/",
        (
            Source(
                "toulouse_bikes.csv.gz",
                "225b72d75a234efb8c05b3657b0bd2938264ff380ddcbf95f2de8c47684da6fb",
                "https://maxhalford.github.io/files/datasets/toulouse_bikes.zip",
                "toulouse_bikes.csv",
            ),
        ),
    ),
    "chick_weights": Dataset(
        "Chick Weights",
        "https://riverml.xyz",
        (
            Source(
                "chick-weights.csv",
                "0dc2c24ced9d447958d16be9d1537db1e6973c867223553623708c879080be3f",
                "https://raw.githubusercontent.com/online-ml/river/main/river/datasets/"
                "chick-weights.csv",
            ),
        ),
    ),
    "wine_quality": Dataset(
        "Wine Quality",
        f"{UCI}/dataset/186/wine+quality",
        tuple(
            Source(
                f"winequality-{colour}.csv.gz",
                digest,
                f"{UCI}/static/public/186/wine+quality.zip",
                f"winequality-{colour}.csv",
            )
            for colour, digest in (
                ("red", "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e"),
                ("white", "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"),
            )
        ),
    ),
}


def folders() -> list[Path]:
    """Return where data sets are looked for: `OEUVRE_DATA`, a path list, then the cache."""
    listed = [Path(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    return [*listed, cache()]


def cache() -> Path:
    """Return the folder that downloads go to."""
    return Path(pooch.os_cache("oeuvre"))


def find(key: str, source: Source) -> Path | None:
    """Return the first place that has a file, or None."""
    places = (folder / key / source.name for folder in folders())
    return next((place for place in places if place.is_file()), None)


def missing(key: str) -> list[Source]:
    """Return the files of a data set that are nowhere."""
    return [source for source in DATASETS[key].files if find(key, source) is None]


def unpack(name: str, data: bytes) -> bytes:
    """Return the content of a file as stored: through gzip if its name says so."""
    try:
        return gzip.decompress(data) if name.endswith(".gz") else data
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name} is not a whole gzip file: {error}.") from None


def check(source: Source, place: str, data: bytes) -> None:
    """Raise if a file's content is not the one that is published."""
    found = hashlib.sha256(data).hexdigest()
    if source.sha256 is not None and found != source.sha256:
        raise DataError(
            f"{place} must be the published file: the sha256 of its content must be "
            f"{source.sha256}. Got {found} instead. Remove or replace it."
        )


@lru_cache(maxsize=8)
def content(key: str, name: str) -> bytes:
    """Return the checked content of a file, downloading its data set if need be."""
    return load(key, next(file for file in DATASETS[key].files if file.name == name))


def load(key: str, source: Source) -> bytes:
    """Read a file from where it is, download it if it is nowhere, and check it."""
    place = find(key, source)
    if place is None:
        download(key)
        place = cache() / key / source.name
    data = unpack(str(place), place.read_bytes())
    check(source, str(place), data)
    return data


def ensure(keys: Iterable[str]) -> None:
    """Have all files of these data sets at hand and whole, or raise a DataError."""
    wanted = list(dict.fromkeys(keys))
    for place, key in enumerate(wanted):
        for source in DATASETS[key].files:
            try:
                load(key, source)
            except DataError as error:
                others = [DATASETS[each].title for each in wanted[place + 1 :] if missing(each)]
                also = f"\nAlso missing: {', '.join(others)}." if others else ""
                raise DataError(f"{error}{also}") from error


def digests(key: str) -> list[str]:
    """Return the sha256 of each file of a data set: the published one, or of the file as it is."""
    return [source.sha256 or _digest(find(key, source)) for source in DATASETS[key].files]


@lru_cache
def _digest(place: Path | None) -> str:
    return "missing" if place is None else hashlib.sha256(place.read_bytes()).hexdigest()


def download(key: str) -> None:
    """Fetch the missing files of a data set into the cache, with a progress bar."""
    dataset = DATASETS[key]
    absent = missing(key)
    target = cache() / key
    pooch.get_logger().setLevel("WARNING")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for url in dict.fromkeys(source.url for source in absent):
            files = [source for source in absent if source.url == url]
            with tempfile.TemporaryDirectory(dir=target) as scratch:
                fetched = pooch.retrieve(
                    url, files[0].archive, fname="fetched", path=scratch, progressbar=True
                )
                for source in files:
                    _keep(source, Path(fetched), target / source.name)
    except (requests.RequestException, OSError, ValueError, LookupError) as error:
        names = ", ".join(source.name for source in dataset.files)
        searched = ", ".join(f"{place}" for place in folders())
        raise DataError(
            f"{dataset.title} is not at hand, and could not be fetched.\n"
            f"Put its files ({names}) into a folder named {key!r}, and name the folder above it "
            f"in the environment variable {VARIABLE}. They are described at {dataset.home}\n"
            f"Searched: {searched}. The download said: {error}"
        ) from error


def _keep(source: Source, fetched: Path, target: Path) -> None:
    """Move a file out of what was fetched to its place in the cache, if its content is right."""
    if source.member is None:
        data = fetched.read_bytes()
    else:
        try:
            with zipfile.ZipFile(fetched) as archive:
                data = archive.read(source.member)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"what is at {source.url} is not a whole zip archive") from error
        if source.name.endswith(".gz") and not source.member.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
    check(source, source.url, unpack(source.url if source.member is None else source.name, data))
    atomic.write_bytes(target, data)


def table(key: str, name: str, *, separator: str = ",") -> pl.DataFrame:
    """Return a CSV file of a data set as a table."""
    return pl.read_csv(content(key, name), separator=separator, infer_schema_length=None)
