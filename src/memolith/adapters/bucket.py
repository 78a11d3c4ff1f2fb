"""Keeps files by their keys, in a bucket that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from memolith.errors import NotFound, Unavailable


@contextmanager
def translated() -> Iterator[None]:
    """No error of the library gets past this."""
    try:
        yield
    except (BotoCoreError, Boto3Error, ClientError) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in ("404", "NoSuchKey"):
            raise NotFound("The stored file is not there any more.") from error
        raise Unavailable(f"The bucket of the files cannot be used: {error}.") from error


class BucketBlobs:
    """Objects below s3://BUCKET/PREFIX; the AWS_* variables tell the endpoint, the region and the keys."""

    def __init__(self, address: str) -> None:
        self.bucket, _, prefix = address.removeprefix("s3://").partition("/")
        self.prefix = prefix and prefix.rstrip("/") + "/"
        with translated():
            self.client = boto3.client("s3")

    def put(self, key: str, source: Path) -> None:
        with translated():
            self.client.upload_file(str(source), self.bucket, self.prefix + key)

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            with translated():
                self.client.download_file(self.bucket, self.prefix + key, f"{folder}/file")
            yield Path(folder, "file")

    def drop(self, key: str) -> None:
        with translated():
            self.client.delete_object(Bucket=self.bucket, Key=self.prefix + key)

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """Signed here, given by the bucket, and saved under the name of the file."""
        saved = f"attachment; filename*=UTF-8''{quote(name)}"
        chosen = {"Bucket": self.bucket, "Key": self.prefix + key, "ResponseContentDisposition": saved}
        with translated():
            return str(self.client.generate_presigned_url("get_object", chosen, seconds))
