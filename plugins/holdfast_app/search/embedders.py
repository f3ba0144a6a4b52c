"""The plugin ``embeddings``: vectors for the search from a server's OpenAI-compatible ``/embeddings``.

It is off by default, because words alone find most, and needs httpcore2. A third-party plugin subclasses
:class:`Embeddings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from holdfast_models.base import Endpoint


class Embeddings(Endpoint):
    """``[plugins.embeddings]``. The first enabled plugin of this class by name is used.

    Its settings are among those of :class:`holdfast_models.base.Settings`, and its key is the one for ``openai``.
    """

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"
    #: Weight of similarity in the ranking, where a candidate's own words weigh 2.
    weight: ClassVar[float] = 2.0
    #: It offers vectors instead of hooks.
    without_hooks: ClassVar[bool] = True
    known_settings: ClassVar[tuple[str, ...]] = ("model", "base_url", "insecure_http", "timeout_s")

    @property
    def identity(self) -> str:
        """Changes when the same text gets another vector. The index then makes all vectors again."""
        return f"embeddings {self.url().rstrip('/')} {self.settings.model}"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each string, in order, all with the same number of dimensions. Their norms do not matter.

        Raises: ModelFailed, after which the search uses words alone and shows a warning.
        """
        body = {"model": self.settings.model, "input": list(texts)}
        answer = self.post("/embeddings", body, {"Authorization": f"Bearer {self.key()}"}, self.settings.timeout_s)
        with self.follows_api():
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        if len(vectors) != len(texts) or not vectors[0] or len(set(map(len, vectors))) > 1:
            raise self.foreign()
        return vectors
