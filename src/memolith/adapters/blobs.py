"""Keeps files by their keys: below one folder, or in a bucket that speaks S3."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote

from memolith.errors import InvalidInput, NotFound, Unavailable, of_system, translated


@contextmanager
def guarded(*faults: type[Exception]) -> Iterator[None]:
    """No error of the file system, nor of these kinds, gets past this."""
    try:
        yield
    except OSError as error:
        raise of_system(error) from error
    except faults as error:
        if "(404)" in str(error):
            raise NotFound("The stored file is not there any more.") from error
        raise Unavailable(f"The bucket of the files cannot be used: {error}.") from error


class FolderBlobs(NamedTuple):
    """Files below one folder."""

    root: Path

    def put(self, key: str, source: Path) -> None:
        with guarded():
            (self.root / key).parent.mkdir(parents=True, exist_ok=True)
            # Whole and on the disk, or not at all.
            with TemporaryDirectory(prefix=".", dir=self.root) as passing:
                with open(shutil.copyfile(source, f"{passing}/file"), "rb+") as copy:
                    os.fsync(copy.fileno())
                os.replace(copy.name, self.root / key)

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        if not (self.root / key).is_file():
            raise NotFound("The stored file is not there any more.")
        yield self.root / key

    def drop(self, key: str) -> None:
        with guarded():
            (self.root / key).unlink(missing_ok=True)

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """Only the server can give such a file away."""
        return None


class BucketBlobs:
    """Objects below s3://BUCKET/PREFIX; the AWS_* variables tell the endpoint, the region and the keys."""

    def __init__(self, address: str) -> None:
        with translated(
            ImportError, InvalidInput, "S3 needs a library: pip install 'memolith[s3]'.", "files"
        ):
            # An extra, which only who has chosen this place needs.
            from boto3 import client, exceptions
            from botocore.exceptions import BotoCoreError, ClientError
        self.bucket, _, prefix = address.removeprefix("s3://").partition("/")
        self.prefix = prefix and prefix.rstrip("/") + "/"
        self.faults = exceptions.Boto3Error, BotoCoreError, ClientError
        with guarded(*self.faults):
            self.client = client("s3")

    def put(self, key: str, source: Path) -> None:
        with guarded(*self.faults):
            self.client.upload_file(str(source), self.bucket, self.prefix + key)

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            with guarded(*self.faults):
                self.client.download_file(self.bucket, self.prefix + key, f"{folder}/file")
            yield Path(folder, "file")

    def drop(self, key: str) -> None:
        with guarded(*self.faults):
            self.client.delete_object(Bucket=self.bucket, Key=self.prefix + key)

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """Signed here, given by the bucket, and saved under the name of the file."""
        chosen = {
            "Bucket": self.bucket,
            "Key": self.prefix + key,
            "ResponseContentDisposition": f"attachment; filename*=UTF-8''{quote(name)}",
        }
        with guarded(*self.faults):
            return str(self.client.generate_presigned_url("get_object", chosen, seconds))
