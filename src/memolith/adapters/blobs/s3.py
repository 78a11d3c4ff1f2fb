"""Files of documents in a bucket that speaks S3. Needs the extra `s3`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from memolith.errors import InvalidInput, NotFound, Unavailable, of_system, translated
from memolith.private_files import close_to_others

NOT_FOUND_MARK = "(404)"
"""How the messages of the client say that there is no such object."""


class S3Blobs:
    """Keeps files below s3://BUCKET/PREFIX.

    The AWS_* environment variables give the endpoint, the region and the keys.
    """

    def __init__(self, address: str) -> None:
        with translated(
            ImportError, InvalidInput, "S3 needs a library: pip install 'memolith[s3]'.", "files"
        ):
            # An extra, which only this place for files needs.
            from boto3 import client, exceptions
            from botocore.exceptions import BotoCoreError, ClientError
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        self._bucket = bucket
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._client_errors = (exceptions.Boto3Error, BotoCoreError, ClientError)
        with self._errors_translated():
            self._client = client("s3")

    def put(self, key: str, source: Path) -> None:
        with self._errors_translated():
            self._client.upload_file(str(source), self._bucket, self._prefix + key)

    @contextmanager
    def opened(self, key: str) -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            path = Path(folder, "file")
            with self._errors_translated():
                self._client.download_file(self._bucket, self._prefix + key, str(path))
            close_to_others(str(path))
            yield path

    def drop(self, key: str) -> None:
        with self._errors_translated():
            self._client.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def url(self, key: str, name: str, seconds: int) -> str | None:
        """An address that is signed here; the bucket gives the file under its own name."""
        parameters = {
            "Bucket": self._bucket,
            "Key": self._prefix + key,
            "ResponseContentDisposition": f"attachment; filename*=UTF-8''{quote(name)}",
        }
        with self._errors_translated():
            return str(self._client.generate_presigned_url("get_object", parameters, seconds))

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise of_system(error) from error
        except self._client_errors as error:
            if NOT_FOUND_MARK in str(error):
                raise NotFound("The stored file is not there any more.") from error
            raise Unavailable(f"The bucket of the files cannot be used: {error}.") from error
