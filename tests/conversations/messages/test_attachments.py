"""Images and text files of messages: what is taken, how it becomes part of a message, and what becomes of it."""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import pillow_heif
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

from compression.core.digest import extend_digest
from compression.history import BEGINNING
from conversations.context import prompt, transcript
from conversations.errors import Conflict, Invalid, NotFound, TooLarge
from conversations.exchange.markdown import as_markdown
from conversations.messages import attachments, text_files
from conversations.messages import images as image_files
from conversations.messages.attachments import clean_name, pending, remove, upload, words_of
from conversations.messages.pastes import Pasted
from conversations.models import Attachment, Conversation, Message, ModelProfile, Paste, User
from conversations.ops import maintenance
from conversations.requests import next_request
from conversations.runtime.payloads import message_json
from conversations.turns import begin, branches, forks
from tests.conversations.pictures import PLACE, chunk, huge, opened, photograph, picture
from tests.growth import growth, repeated

KINDS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp", "MPO": "image/jpeg"}


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def profile(db: None) -> ModelProfile:
    return ModelProfile.objects.create(name="scripted", model_id="m", window=16_000, sees_images=True)


@pytest.fixture
def conversation(user: User, profile: ModelProfile) -> Conversation:
    return Conversation.objects.create(owner=user, model=profile)


def put(conversation: Conversation, data: bytes | str, name: str = "notes.txt") -> Attachment:
    return upload(conversation, name=name, data=data.encode() if isinstance(data, str) else data)


def ask(conversation: Conversation, content: str, *files: Attachment, **how: Any) -> Message:
    """The question; nobody answers it."""
    begun = begin.begin(conversation, content=content, attachments=[row.pk for row in files], **how)
    Message.objects.filter(pk=begun.reply.pk).update(status="complete", content="Fine.", token_count=6)
    return begun.question


def refused(conversation: Conversation, data: bytes) -> Invalid:
    with pytest.raises(Invalid) as refusal:
        put(conversation, data)
    assert not Attachment.objects.exists()
    assert refusal.value.detail["field"] == "file"
    return refusal.value


@pytest.mark.parametrize("format", KINDS)
def test_an_image_is_told_by_its_bytes_whatever_it_is_called(conversation: Conversation, format: str) -> None:
    row = put(conversation, picture(format), "notes.txt")
    row.refresh_from_db()
    assert (row.kind, row.media_type, row.width, row.height) == ("image", KINDS[format], 40, 30)
    assert (row.name, row.tokens, row.owner) == ("notes.txt", image_files.TOKENS, conversation.owner)
    assert row.message is None and row.size == len(attachments.bytes_of(row))
    assert opened(attachments.bytes_of(row)).size == (40, 30)


@pytest.mark.once
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_a_photograph_is_kept_upright_and_without_what_tells_where_it_was_taken(format: str) -> None:
    told = photograph(format)
    kept = image_files.read_image(told)
    assert PLACE.encode() in told and PLACE.encode() not in kept.data
    assert not dict(opened(kept.data).getexif())
    assert (kept.width, kept.height) == opened(kept.data).size == (32, 64)
    red, white = (opened(kept.data).convert("RGB").getpixel(at) for at in ((16, 10), (16, 54)))
    assert red[1] < 60 and white[1] > 200
    assert image_files.read_image(kept.data).data == kept.data


@pytest.mark.once
@pytest.mark.parametrize("before", [b"IDAT", b"IEND"])
@pytest.mark.parametrize("name", [b"XML:com.adobe.xmp", b"Author", b"Comment"])
def test_what_tells_of_a_png_may_stand_before_its_pixels_or_behind_them(name: bytes, before: bytes) -> None:
    image = picture()
    at = image.index(before) - 4
    told = image[:at] + chunk(b"iTXt", name + bytes(5) + PLACE.encode()) + image[at:]
    kept = image_files.read_image(told).data
    assert PLACE.encode() in told and PLACE.encode() not in kept
    assert opened(kept).tobytes() == opened(told).tobytes()


@pytest.mark.once
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_a_photograph_keeps_its_colours(format: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    kept = image_files.read_image(photograph(format, profile=profile))
    assert opened(kept.data).info["icc_profile"] == profile


@pytest.mark.once
def test_an_image_that_grows_when_it_is_written_anew_is_refused_as_any_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image, file = Image.effect_noise((256, 256), 60), BytesIO()
    image.save(file, "JPEG", progressive=True, optimize=True, comment=PLACE)
    monkeypatch.setattr(image_files, "MAX_BYTES", len(file.getvalue()))
    with pytest.raises(Invalid, match="at most"):
        image_files.read_image(file.getvalue())


@pytest.mark.once
@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_that_tells_nothing_stays_as_it_is(format: str) -> None:
    assert image_files.read_image(picture(format)).data == picture(format)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        ("\ufeff \n".encode(), "is empty"),
        (picture("JPEG")[:-200], "damaged"),
        (picture("PNG")[:40], "damaged"),
        (b"GIF89a but not really", "damaged"),
        (picture(size=(8_001, 1)), "8,000 pixels a side"),
        (huge(60_000), "8,000 pixels a side"),
        (huge(12_000), "8,000 pixels a side"),
        (huge(8_000), "damaged"),
        (picture() + bytes(5_000_000), "at most 5 MB"),
        (b"a" * 1_000_001, "at most 1 MB"),
        (("漢" * 333_334).encode("utf-16"), "at most 1 MB"),
        (b"\x7fELF\x02\x01", "of file can't be read"),
        (b"%PDF-1.7 \xe2\xe3\xcf\xd3", "damaged"),
        (b"a NUL \0 in it", "of file can't be read"),
        ("half a pair \ud800".encode("utf-16-le", "surrogatepass"), "of file can't be read"),
        (b"\xff\xff\x81 an \x01 old set", "of file can't be read"),
        ("ohne Marke".encode("utf-16-le"), "of file can't be read"),
    ],
)
def test_anything_else_is_refused_and_nothing_of_it_stored(conversation: Conversation, data: bytes, why: str) -> None:
    assert why in refused(conversation, data).message


@pytest.mark.once
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_file_is_its_text_whatever_way_it_was_written(codec: str) -> None:
    text = text_files.read_text_file("\ufeffGröße\r\nund\tPreis\r—\n".encode(codec))
    assert text == "Größe\nund\tPreis\n—\n"
    assert text_files.read_text_file(text.encode()) == text


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Größe;Preis\nSchrauben für Köln;3,50 €\n", "cp1252"),
        ("Müller", "latin-1"),
        ("Référence;Libellé\nCafé crème – «été»", "cp1252"),
        ("El niño comió ñoquis. ¿Dónde está el año?", "cp1252"),
        ("Räksmörgås på ön, århundrade för människor", "latin-1"),
        ("Şirket ödeme hizmeti açık, ğüşiöç.", "cp1254"),
        ("Zażółć gęślą jaźń. Książka jest na półce.", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("Привет, мир. Порт сервиса 8443 открыт.", "cp1251"),
        ("Привет, мир. Порт сервиса 8443 открыт.", "koi8_r"),
        ("Η υπηρεσία ακούει στη θύρα 8443.", "cp1253"),
        ("請求サービスはポート8443で待ち受けます。\n設定ファイルを確認してください。", "cp932"),
        ("請求サービスはポート8443で待ち受けます。設定。", "euc_jp"),
        ("计费服务监听端口8443。请检查配置文件。", "gb18030"),
        ("計費服務監聽連接埠8443。請檢查設定檔。", "big5"),
        ("청구 서비스는 포트 8443에서 수신합니다.", "cp949"),
    ],
)
def test_a_text_in_an_older_character_set_is_its_text(text: str, codec: str) -> None:
    assert text_files.read_text_file(text.encode(codec)) == text


@pytest.mark.once
@pytest.mark.parametrize("codec", ["gb18030", "cp932", "cp1250"])
def test_a_long_text_in_an_older_character_set_is_its_text(codec: str) -> None:
    line = {
        "gb18030": "计费服务监听端口8443。",
        "cp932": "サービスはポートで待つ。",
        "cp1250": "Příliš žluťoučký kůň.",
    }[codec]
    for text in (f"{line}\n" * 9_001, f"a{line}" * 9_001):
        assert text_files.read_text_file(text.encode(codec)) == text


@pytest.mark.once
def test_the_colours_of_a_log_and_page_breaks_are_left_out() -> None:
    log = b"\x1b[1;31mERROR\x1b[0m port \x1b]0;title\x077781\x1b(B\x1b[2K\x1b[?25h\n\x0cPage 2"
    assert text_files.read_text_file(log) == "ERROR port 7781\n\nPage 2"


@pytest.mark.once
@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b[1;", "\x1b]", "\x1b]a", "\x1b("])
def test_codes_of_a_terminal_take_time_in_proportion_to_the_text(piece: str) -> None:
    def read(text: str) -> None:
        with suppress(Invalid):
            text_files.read_text_file(text.encode())

    assert growth(read, repeated(piece), start=62_500, largest=500_000).is_linear


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\notes.txt", "notes.txt"),
        ("in\u202egpj.exe", "in gpj.exe"),
        ("a\n\0b\t.txt", "a b .txt"),
        ("", "file"),
        ("..", "file"),
        ("/", "file"),
        ("x" * 300 + ".tar.gz", "x" * 197 + ".gz"),
    ],
)
def test_a_name_has_no_path_and_nothing_that_is_not_seen(name: str, clean: str) -> None:
    assert clean_name(name) == clean


@pytest.mark.once
@given(name=st.text(st.characters(codec="utf-8") | st.sampled_from("./\\ \u202e\u200b\n."), max_size=300))
def test_any_name_becomes_one_that_stays_as_it_is(name: str) -> None:
    clean = clean_name(name)
    assert clean_name(clean) == clean and 1 <= len(clean) <= 200
    assert not set(clean) & {"/", "\\"} and clean.strip(".")
    assert not any(unicodedata.category(one) in attachments.INVISIBLE for one in clean)


def test_ten_files_wait_for_a_message_and_the_same_one_waits_once(conversation: Conversation, user: User) -> None:
    rows = [put(conversation, f"file {number}") for number in range(10)]
    assert put(conversation, "file 3", "other.txt") == rows[3]
    with pytest.raises(Invalid, match="at most 10"):
        put(conversation, "one more")
    assert list(pending(conversation)) == rows
    put(Conversation.objects.create(owner=user), "file 3")
    remove(conversation, rows[3].pk)
    assert put(conversation, "one more") in pending(conversation)


def test_only_what_waits_in_this_conversation_can_be_removed(conversation: Conversation, user: User) -> None:
    waiting, sent = put(conversation, "one"), put(conversation, "two")
    ask(conversation, "look", sent)
    other = Conversation.objects.create(owner=user)
    for where, id in ((other, waiting.pk), (conversation, sent.pk), (conversation, uuid4())):
        with pytest.raises(NotFound):
            remove(where, id)
    assert Attachment.objects.count() == 2


def test_a_text_file_stands_behind_the_words_and_an_image_beside_them(conversation: Conversation) -> None:
    files = [put(conversation, "port = 8443\n", 'a "b" & <c>.toml'), put(conversation, picture(), "rack.png")]
    files.append(put(conversation, "eins", "zwei.txt"))
    question = ask(conversation, "Which port?\n", *reversed(files), pastes=[Pasted(1, 6, 4)])
    question.refresh_from_db()
    assert question.content == (
        'Which port?\n\n\n<file name="a &quot;b&quot; &amp; &lt;c&gt;.toml">\nport = 8443\n\n</file>\n\n'
        '<file name="zwei.txt">\neins\n</file>'
    )
    toml, image, text = question.attachments.all()
    for row, said in ((toml, "port = 8443\n"), (text, "eins")):
        assert question.content[row.start : row.start + row.length] == said
        assert (row.data, attachments.bytes_of(row)) == (None, said.encode())
    assert question.images == [{"id": str(image.pk), "hash": image.digest, "name": "rack.png", "size": image.size}]
    assert question.token_count == transcript.message_tokens(question.content) + image_files.TOKENS
    assert words_of(question) == "Which port?\n"
    assert [*question.pastes.values_list("number", "start", "length")] == [(1, 6, 4)]
    assert not pending(conversation).exists()
    told = message_json(question, question.conversation.window)
    assert [one["name"] for one in told["attachments"]] == [toml.name, "rack.png", "zwei.txt"]
    assert told["pastes"] == [{"number": 1, "start": 6, "length": 4}]


def test_a_file_needs_no_words_and_names_the_conversation_then(conversation: Conversation) -> None:
    question = ask(conversation, " \n", put(conversation, "port = 8443", "billing.toml"))
    assert question.content == '<file name="billing.toml">\nport = 8443\n</file>'
    assert (words_of(question), conversation.title) == ("", "billing.toml")
    image = ask(conversation, "", put(conversation, picture()))
    assert (image.content, words_of(image)) == ("", "")
    with pytest.raises(Invalid, match="content: must not be empty"):
        ask(conversation, "")


def test_files_that_do_not_wait_here_are_refused(conversation: Conversation, user: User) -> None:
    sent, waiting = put(conversation, "one"), put(conversation, "two")
    ask(conversation, "look", sent)
    foreign = put(Conversation.objects.create(owner=user), "three")
    several = [uuid4() for _ in range(11)]
    for ids in ([uuid4()], [waiting.pk, foreign.pk], [sent.pk], [waiting.pk, waiting.pk], several):
        with pytest.raises(Invalid) as refusal:
            begin.begin(conversation, content="and now", attachments=ids)
        assert refusal.value.detail["field"] == "attachments"
    assert list(pending(conversation)) == [waiting]
    assert Message.objects.count() == 2


def test_what_fits_no_request_waits_on(conversation: Conversation) -> None:
    row = put(conversation, "a word or two")
    with pytest.raises(TooLarge) as refusal:
        begin.begin(conversation, content="word " * 20_000, attachments=[row.pk])
    assert refusal.value.detail["message_tokens"] > 20_000
    images = [put(conversation, picture(size=(8, number))) for number in range(1, 10)]
    ModelProfile.objects.update(window=10_000)
    with pytest.raises(TooLarge):
        begin.begin(conversation, content="look", attachments=[image.pk for image in images])
    assert pending(conversation).count() == 10 and not Message.objects.exists()


def test_the_same_message_twice_is_stored_once_with_its_files(conversation: Conversation) -> None:
    text, image = put(conversation, "eins"), put(conversation, picture())

    def again(content: str = "look", *files: UUID) -> begin.BegunTurn:
        return begin.begin(conversation, content=content, client_id="c1", attachments=files)

    first = again("look", text.pk, image.pk)
    assert again("look", image.pk, text.pk).question == first.question
    assert again("look", text.pk, put(conversation, picture()).pk).replayed
    other = put(conversation, picture(colour="red"))
    for content, files in (
        ("look", [text.pk]), ("look", []), ("see", [text.pk, image.pk]), ("look", [text.pk, other.pk]),
    ):  # fmt: skip
        with pytest.raises(Conflict) as refusal:
            again(content, *files)
        assert refusal.value.code == "client_id_reused"
    assert Message.objects.count() == 2


def test_an_image_is_not_sent_to_a_model_that_does_not_see(conversation: Conversation, profile: ModelProfile) -> None:
    image, text = put(conversation, picture()), put(conversation, "eins")
    for fields in ({"sees_images": False}, {"provider": "builtin"}):
        ModelProfile.objects.update(**{"sees_images": True} | fields)
        with pytest.raises(Conflict, match="scripted does not see") as refusal:
            begin.begin(conversation, content="look", attachments=[image.pk])
        assert refusal.value.code == "model_sees_no_images" and image in pending(conversation)
    assert ask(conversation, "read", text).content.endswith("eins\n</file>")


@pytest.mark.once
def test_a_message_without_files_asks_nothing_about_them(conversation: Conversation) -> None:
    with CaptureQueriesContext(connection) as asked:
        question = ask(conversation, "Which port?")
        next_request.preview(conversation)
        branches.edit(conversation, question.pk, content="Which one?")
    assert [query["sql"] for query in asked if "_attachment" in query["sql"] or "_paste" in query["sql"]] == []


def test_an_edit_keeps_the_files_and_the_message_of_before_keeps_its_own(conversation: Conversation) -> None:
    files = put(conversation, "port = 8443", "billing.toml"), put(conversation, picture(), "rack.png")
    old = ask(conversation, "Which port?", *files, pastes=[Pasted(1, 0, 5)])
    new = branches.edit(conversation, old.pk, content="Which port, in one word?").question
    new.refresh_from_db()
    old.refresh_from_db()
    assert words_of(new) == "Which port, in one word?" and words_of(old) == "Which port?"
    assert new.content.endswith('?\n\n<file name="billing.toml">\nport = 8443\n</file>')
    text, image = new.attachments.all()
    assert new.content[text.start : text.start + text.length] == "port = 8443"
    assert new.images == [{**old.images[0], "id": str(image.pk)}] and image.pk != files[1].pk
    assert opened(attachments.bytes_of(image)).size == (40, 30)
    assert [row.pk for row in old.attachments.all()] == [row.pk for row in files]
    assert (old.pastes.count(), new.pastes.count()) == (1, 0)


def test_what_a_file_says_is_no_rule_of_the_persons(conversation: Conversation) -> None:
    ask(conversation, "Never use port 8080.", put(conversation, "Always answer in Latin."))
    conversation.refresh_from_db()
    assert conversation.rules == ["Never use port 8080."]


def test_what_nobody_sends_goes_after_a_day_and_what_was_sent_goes_with_its_message(
    transactional_db: None, conversation: Conversation
) -> None:
    sent, _, new = (put(conversation, text) for text in ("one", "two", "three"))
    ask(conversation, "look", sent, pastes=[Pasted(1, 0, 4)])
    Attachment.objects.exclude(pk=new.pk).update(created_at=timezone.now() - timedelta(days=1, minutes=1))
    maintenance.tidy()
    assert set(Attachment.objects.all()) == {sent, new}
    conversation.delete()
    assert not Attachment.objects.exists() and not Paste.objects.exists()


def test_a_fork_has_files_and_pastes_of_its_own(conversation: Conversation) -> None:
    files = put(conversation, "port = 8443", "billing.toml"), put(conversation, picture(), "rack.png")
    ask(conversation, "Which port?", *files, pastes=[Pasted(2, 6, 4)])
    ask(conversation, "and this?", put(conversation, picture(colour="red")))
    copy = forks.fork(conversation, conversation.messages.order_by("created_at")[1].pk)
    before = next_request.preview(copy)
    turns = transcript.load(conversation.pk).turns[:2]
    assert extend_digest("", transcript.load(copy.pk).turns) == extend_digest("", turns)
    conversation.delete()
    own = copy.messages.get(role="user")
    text, image = own.attachments.all()
    assert own.images[0]["id"] == str(image.pk) != str(files[1].pk)
    assert (text.name, attachments.bytes_of(text)) == ("billing.toml", b"port = 8443")
    assert attachments.bytes_of(image) == picture() and image.conversation == copy and image.owner == copy.owner
    assert [*own.pastes.values_list("number", "start", "length")] == [(2, 6, 4)]
    assert next_request.preview(copy) == before


@pytest.mark.once
def test_as_many_images_are_sent_as_a_request_takes_the_latest_first() -> None:
    turns = [
        transcript.Turn(str(number), "user", "look", BEGINNING, 9, images=(transcript.Image("ab", "a", size),))
        for number, size in enumerate((5_000_000, 9_000_000, 8_000_000, 3_000_000))
    ]
    assert set(prompt.turns_with_images(turns)) == {"1", "2", "3"}
    assert set(prompt.turns_with_images(turns[:3])) == {"1", "2"}


def test_markdown_names_images(conversation: Conversation) -> None:
    ask(conversation, "Which port?", put(conversation, picture(), "rack.png"))
    assert "Which port?\n\n[image: rack.png]\n" in as_markdown(conversation)


@pytest.mark.parametrize(
    ("format", "mode", "kept"),
    [
        ("HEIF", "RGB", "image/jpeg"),
        ("HEIF", "RGBA", "image/png"),
        ("AVIF", "RGB", "image/jpeg"),
        ("TIFF", "RGB", "image/jpeg"),
        ("TIFF", "CMYK", "image/jpeg"),
        ("BMP", "RGB", "image/jpeg"),
    ],
)
def test_formats_that_no_model_takes_are_converted(
    conversation: Conversation, format: str, mode: str, kept: str
) -> None:
    pillow_heif.register_heif_opener()
    file, exif = BytesIO(), Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010F] = "A camera of Ada's"
    how = {} if format == "BMP" else {"exif": exif.tobytes()}
    Image.new(mode, (4_000, 80)).save(file, format, **how)
    row = upload(conversation, name="photo", data=file.getvalue())
    sides = (3_000, 60) if format == "BMP" else (60, 3_000)
    assert (row.kind, row.media_type, (row.width, row.height)) == ("image", kept, sides)
    assert b"camera" not in bytes(row.data or b"")


@pytest.mark.parametrize("data", [b"\0\0\0\x20ftypheic" + bytes(40), b"II*\0" + bytes(40), b"BM" + bytes(60)])
def test_a_damaged_image_of_these_is_refused(conversation: Conversation, data: bytes) -> None:
    with pytest.raises(Invalid, match="damaged"):
        upload(conversation, name="photo", data=data)


def test_a_text_that_begins_like_a_bitmap_stays_text(conversation: Conversation) -> None:
    assert upload(conversation, name="a.txt", data=b"BM is short for bitmap, and this is a text.").kind == "text"
