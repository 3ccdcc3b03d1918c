"""Reads the chapters of EPUB books in their order."""

from __future__ import annotations

from io import BytesIO
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from conversations.messages.formats.parts import Parts, Read, parse_xml
from conversations.messages.html_text import as_markdown


def read(data: bytes) -> Read:
    return _chapters(data), None


def _chapters(data: bytes) -> Parts:
    with ZipFile(BytesIO(data)) as file:
        container = parse_xml(file.read("META-INF/container.xml"))
        path = next(element.get("full-path") for element in container.iter("{*}rootfile"))
        package = parse_xml(file.read(path))
        addresses = {item.get("id"): item.get("href") for item in package.iter("{*}item")}
        spine = [addresses.get(item.get("idref")) for item in package.iter("{*}itemref")]
        names = [normpath(join(dirname(path), unquote(address))) for address in spine if address]
        for name in names:
            yield as_markdown(file.read(name)) + "\n"
