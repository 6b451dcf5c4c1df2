"""Collections over HTTP, and a page to search them with."""

from .app import create_app
from .limits import Limits
from .server import serve

__all__ = ["Limits", "create_app", "serve"]
