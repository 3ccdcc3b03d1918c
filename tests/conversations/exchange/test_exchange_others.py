"""Exports of Open WebUI, LibreChat, Grok, DeepSeek and Gemini."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest

from conversations.errors import Invalid
from conversations.exchange.formats.open_webui import shown_parts
from conversations.exchange.imports import Imported, import_conversations
from conversations.messages.html_text import as_markdown
from conversations.models import Attachment, Conversation, ToolCall, User
from tests.conversations.exports import deepseek, gemini, grok, librechat, open_webui, picture
from tests.growth import growth, repeated

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def taken(user: User, document: Any) -> Imported:
    return import_conversations(user, json.dumps(document).encode())


def one(user: User, conversation: dict[str, Any]) -> Conversation:
    (row,) = taken(user, [conversation])
    return row


def said(row: Conversation) -> list[tuple[str, str]]:
    return list(row.messages.order_by("created_at").values_list("role", "content"))


ASKED = {"id": "q", "role": "user", "content": "Which port?"}


class TestOpenWebUI:
    def test_the_shown_branch_comes_in_with_its_model_and_without_reasoning(self, ada: User) -> None:
        thought = (
            '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n&gt; Hm\n</details>\n'
        )
        row = one(ada, open_webui(
            ASKED,
            {"id": "a1", "role": "assistant", "content": "5432.", "model": "llama3:8b"},
            {"id": "a2", "parentId": "q", "role": "assistant", "content": f"{thought}5433.", "model": "qwen3:4b"},
        ))  # fmt: skip
        assert (row.title, row.owner_id, row.created_at) == ("Ports", ada.pk, datetime(2025, 1, 6, 9, tzinfo=UTC))
        assert said(row) == [("user", "Which port?"), ("assistant", "5433.")]
        assert list(row.messages.order_by("created_at").values_list("model", flat=True)) == ["", "qwen3:4b"]

    def test_uses_of_tools_are_text_and_other_details_stay(self, ada: User) -> None:
        call = (
            '<details type="tool_calls" done="true" id="c" name="search" arguments="&quot;{}&quot;" '
            'result="&quot;5433&quot;" files="">\n<summary>Tool Executed</summary>\n</details>'
        )
        mine = "<details><summary>More</summary>x</details>"
        row = one(ada, open_webui(ASKED, {"id": "a", "role": "assistant", "content": f"I look.\n{call}\nDone. {mine}"}))
        text = said(row)[1][1]
        assert '[Call of search] "{}"\n"5433"' in text and mine in text and "<details type" not in text

    def test_instructions_are_proposed_and_a_list_of_messages_is_read_too(self, ada: User) -> None:
        chat = {"system": "Be exact.", "history": {}, "messages": [ASKED, {"role": "assistant", "content": "5433."}]}
        row = one(ada, open_webui(ASKED, chat=chat))
        assert (row.system_prompt, row.proposed_system_prompt) == ("", "Be exact.")
        assert said(row) == [("user", "Which port?"), ("assistant", "5433.")]

    def test_images_come_in_and_other_files_by_name(self, ada: User) -> None:
        files = [
            {"type": "image", "url": picture("red")}, {"type": "image", "url": "/api/v1/files/1/content"},
            {"type": "image", "url": "data:image/png;base64,!!"}, {"type": "file", "file": {"filename": "ports.md"}},
        ]  # fmt: skip
        row = one(ada, open_webui(ASKED | {"files": files}))
        assert said(row) == [("user", "Which port?\n\n[Image: image]\n\n[Image: image]\n\n[File: ports.md]")]
        (image,) = Attachment.objects.filter(conversation=row)
        assert (image.kind, image.width, image.media_type) == ("image", 8, "image/png")

    def test_a_circle_a_long_date_and_a_lost_end_of_the_branch(self, ada: User) -> None:
        late = ASKED | {"timestamp": 1_736_154_000_000}
        lost = open_webui(late, {"id": "a", "role": "assistant", "content": "5433.", "timestamp": 1_736_154_001})
        lost["chat"]["history"]["currentId"] = "gone"
        assert said(one(ada, lost | {"id": "w2"}))[1][1] == "5433."
        circle = open_webui(
            ASKED | {"parentId": "a"}, {"id": "a", "parentId": "q", "role": "assistant", "content": "x"}
        )
        with pytest.raises(Invalid, match="circle"):
            taken(ada, circle)

    def test_a_reply_of_items_comes_in(self, ada: User) -> None:
        output = [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"type": "function_call", "call_id": "f", "name": "search", "arguments": '{"q": 1}'},
            {"type": "function_call_output", "call_id": "f", "output": [{"type": "input_text", "text": "found"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "5433."}]},
        ]
        row = one(ada, open_webui(ASKED, {"id": "a", "role": "assistant", "content": "", "output": output}))
        assert said(row)[1] == ("assistant", '[Call of search] {"q": 1}\n\nfound\n\n5433.')

    def test_code_that_ran_an_error_and_sources_are_shown(self, ada: User) -> None:
        code = (
            '<details type="code_interpreter" done="true" output="{&quot;stdout&quot;:&quot;42\n&quot;}">\n'
            "<summary>Analyzed</summary>\n```python\nprint(42)\n```\n</details>\nSo 42 [1]."
        ).replace("42\n&quot;", "42&quot;")
        sources = [
            {"source": {"name": "a"}, "metadata": [{"source": "https://e.org/a", "name": "Iron"}, {"source": "https://e.org/a"}]},
            {"source": {"id": "f7", "name": "ports.md"}}, 3, {"metadata": [{}]},
        ]  # fmt: skip
        row = one(ada, open_webui(ASKED, {"id": "a", "role": "assistant", "content": code, "sources": sources[:2]}))
        assert said(row)[1][1] == (
            "```python\nprint(42)\n```\n\n```\n42\n```\nSo 42 [1].\n\n- [1] [Iron](https://e.org/a)\n- [2] ports.md"
        )
        failed = {"id": "a", "role": "assistant", "content": "", "error": {"content": "No model."}, "sources": sources}
        assert said(one(ada, open_webui(ASKED, failed) | {"id": "w9"}))[1] == ("assistant", "[Error] No model.")

    def test_texts_of_files_come_in_and_odd_values_keep_nothing_out(self, ada: User) -> None:
        file = {"type": "file", "name": "a.md", "file": {"data": {"content": "x" * 300_000}}}
        chat = open_webui(ASKED | {"files": [file, None], "timestamp": "soon"}, pinned=True, archived=True)
        chat["chat"]["history"]["messages"]["gone"] = None
        row = one(ada, chat)
        text = said(row)[0][1]
        assert text.startswith("Which port?\n\n[File: a.md]\nxxx") and "300,000 characters in all" in text
        assert (row.pinned, row.archived) == (True, True)

    def test_shells_of_chats_are_skipped(self, ada: User) -> None:
        for shell in ({}, None):
            imported = taken(ada, [open_webui(ASKED) | {"id": str(shell)}, {"id": "c", "title": "T", "chat": shell}])
            assert (len(imported.conversations), imported.skipped) == (1, 1)


class TestLibreChat:
    def test_a_conversation_comes_in_with_its_last_branch(self, ada: User) -> None:
        row = one(ada, librechat(
            {"text": "Which port?"}, {"text": "5432.", "model": "gpt-4.1"},
            {"text": "5433.", "model": "gpt-4.1", "isCreatedByUser": False, "parentMessageId": "m0"},
        ))  # fmt: skip
        assert (row.title, said(row)) == ("Ports", [("user", "Which port?"), ("assistant", "5433.")])
        assert row.created_at == datetime(2025, 1, 6, 9, tzinfo=UTC)

    def test_a_tree_of_any_depth_comes_in(self, ada: User) -> None:
        tree: list[Any] = []
        flat = librechat(*({"text": f"message {number}"} for number in range(10)))["messages"]
        for message in reversed(flat):
            tree = [message | {"children": tree}]
        assert len(said(one(ada, librechat(recursive=True, messages=tree)))) == 10

    def test_parts_become_text_calls_and_results_and_thoughts_are_left_out(self, ada: User) -> None:
        call = {"id": "c", "name": "search", "args": '{"q": "port"}', "output": "5433", "progress": 1}
        parts = [
            {"type": "think", "think": "Hm"}, {"type": "text", "text": {"value": "I look."}},
            {"type": "tool_call", "tool_call": call}, {"type": "text", "text": "It is 5433."},
            {"type": "error", "error": "cut off"},
        ]  # fmt: skip
        row = one(ada, librechat({"text": "Which port?", "files": [{"filename": "a.png", "type": "image/png"}]},
                                 {"content": parts}))  # fmt: skip
        assert said(row) == [
            ("user", "Which port?\n\n[Image: a.png]"), ("assistant", "I look."),
            ("assistant", "It is 5433.\n\ncut off"),
        ]  # fmt: skip
        assert list(ToolCall.objects.values_list("name", "arguments", "result")) == [
            ("search", '{"q": "port"}', "5433")
        ]

    def test_instructions_are_proposed(self, ada: User) -> None:
        row = one(ada, librechat({"text": "hi"}, options={"promptPrefix": "Be exact."}))
        assert (row.system_prompt, row.proposed_system_prompt) == ("", "Be exact.")

    def test_odd_values_keep_nothing_out(self, ada: User) -> None:
        image = {"filename": "a.png"}
        call = {"name": "", "args": {"a": 1}, "output": {"found": 1}}
        row = one(ada, librechat(
            {"text": "hi", "createdAt": 7, "isCreatedByUser": None, "sender": "User"},
            {"content": [{"type": "tool_call", "tool_call": call}, {"type": "image_file", "image_file": image}]},
        ))  # fmt: skip
        assert said(row) == [("user", "hi"), ("assistant", ""), ("assistant", "[Image: a.png]")]
        assert ToolCall.objects.values_list("name", "arguments", "result").get() == ("tool", '{"a": 1}', '{"found": 1}')

    def test_an_export_of_another_form_is_named(self, ada: User) -> None:
        for messages, place in (({"a": 1}, "messages"), ([3], r"messages\[0\]"), ([{"children": 3}], "children")):
            with pytest.raises(Invalid, match=place):
                taken(ada, librechat(messages=messages))


class TestGrok:
    def test_the_conversations_of_its_one_object_come_in(self, ada: User) -> None:
        document = {
            "conversations": [
                grok({"message": "Which port?"}, {"message": "5433.", "model": "grok-4"}),
                grok({"message": "hi"}) | {"conversation": {"id": "g2", "title": "Second"}},
            ],
            "projects": [], "tasks": [],
        }  # fmt: skip
        first, second = taken(ada, document)
        assert said(first) == [("user", "Which port?"), ("assistant", "5433.")]
        assert (first.created_at.year, second.title) == (2025, "Second")
        assert taken(ada, document).unchanged == 2

    def test_the_shown_branch_is_taken_and_files_are_named(self, ada: User) -> None:
        row = one(ada, grok(
            {"message": "Which port?", "file_attachments": [{"name": "ports.md"}, "id-7"]},
            {"message": "5432.", "parent_response_id": "r0"},
            {"message": "5433.", "sender": "assistant", "parent_response_id": "r0"},
            conversation={"id": "g3", "title": "", "leaf_response_id": "r1"},
        ))  # fmt: skip
        assert said(row) == [("user", "Which port?\n\n[File: ports.md]\n\n[File: id-7]"), ("assistant", "5432.")]

    def test_missing_responses_are_left_out(self, ada: User) -> None:
        row = one(
            ada,
            grok({"message": "hi"}) | {"responses": [None, {"response": None}, {"message": "hi", "sender": "human"}]},
        )
        assert said(row) == [("user", "hi")]

    def test_cards_become_links(self, ada: User) -> None:
        card = '<grok:render card_id="c1" type="x"><argument name="citation_id">3</argument></grok:render>'
        cards = ['{"id": "c1", "url": "https://e.org/iron", "title": "Iron"}', "{", 7, '{"id": "c2", "url": "x"}']
        text = f"Old.{card} {card.replace('c1', 'c2')}New. <grok:render x"
        row = one(ada, grok({"message": text}, {"message": text, "card_attachments_json": cards}))
        assert said(row)[1][1] == "Old. ([Iron](https://e.org/iron)) New. <grok:render x"
        assert said(row)[0][1] == text, "a person may write what they like"


class TestDeepSeek:
    def test_the_words_of_its_fragments_come_in_without_thoughts(self, ada: User) -> None:
        row = one(ada, deepseek(
            {"fragments": [{"type": "REQUEST", "content": "Which port?"}], "files": [{"file_name": "ports.md"}]},
            {"fragments": [{"type": "THINK", "content": "Hm."}, {"type": "RESPONSE", "content": "5432."}]},
            {"fragments": [{"type": "SEARCH", "results": []}, {"type": "RESPONSE", "content": "5433."}], "parent": "1",
             "model": "deepseek-reasoner"},
        ))  # fmt: skip
        assert said(row) == [("user", "Which port?\n\n[File: ports.md]"), ("assistant", "5433.")]
        assert (row.title, row.created_at) == ("Ports", datetime(2025, 1, 6, 9, 0, 0, 102_000, tzinfo=UTC))
        assert list(row.messages.order_by("created_at").values_list("model", flat=True)) == ["", "deepseek-reasoner"]

    def test_older_exports_name_no_roles(self, ada: User) -> None:
        row = one(ada, deepseek(
            {"content": "Which port?", "reasoning_content": None},
            {"content": "5433.", "reasoning_content": "Hm."},
            {"content": "Since when?"},
        ))  # fmt: skip
        assert said(row) == [("user", "Which port?"), ("assistant", "5433."), ("user", "Since when?")]

    def test_its_zip_comes_in_and_again_changes_nothing(self, ada: User) -> None:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as made:
            made.writestr("user.json", json.dumps({"user_id": "u"}))
            made.writestr("conversations.json", json.dumps([deepseek({"content": "Hi"}), deepseek(id="d2")]))
        first = import_conversations(ada, archive.getvalue())
        assert [said(row) for row in first] == [[("user", "Hi")]]
        assert first.skipped == 1, "the shell without messages"
        assert import_conversations(ada, archive.getvalue()).unchanged == 1

    def test_odd_parts_are_named_or_left_out(self, ada: User) -> None:
        with pytest.raises(Invalid, match=r"mapping\.1"):
            taken(ada, deepseek({"content": "x" * 200_001}))
        row = one(
            ada, deepseek({"content": "Hi", "inserted_at": [], "files": [3, {}], "fragments": "x", "parent": ["1"]})
        )
        assert said(row) == [("user", "Hi\n\n[File: without a name]")]


class TestGemini:
    def test_prompts_that_follow_each_other_are_one_conversation(self, ada: User) -> None:
        newest_first = [
            gemini("Prompted Since when?", "<p>Since <b>May</b>.</p>", "2025-01-07T10:05:00Z"),
            gemini("Prompted Which port?", "<p>5433.</p>", "2025-01-07T10:00:00.123Z"),
            gemini("Used Gemini Apps", "", "2025-01-06T09:30:00Z"),
            gemini("Prompted Hi", "<p>Hello</p>", "2025-01-06T09:00:00Z", attachedFiles=["a.pdf"]),
        ]
        newer, older = taken(ada, newest_first)
        assert said(newer) == [("user", "Which port?"), ("assistant", "5433."), ("user", "Since when?"),
                               ("assistant", "Since **May**.")]  # fmt: skip
        assert (newer.title, newer.created_at.day) == ("Which port?", 7)
        assert said(older) == [("user", "Hi\n\n[File: a.pdf]"), ("assistant", "Hello")]
        assert taken(ada, newest_first).unchanged == 2

    def test_its_folder_is_found_in_a_zip_in_any_language(self, ada: User) -> None:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            content = json.dumps([gemini("Prompted Hi", "<p>Hello</p>", "2025-01-06T09:00:00Z")])
            archive.writestr("Takeout/Meine Aktivitäten/Gemini-Apps/MeineAktivitäten.json", content)
            archive.writestr("Takeout/archive_browser.html", "<p>x</p>")
        (row,) = import_conversations(ada, made.getvalue())
        assert len(said(row)) == 2

    def test_an_archive_with_html_says_what_to_do(self, ada: User) -> None:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("Takeout/My Activity/Gemini Apps/MyActivity.html", "<p>x</p>")
        with pytest.raises(Invalid, match="Ask Google Takeout for JSON"):
            import_conversations(ada, made.getvalue())

    def test_activities_of_other_products_are_no_conversation(self, ada: User) -> None:
        with pytest.raises(Invalid, match="this form of JSON is not read"):
            taken(
                ada, [gemini("Searched for ports", "x", "2025-01-06T09:00:00Z", header="Search", products=["Search"])]
            )


def test_html_becomes_markdown() -> None:
    html = (
        "<h2>Ports</h2><p>Use <code>5433</code>, not <em>5432</em>.<br>See <a href='https://e.org/'>this</a> and "
        "<a href='javascript:x()'>that</a>.</p><ul><li>one</li><li>two <b>x</b></li></ul><ol><li>first</li></ol>"
        "<pre><code>a = 1\nb</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
        "<script>alert(1)</script><!-- hidden -->"
    )
    assert as_markdown(html) == (
        "## Ports\n\nUse `5433`, not *5432*.\nSee [this](https://e.org/) and that.\n\n- one\n- two **x**\n\n"
        "1. first\n\n"
        "```\na = 1\nb\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )


def test_tables_and_code_of_html_keep_their_form() -> None:
    table = "<table><thead><tr><th>a|b</th><th><p>two</p> lines</th></tr></thead><tbody><tr><td>1</td> <td></td></tr>"
    assert as_markdown(f"{table}</tbody></table>") == "| a\\|b | two lines |\n| --- | --- |\n| 1 |   |"
    assert as_markdown("<pre><code class='hljs language-py'>x = 1\n</code></pre>") == "```py\nx = 1\n```"
    layout = (
        f"<table><tr><td><h1>News</h1><p>One.</p></td></tr><tr><td>{table}</tbody></table><p>Two.</p></td></tr></table>"
    )
    assert as_markdown(layout) == ("# News\n\nOne.\n\n| a\\|b | two lines |\n| --- | --- |\n| 1 |   |\n\nTwo.")
    assert as_markdown("<table><tr><td>x</td></tr><tr><td>y</td></tr></table>") == "x\n\ny"
    assert as_markdown("<pre>x</pre><tr><td>alone</td></tr>").startswith("```\nx\n```")


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<div>", "<li>", "<b>x</b>", "<!--", "&#", "<p>a", "<table><tr><td>", "<td>a", "<tr><td>a<td>b"],
)
def test_html_takes_time_in_proportion_to_its_length(piece: str) -> None:
    assert growth(as_markdown, repeated(piece), start=12_500, largest=100_000).is_linear


def test_unended_details_take_time_in_proportion_to_their_length() -> None:
    for piece in ('<details type="reasoning">', "<details ", '<details a="" ', "<details>x</details>"):
        assert growth(lambda text: list(shown_parts(text)), repeated(piece), start=12_500, largest=200_000).is_linear
