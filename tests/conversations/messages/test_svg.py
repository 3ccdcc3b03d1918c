"""SVG files are drawn for a model that sees, and nothing in them is run or fetched."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from conversations.errors import Invalid
from conversations.messages.attachments import upload
from conversations.messages.images import read_image
from conversations.messages.svg import is_svg
from conversations.models import Conversation
from tests.conversations.pictures import picture
from tests.growth import growth, repeated

pytestmark = [pytest.mark.django_db, pytest.mark.once]
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 40 20">'
RED = '<rect width="40" height="20" fill="#ff0000"/>'


def colour(svg: str) -> tuple[Any, tuple[int, int]]:
    """(the colour in the middle, the size) of a drawn file."""
    with Image.open(BytesIO(read_image(svg.encode()).data)) as image:
        return image.convert("RGB").getpixel((image.width // 2, image.height // 2)), image.size


@pytest.mark.parametrize(
    "start",
    [
        "",
        "\ufeff",
        '<?xml version="1.0"?>\n',
        "<!-- a - b -->\n",
        "<!DOCTYPE svg>\n",
        '<?xml version="1.0"?><!-- x -->',
    ],
)
def test_a_drawing_is_known_by_its_first_element(start: str) -> None:
    assert is_svg(f"{start}{HEAD}</svg>".encode())
    assert not is_svg(f"{start}<html><svg></svg></html>".encode())


def test_a_drawing_becomes_an_image_of_its_proportions() -> None:
    assert colour(f"{HEAD}{RED}</svg>") == ((255, 0, 0), (512, 256))
    assert colour(f'<svg xmlns="http://www.w3.org/2000/svg" width="99999999" height="100">{RED}</svg>')[1] == (1600, 1)
    assert colour(f'<svg xmlns="http://www.w3.org/2000/svg">{RED}</svg>')[1][0] == 512


def test_links_out_of_the_file_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(colour="blue"))
    for link in (f"file://{secret}", str(secret), "http://127.0.0.1:1/x.png", "data:image/svg+xml,%3Csvg/%3E"):
        for name in ("href", "xlink:href"):
            inner = f'<image {name}="{link}" width="40" height="20"/>'
            assert colour(f"{HEAD}{inner}</svg>")[0] == (255, 255, 255), link
    entity = f'<!DOCTYPE svg [<!ENTITY x SYSTEM "file://{secret}">]>{HEAD}{RED}<text>&x;</text></svg>'
    with pytest.raises(Invalid):
        read_image(entity.encode())


def test_scripts_and_handlers_are_left_out() -> None:
    active = f'{HEAD}<script>alert(1)</script><style>@import "http://127.0.0.1:1/";</style>'
    assert colour(f'{active}<g onload="x()">{RED}</g></svg>')[0] == (255, 0, 0)


@pytest.mark.parametrize("broken", [HEAD, f"{HEAD}<", f"{HEAD}{'<g>' * 5}", "<svg>" + "x" * 1_000_001])
def test_a_damaged_drawing_is_refused(broken: str) -> None:
    with pytest.raises(Invalid, match="file: "):
        read_image(broken.encode())


def test_a_bomb_ends_with_its_process() -> None:
    uses = "".join(f'<g id="g{n}">' + f'<use href="#g{n - 1}"/>' * 10 + "</g>" for n in range(1, 12))
    with pytest.raises(Invalid):
        read_image(f'{HEAD}<defs><g id="g0">{RED}</g>{uses}</defs><use href="#g11"/></svg>'.encode())


def test_it_is_text_for_a_model_that_does_not_see(conversation: Conversation) -> None:
    data = f"{HEAD}{RED}</svg>".encode()
    assert upload(conversation, name="a.svg", data=data).kind == "text"
    drawn = upload(conversation, name="a.svg", data=data, draws=True)
    assert (drawn.kind, drawn.media_type, drawn.width) == ("image", "image/png", 512)


def test_the_first_element_is_found_in_time_in_proportion_to_the_file() -> None:
    for piece in ("<!--", "<!-- -->", "<?xml ", " ", "-", "<!DOCTYPE "):
        assert growth(lambda text: is_svg(text.encode()), repeated(piece), start=10_000, largest=200_000).is_linear
