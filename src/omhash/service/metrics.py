"""What the service counts and times, in the form of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .shelf import Shelf

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class _Collections(Collector):
    """Sizes, read when they are asked for."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def collect(self) -> Iterator[Metric]:
        items = GaugeMetricFamily("omhash_items", "Items stored.", labels=["collection"])
        running = GaugeMetricFamily(
            "omhash_rounds_running", "Rounds on their way.", labels=["collection"]
        )
        for room in self._shelf.opened():
            items.add_metric([room.name], len(room.collection))
            running.add_metric([room.name], float(room.progress.running is not None))
        yield items
        yield running


class Metrics:
    """All metrics of one service."""

    def __init__(self, shelf: Shelf) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Collections(shelf))
        self.requests = Counter(
            "omhash_http_requests_total",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "omhash_http_request_duration_seconds",
            "Time to the end of the answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.queries = Counter(
            "omhash_search_queries_total", "Queries answered.", registry=self._registry
        )
        self.round_items = Counter(
            "omhash_round_items_total", "Items of learned rounds.", registry=self._registry
        )
        self.round_seconds = Histogram(
            "omhash_round_duration_seconds",
            "Time to learn and store a round.",
            buckets=(0.1, 0.5, 1, 5, 10, 60, 300, 1800),
            registry=self._registry,
        )

        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count and time a request."""
        name = method, route, status
        if name not in self._series:
            counter = self.requests.labels(method, route, str(status))
            self._series[name] = counter, self.request_seconds.labels(route)
        counter, histogram = self._series[name]
        counter.inc()
        histogram.observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class Observed:
    """ASGI middleware that counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            # The template, not the path: else anybody could make as many series as they like.
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.answered(method, route, status, time.perf_counter() - start)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
