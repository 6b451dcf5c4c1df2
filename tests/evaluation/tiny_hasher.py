"""The least that is a hasher: random planes for views, random codes for categories."""

import numpy as np

from omhash.codes import pack, unpack
from omhash.errors import NotFittedError
from omhash.hashers.base import Hasher
from omhash.learning.labels import label_matrix


class TinyHasher(Hasher):
    def __init__(self, n_bits=16, random_state=0):
        self.n_bits = n_bits
        self.random_state = random_state

    @property
    def modalities_(self):
        return {name: len(planes) for name, planes in self.planes_.items()}

    @property
    def categories_(self):
        return tuple(self.known_)

    @property
    def category_codes_(self):
        return pack(np.array([self.known_[name] for name in self.known_]))

    def partial_fit(self, views, labels=None, *, categories=None):
        if not hasattr(self, "rng_"):
            self.rng_ = np.random.default_rng(self.random_state)
            self.known_ = {}
            self.planes_ = {
                name: self.rng_.normal(size=(view.shape[1], self.n_bits))
                for name, view in sorted(views.items())
            }
        n = next(iter(views.values())).shape[0]
        for name in label_matrix(labels, n, categories=categories).occurring():
            if name not in self.known_:
                self.known_[name] = self.rng_.choice([-1, 1], self.n_bits)
        return self

    def project(self, views):
        if not hasattr(self, "planes_"):
            raise NotFittedError("learn a round first")
        parts = [views[name] @ planes for name, planes in self.planes_.items()]
        return np.asarray(sum(parts)).astype(np.float32)

    def label_codes(self, labels, *, categories=None):
        matrix = label_matrix(labels, len(labels), categories=categories)
        return pack(matrix.aligned(self.categories_) @ unpack(self.category_codes_))

    def item_codes(self, views, labels=None, *, categories=None):
        codes = self.label_codes(labels, categories=categories)
        unlabelled = np.asarray(labels).sum(axis=1) == 0
        codes[unlabelled] = self.encode(views)[unlabelled]
        return codes

    def get_state(self):
        return {"categories": list(self.known_), **self.planes_}

    def set_state(self, state):
        raise NotImplementedError
