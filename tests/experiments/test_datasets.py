"""Data sets: a local folder first, then their public homes, and nothing unchecked."""

import functools
import gc
import gzip
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oeuvre.errors import DataError
from oeuvre.experiments import datasets
from oeuvre.experiments.datasets import DATASETS, Dataset, Source
from oeuvre.experiments.tasks.images import images, read_idx
from tests.experiments.data import write_emnist, write_idx

TEXT = b"a,b\n1,2\n"
DIGEST = hashlib.sha256(TEXT).hexdigest()


# a refused download leaves its connection to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two local folders, and a cache that is nobody's."""
    monkeypatch.setenv("OEUVRE_DATA", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    datasets.content.cache_clear()
    yield tmp_path
    datasets.content.cache_clear()
    gc.collect()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder served over HTTP, as the home of a data set."""
    folder = tmp_path / "home"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def register(monkeypatch: pytest.MonkeyPatch, *sources: Source) -> None:
    made = Dataset("Toy", "https://example.org/toy", sources)
    monkeypatch.setitem(datasets.DATASETS, "toy", made)


def put(place: Path, name: str, data: bytes) -> None:
    (place / "toy").mkdir(parents=True, exist_ok=True)
    (place / "toy" / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


@pytest.mark.parametrize("name", ["toy.csv", "toy.csv.gz"])
def test_the_first_folder_of_the_list_that_has_it(
    places: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    register(monkeypatch, Source(name, DIGEST, "http://127.0.0.1:9/x"))
    put(places / "two", name, TEXT)
    datasets.ensure(["toy", "toy"])
    assert datasets.digests("toy") == [DIGEST]
    assert datasets.content("toy", name) == TEXT
    assert datasets.table("toy", name).rows() == [(1, 2)]
    put(places / "one", name, b"other")
    datasets.content.cache_clear()
    with pytest.raises(DataError, match=f"one/toy/{name} must be the published file.*{DIGEST}"):
        datasets.content("toy", name)
    with pytest.raises(DataError, match="must be the published file"):
        datasets.ensure(["toy"])  # before any work is done


def test_a_damaged_file_is_refused_wherever_it_is_damaged(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Source("toy.csv.gz", DIGEST, "http://127.0.0.1:9/x"))
    put(places / "one", "toy.csv.gz", TEXT)
    path = places / "one" / "toy" / "toy.csv.gz"
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        try:
            datasets.ensure(["toy"])
        except DataError:
            continue
        assert gzip.decompress(data) == TEXT  # a bit of the header that means nothing


def test_a_torn_file_is_refused(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Source("toy.csv.gz", DIGEST, "http://127.0.0.1:9/x"))
    put(places / "one", "toy.csv.gz", TEXT)
    path = places / "one" / "toy" / "toy.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"one/toy/toy.csv.gz is not a whole gzip file"):
        datasets.content("toy", "toy.csv.gz")


def test_download_of_a_file(
    places: Path, home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = home
    packed = gzip.compress(TEXT)
    (folder / "toy.csv.gz").write_bytes(packed)
    register(monkeypatch, Source("toy.csv.gz", DIGEST, f"{url}/toy.csv.gz"))
    assert datasets.content("toy", "toy.csv.gz") == TEXT
    kept = places / "cache" / "oeuvre" / "toy"
    assert [path.name for path in kept.iterdir()] == ["toy.csv.gz"]
    (folder / "toy.csv.gz").unlink()
    datasets.content.cache_clear()
    assert datasets.content("toy", "toy.csv.gz") == TEXT  # from the cache


def test_download_of_an_archive_is_fetched_once_for_all_its_members(
    places: Path, home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = home
    with zipfile.ZipFile(folder / "toy.zip", "w") as archive:
        archive.writestr("in/a.csv", TEXT)
        archive.writestr("in/b.csv.gz", gzip.compress(TEXT))
    md5 = hashlib.md5((folder / "toy.zip").read_bytes()).hexdigest()  # noqa: S324
    link = f"{url}/toy.zip"
    register(
        monkeypatch,
        Source("a.csv.gz", DIGEST, link, "in/a.csv", f"md5:{md5}"),
        Source("b.csv.gz", None, link, "in/b.csv.gz", f"md5:{md5}"),
    )
    datasets.ensure(["toy"])
    (folder / "toy.zip").unlink()
    assert datasets.content("toy", "a.csv.gz") == datasets.content("toy", "b.csv.gz") == TEXT
    kept = places / "cache" / "oeuvre" / "toy"
    assert sorted(path.name for path in kept.iterdir()) == ["a.csv.gz", "b.csv.gz"]


@pytest.mark.parametrize("served", ["wrong", "torn", "html", "member", "archive", "missing"])
def test_a_wrong_download_is_not_kept(
    places: Path, home: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, served: str
) -> None:
    folder, url = home
    source = Source("toy.csv.gz", DIGEST, f"{url}/toy")
    file = folder / "toy"
    if served == "wrong":
        file.write_bytes(gzip.compress(b"other"))
    elif served == "torn":
        file.write_bytes(gzip.compress(TEXT)[:-5])
    elif served == "html":
        file.write_bytes(b"<html>moved</html>")
        source = replace(source, member="toy.csv")
    elif served == "member":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("another.csv", TEXT)
        source = replace(source, member="toy.csv")
    elif served == "archive":
        file.write_bytes(gzip.compress(TEXT))
        source = replace(source, archive="md5:" + "0" * 32)
    register(monkeypatch, source)
    with pytest.raises(DataError, match=r"(?s)Toy is not at hand.*OEUVRE_DATA") as caught:
        datasets.ensure(["toy"])
    message = str(caught.value)
    assert "(toy.csv.gz) into a folder named 'toy'" in message.replace("\n", " ")
    assert "https://example.org/toy" in message
    assert not list((places / "cache" / "oeuvre" / "toy").iterdir())


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Source("toy.csv.gz", DIGEST, "http://127.0.0.1:9/toy.csv.gz"))
    with pytest.raises(DataError, match=r"(?s)could not be fetched.*named 'toy'.*OEUVRE_DATA"):
        datasets.ensure(["toy"])


def test_emnist_is_turned_upright(places: Path) -> None:
    write_emnist(places / "one", train=20, test=10)
    train_x, train_y, test_x, test_y = images("emnist")
    assert train_x.shape == (20, 784)
    assert test_x.shape == (10, 784)
    assert train_x.dtype == np.float32
    for pictures, labels in ((train_x, train_y), (test_x, test_y)):
        for picture, label in zip(pictures.reshape(-1, 28, 28), labels.tolist(), strict=True):
            bright = picture.mean(axis=1)  # written as a bright column, so stored it is a row
            assert int(np.argmax(bright)) == 2 * label
            assert picture.max() <= 1.0


def test_mnist_is_upright_already(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = np.zeros((4, 28, 28))
    pictures[:, 3, :] = 255
    files = []
    for source in DATASETS["mnist"].files:
        write_idx(
            places / "one" / "mnist" / source.name,
            pictures if "images" in source.name else np.arange(4),
        )
        files.append(replace(source, sha256=None))
    monkeypatch.setitem(datasets.DATASETS, "mnist", replace(DATASETS["mnist"], files=tuple(files)))
    assert images("mnist").train_x.reshape(4, 28, 28)[:, 3, :].min() == 1.0
    assert images("mnist").test_y.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        b"\0\0\x08\x03\0\0",
        b"\0\0\x0d\x01\0\0\0\x01\0",  # floats
        b"\0\0\x08\x01\0\0\0\x05abc",  # torn
        b"\0\0\x08\x01\0\0\0\x02abc",  # too long
        b"\0\0\x08\x09" + bytes(40),
    ],
)
def test_a_bad_idx_file_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"x.gz must"):
        read_idx(data, "x.gz")


def test_pictures_without_labels_are_refused(places: Path) -> None:
    write_emnist(places / "one", train=20, test=10)
    stem = places / "one" / "emnist"
    write_idx(stem / "emnist-digits-train-labels-idx1-ubyte.gz", np.arange(19))
    with pytest.raises(DataError, match="train-images.* must hold one picture for each label"):
        images("emnist")


def test_every_published_file_has_a_checksum_and_a_home() -> None:
    for dataset in DATASETS.values():
        assert dataset.home.startswith("http")
        for source in dataset.files:
            assert source.url.startswith("http")
            assert source.sha256 is not None or source.archive is not None
            assert source.sha256 is None or len(source.sha256) == 64
