"""Documents as people's programs really write them: forms, tracked changes, tabs, formulas, old character sets."""

from __future__ import annotations

import json
from datetime import date, datetime
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

from conversations.errors import Invalid
from conversations.messages.documents import kind_of, read_document
from tests.conversations import documents
from tests.conversations.documents import open_document, zipped


def text_of(data: bytes) -> str:
    return read_document(data, kind_of(data)).text


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STRICT = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
STYLES = (
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Listenabsatz"><w:name w:val="List Paragraph"/></w:style>'
)
TYPES = '<Types><Override ContentType="application/vnd.ms-word.document.macroEnabled"/></Types>'
RELATION = '<Relationship Type="http://x/{0}" Target="{1}"/>'


def word(body: str, *, names: str = W, main: str = "document.xml", **more: str) -> bytes:
    parts = {"styles": STYLES} | more
    relations = "".join(RELATION.format(name, f"{name}2.xml") for name in parts)
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": f"<Relationships>{RELATION.format('officeDocument', f'word/{main}')}</Relationships>",
        f"word/_rels/{main}.rels": f"<Relationships>{relations}</Relationships>",
        f"word/{main}": f"<w:document {names}><w:body>{body}</w:body></w:document>",
    }
    return zipped(members | {f"word/{name}2.xml": f"<w:x {names}>{part}</w:x>" for name, part in parts.items()})


def p(*runs: str, properties: str = "") -> str:
    inner = "".join(run if run.startswith("<") else f"<w:r><w:t>{run}</w:t></w:r>" for run in runs)
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{inner}</w:p>"


class TestWord:
    def test_tracked_changes_are_read_as_accepted(self) -> None:
        inserted = '<w:ins w:author="Ann"><w:r><w:t> 7782</w:t></w:r></w:ins>'
        deleted = "<w:del><w:r><w:delText> 7781</w:delText></w:r></w:del>"
        assert text_of(word(p("The port is", deleted, inserted, "."))) == "The port is 7782."

    def test_content_controls_text_boxes_fields_and_signs(self) -> None:
        control = f"<w:sdt><w:sdtPr><w:t>x</w:t></w:sdtPr><w:sdtContent>{p('In a control')}</w:sdtContent></w:sdt>"
        box = f"<w:r><w:AlternateContent><w:Choice><w:txbxContent>{p('In a box')}</w:txbxContent></w:Choice>"
        box += f"<w:Fallback><w:txbxContent>{p('In a box')}</w:txbxContent></w:Fallback></w:AlternateContent></w:r>"
        field = "<w:r><w:instrText>DATE</w:instrText></w:r><w:fldSimple><w:r><w:t>5 May</w:t></w:r></w:fldSimple>"
        link = "<w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink>"
        signs = "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>"
        text = text_of(word(control + p("Before", box) + p(field) + p("See ", link) + p(signs)))
        assert text == "In a control\nBefore\nIn a box\n5 May\nSee a link\na\tb\nc-d"

    def test_the_first_of_several_forms_is_read(self) -> None:
        forms = f"<w:Choice>{p('New')}</w:Choice><w:Fallback>{p('Old')}</w:Fallback>"
        assert text_of(word(f"<w:AlternateContent>{forms}</w:AlternateContent>")) == "New"

    def test_headings_and_lists_by_the_styles_of_any_language(self) -> None:
        body = p("Ports", properties='<w:pStyle w:val="berschrift2"/>')
        body += p("one", properties='<w:pStyle w:val="Listenabsatz"/>')
        body += p("inner", properties='<w:numPr><w:ilvl w:val="1"/></w:numPr>')
        body += p("Deep", properties='<w:outlineLvl w:val="8"/>')
        assert text_of(word(body)) == "## Ports\n- one\n  - inner\n###### Deep"

    def test_tables_with_merged_and_inner_cells(self) -> None:
        def cell(*blocks: str, properties: str = "") -> str:
            return f"<w:tc><w:tcPr>{properties}</w:tcPr>{''.join(blocks)}</w:tc>"

        inner = f"<w:tbl><w:tr>{cell(p('x'))}{cell(p('y'))}</w:tr></w:tbl>"
        rows = f"<w:tr>{cell(p('a'), properties='<w:vMerge w:val="restart"/>')}{cell(p('b'), p('c'))}</w:tr>"
        row = f"<w:tr>{cell(p(), properties='<w:vMerge/>')}{cell(inner)}</w:tr>"
        rows += f"<w:sdt><w:sdtContent>{row}</w:sdtContent></w:sdt>"
        assert text_of(word(f"<w:tbl>{rows}</w:tbl>")) == "a | b c\nx | y"

    def test_notes_and_comments_stand_below(self) -> None:
        mark = '<w:r><w:footnoteReference w:id="2"/><w:commentReference w:id="0"/></w:r>'
        data = word(
            p("The port", mark),
            footnotes=f'<w:footnote w:id="0" w:type="separator">{p("-")}</w:footnote>'
            f'<w:footnote w:id="2">{p("In May.")}</w:footnote>',
            comments=f'<w:comment w:id="0" w:author="Ann">{p("Which one?")}</w:comment>',
        )
        assert text_of(data) == "The port[^2][comment 0]\n[^2]: In May.\n[comment 0] Ann: Which one?"

    @pytest.mark.parametrize("names", [W, STRICT])
    @pytest.mark.parametrize("main", ["document.xml", "document2.xml"])
    def test_every_edition_and_name_of_the_main_part(self, names: str, main: str) -> None:
        assert text_of(word(p("The port is 7781."), names=names, main=main)) == "The port is 7781."

    def test_a_document_without_relations_is_read(self) -> None:
        assert text_of(zipped({"word/document.xml": f"<w:document {W}>{p('Alone')}</w:document>"})) == "Alone"


class TestOpenDocument:
    def test_spaces_tabs_breaks_notes_and_changes(self) -> None:
        body = (
            "<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
            "<text:p>a<text:tab/>b<text:s text:c='2'/>c<text:line-break/>d"
            "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In May.</text:p>"
            "</text:note-body></text:note>.</text:p>"
            "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p>"
            "</text:list-item></text:list></text:list-item></text:list>"
            "<text:p>Box <draw:frame><draw:text-box><text:p>inside</text:p></draw:text-box></draw:frame></text:p>"
            "</office:text>"
        )
        assert text_of(open_document("text", body)) == ("a\tb  c\nd [note: In May.].\n- one\n  - inner\nBox \ninside")

    def test_repeated_and_covered_cells_keep_their_columns(self) -> None:
        row = (
            "<table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell>"
            "<table:table-cell table:number-columns-repeated='2'/><table:covered-table-cell/>"
            "<table:table-cell table:number-columns-repeated='2'><text:p>7</text:p></table:table-cell>"
            "<table:table-cell table:number-columns-repeated='16000'/></table:table-row>"
        )
        empty = "<table:table-row table:number-rows-repeated='1048576'><table:table-cell/></table:table-row>"
        twice = row.replace("table-row>", "table-row table:number-rows-repeated='2'>", 1)
        head = f"<table:table-header-rows>{row}</table:table-header-rows>"
        body = f"<table:table table:name='P'>{head}{twice}{empty}</table:table>"
        line = "a b |  |  |  | 7 | 7"
        text = text_of(open_document("spreadsheet", f"<office:spreadsheet>{body}</office:spreadsheet>"))
        assert text == "\n".join(["[Sheet P]", line, line, line])

    def test_slides_have_their_notes(self) -> None:
        page = "<draw:page><draw:frame><draw:text-box><text:p>Ports</text:p></draw:text-box></draw:frame>"
        page += "<office:notes><draw:frame><text:p>Slowly.</text:p></draw:frame></office:notes></draw:page>"
        text = text_of(open_document("presentation", f"<office:presentation>{page}</office:presentation>"))
        assert text == "[Slide 1]\nPorts\nNotes: Slowly."


def saved(document: Any) -> bytes:
    file = BytesIO()
    document.save(file)
    return file.getvalue()


class TestSheetsAndSlides:
    def test_days_numbers_formulas_and_hidden_sheets(self) -> None:
        from openpyxl import Workbook

        book = Workbook()
        book.active.append([date(2026, 5, 7), datetime(2026, 5, 7, 9, 30), 0.1 + 0.2, 3.0, True, "=SUM(C1:D1)"])
        book.create_sheet("Old").append(["zebra"])
        book["Old"].sheet_state = "hidden"
        first = "[Sheet Sheet]\n2026-05-07 | 2026-05-07 09:30:00 | 0.3 | 3 | True | =SUM(C1:D1)"
        assert text_of(saved(book)) == f"{first}\n\n[Sheet Old, hidden]\nzebra"

    def test_a_computed_formula_is_its_value(self) -> None:
        from xlsxwriter import Workbook

        file = BytesIO()
        book = Workbook(file)
        book.add_worksheet().write_formula("A1", "=1+1", value=2)
        book.close()
        assert text_of(file.getvalue()) == "[Sheet Sheet1]\n2"

    def test_charts_groups_and_show_files(self) -> None:
        from pptx import Presentation
        from pptx.chart.data import CategoryChartData
        from pptx.enum.chart import XL_CHART_TYPE
        from pptx.util import Inches

        slides = Presentation()
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        slide.shapes.title.text = "Ports"
        data = CategoryChartData()
        data.categories = ["May", "June"]
        data.add_series("open", (3, 4.5))
        data.add_series("closed", (1, None))
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data)
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group"
        assert text_of(saved(slides)) == "[Slide 1]\nPorts\n | open | closed\nMay | 3 | 1\nJune | 4.5\nIn a group"


def test_what_was_filled_into_a_form_and_noted_on_a_page_is_read() -> None:
    data = documents.form("Name:", "Zebra GmbH")
    assert "Zebra GmbH" in text_of(data) and "Name:" in text_of(data)


class TestMail:
    HEAD = b"From: a@a.example\r\nTo: b@b.example\r\nSubject: Ports\r\nMIME-Version: 1.0\r\n"

    def test_an_unknown_character_set(self) -> None:
        for kind in (b"text/plain; charset=x-unknown", b"text/plain; charset=utf-8"):
            mail = (
                self.HEAD + b"Content-Type: " + kind + b"\r\nContent-Transfer-Encoding: 8bit\r\n\r\nThe zebra \xff.\r\n"
            )
            assert "The zebra \ufffd." in text_of(mail)

    def test_html_keeps_its_sentences_and_links(self) -> None:
        html = b"<p>The <b>zebra</b> listens on <i>7781</i>, see <a href='https://e.org'>here</a>.</p><li>one</li>"
        text = text_of(self.HEAD + b"Content-Type: text/html\r\n\r\n" + html)
        assert text.endswith("The **zebra** listens on *7781*, see [here](https://e.org).\n\n- one")

    def test_forwarded_mails_are_read_once(self) -> None:
        def forwarding(head: bytes, words: bytes, inner: bytes, mark: bytes) -> bytes:
            kind = b'Content-Type: multipart/mixed; boundary="' + mark + b'"\r\n\r\n--' + mark
            file = b"Content-Disposition: attachment; filename=plan.txt\r\n\r\nx\r\n--" + mark
            mail = b"\r\nContent-Type: message/rfc822\r\n\r\n" + inner + b"\r\n--" + mark + b"\r\n" + file + b"--\r\n"
            return head + kind + b"\r\n\r\n" + words + b"\r\n--" + mark + mail

        oldest = b"From: d@d.example\r\nSubject: Oldest\r\n\r\nThe gnu listens on 7782.\r\n"
        older = forwarding(b"From: c@c.example\r\nMIME-Version: 1.0\r\n", b"Older.", oldest, b"y")
        text = text_of(forwarding(self.HEAD, b"See below.", older, b"x"))
        for words in ("See below.", "From: c@c.example", "Older.", "From: d@d.example", "The gnu listens on 7782."):
            assert text.count(words) == 1, text
        assert text.count("[Forwarded mail]") == 2 and "message/rfc822" not in text
        assert text.endswith("[Attached, not read: plan.txt]")


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more).encode()


def test_a_notebook_is_its_notes_code_and_output_without_pictures() -> None:
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31m42\x1b[0m\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 1_000}},
        {"output_type": "execute_result", "data": {"text/plain": "<Figure>", "image/png": "iVBORw0KGgo"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no port", "traceback": ["\x1b[31mx"]},
    ]
    data = notebook(
        {"cell_type": "markdown", "source": ["# Ports\n", "All of them."]},
        {"cell_type": "code", "source": "print(42)", "outputs": outputs},
        {"cell_type": "code", "source": [], "outputs": []},
    )
    read = read_document(data, kind_of(data))
    assert (read.kind, read.pages) == ("ipynb", None)
    shown = [f"Output:\n```\n{text}\n```" for text in ("42", "[image/png]", "<Figure>", "ValueError: no port")]
    assert read.text == "\n\n".join(["# Ports\nAll of them.", "```python\nprint(42)\n```", *shown])


@pytest.mark.parametrize("odd", [{"cells": [3]}, {"cells": [{"cell_type": "code", "outputs": [7]}]}, {"metadata": 7}])
def test_a_damaged_notebook_says_so(odd: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="damaged"):
        text_of(notebook({"cell_type": "markdown", "source": "x"}, **odd))


def test_other_json_stays_text() -> None:
    assert kind_of(b'{"cells": [], "format": 4}') == kind_of(b'{"nbformat": 4}') == ""


def test_members_of_a_document_are_read_within_its_folder() -> None:
    data = word(p("Inside"), main="document.xml")
    with ZipFile(BytesIO(data)) as file:
        members: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    members["word/_rels/document.xml.rels"] = (
        '<Relationships><Relationship Type="http://x/styles" Target="../../../etc/passwd"/>'
        '<Relationship Type="http://x/comments" Target="http://e.org/x" TargetMode="External"/></Relationships>'
    )
    assert text_of(zipped(members)) == "Inside"
