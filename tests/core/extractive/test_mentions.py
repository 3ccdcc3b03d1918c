from compression.core.extractive.mentions import with_mentions
from compression.core.extractive.notes import MENTIONED, phrase_of
from compression.core.extractive.segmentation import UnitKind
from compression.core.extractive.summariser import extract
from compression.core.extractive.summary_notes import notes_of_summary
from compression.core.text.patterns import CHUNK, kind_of
from compression.core.text.terms import terms_of
from compression.core.tokens import count_tokens
from compression.core.values import Turn
from tests.core.conversations import turn

LISTING = "\n".join(
    f"{number}:    {name}: Field = make_field(registry, '{name}')  # see src/fields/{name}.py, bug {1000 + number}"
    for number, name in enumerate(f"{first}_{second}" for first in "abcdef" for second in ("size", "name", "kind"))
)
BAR = "\n".join(f"100 {9170 + n} 100 {8350 + n} 0 0 {6190 + n} 0 --:--:-- {7440 + n} {5230 + n}" for n in range(40))


def run_of(*outputs: str) -> list[Turn]:
    return [
        message
        for number, output in enumerate(outputs)
        for message in (
            turn(f"Next.\n```\nopen file{number}.py\n```", role="assistant", number=2 * number),
            turn(output, number=2 * number + 1, role="tool"),
        )
    ]


def summary_of(turns: list[Turn], max_tokens: int, earlier: str = "") -> str:
    return extract(turns, earlier=earlier, max_tokens=max_tokens, count=count_tokens)


def test_paths_and_names_outlive_the_lines_that_do_not_fit() -> None:
    lines = LISTING.splitlines()
    summary = summary_of(run_of(LISTING), 330)
    assert sum(line.split("# see ")[1].split(",")[0] in summary for line in lines) >= 0.9 * len(lines)
    assert not all(line.split("Field = ")[1] in summary for line in lines)


def test_a_number_is_mentioned_with_the_words_beside_it() -> None:
    [line] = notes_of_summary("## Context\nopened at line 836, in the middle", count_tokens)
    mentions = [note.phrase.text for note in with_mentions([line], count_tokens)[1:]]
    assert mentions == ["line 836"]


def test_what_was_mentioned_once_can_be_chosen_again_value_by_value() -> None:
    first = summary_of(run_of(LISTING), 330)
    [mentioned] = [line for line in first.splitlines() if line.startswith(MENTIONED)]
    values = mentioned.removeprefix(MENTIONED).split(", ")
    assert len(values) > 5
    folded = [
        note.phrase.text for note in notes_of_summary(first, count_tokens) if note.phrase.kind is UnitKind.MENTION
    ]
    assert folded == values
    again = summary_of(run_of("1:    pool = Pool()"), 400, earlier=first)
    assert all(value in again for value in values)
    assert f"{MENTIONED}{MENTIONED}" not in again


def test_a_line_and_a_mention_do_not_tell_the_same() -> None:
    summary = summary_of(run_of(LISTING), 450)
    told = "\n".join(line for line in summary.splitlines() if not line.startswith(MENTIONED))
    mentioned = ", ".join(line for line in summary.splitlines() if line.startswith(MENTIONED))
    names = [line.split("# see ")[1].split(",")[0] for line in LISTING.splitlines()]
    assert any(name in mentioned for name in names)
    assert not [name for name in names if name in told and f"{name}," in f"{mentioned},"]


def test_a_chat_has_no_mentions() -> None:
    chat = [
        turn(f"We met Person{n} at https://example.org/{n} in Town{n} about subject_{n}.", number=n) for n in range(99)
    ]
    assert MENTIONED not in summary_of(chat, 300)


def test_progress_bars_give_way_to_what_was_found() -> None:
    found = [f"copied the backup of customer {name} to /srv/backups/{name}" for name in ("anna", "boris", "clara")]
    summary = summary_of(run_of(f"{BAR}\n{found[0]}\n{BAR}", f"{found[1]}\n{BAR}\n{found[2]}"), 200)
    assert all(line in summary for line in found)


def test_a_command_that_ran_is_told_even_where_its_words_are_plain() -> None:
    turns = run_of(LISTING, "make check is what to run")
    turns.append(turn("```\nmake check\n```", role="assistant", number=9))
    turns.append(turn(LISTING.replace("Field", "Part"), role="tool", number=10))
    assert "$ make check" in summary_of(turns, 200)


def test_a_closing_tag_is_no_path_and_a_search_path_is_several() -> None:
    assert not [chunk for chunk in CHUNK.findall("</body></html>") if kind_of(chunk)]
    assert [term.text for term in terms_of("PATH=/usr/local/bin:/opt/tools/bin")][-2:] == [
        "/usr/local/bin",
        "/opt/tools/bin",
    ]
    assert kind_of("a/b.py\\n\\n") == ("path", "a/b.py")


def test_an_address_is_one_term() -> None:
    assert ("http://host.example:8000/list.pl", "path") in terms_of("open http://host.example:8000/list.pl now")


def test_phrases_of_mentions_cost_what_their_text_does() -> None:
    assert phrase_of(UnitKind.MENTION, "src/fields.py", count_tokens).tokens == count_tokens(" src/fields.py") + 1
