from __future__ import annotations

import pytest

from compression.core.text.language import differs, language

TEXTS = {
    "English": "The service listens on the port that was agreed, and it is not to be restarted on Fridays because the "
    "traffic would be lost. We have moved the copy to the second node and they were told of it. ",
    "German": "Der Dienst ist auf dem zweiten Knoten und wird nicht am Freitag neu gestartet, aber wir haben die Kopie "
    "mit dem Team für den Umzug geprüft. Ich finde, das ist eine gute Lösung und die Zahlen sind auch richtig. ",
    "French": "Le service est sur le deuxième nœud et nous ne le redémarrons pas le vendredi, mais les copies sont "
    "dans le dossier que vous avez vu. Il est prêt pour la suite et je suis avec vous sur ce point. ",
    "Spanish": "El servicio está en el segundo nodo y no se reinicia los viernes, pero la copia es para las pruebas "
    "que se hacen con los datos del equipo. Es más seguro como está y por eso no lo cambio. ",
    "CYRILLIC": "Сервис слушает порт 5433, и его нельзя перезапускать по пятницам. ",
    "CJK": "服务在第二个节点上运行,星期五不要重启。我们已经把备份复制到新的机器,"
    "团队也知道了这件事。端口是五四三三。请记住这一点。",
    "ARABIC": "الخدمة تعمل على العقدة الثانية ولا يجب إعادة تشغيلها يوم الجمعة لأن الحركة كبيرة جدا. ",
}


@pytest.mark.parametrize("name", TEXTS)
def test_languages_are_told_apart(name: str) -> None:
    assert language(TEXTS[name]) == name
    assert language(f"## Summary\n{TEXTS[name]}\n\n## Decisions\n-\n\n## State\n- Done: {TEXTS[name]}") == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "5433 " * 100,
        "def f(x):\n    return x + 1\n" * 30,
        "lorem ipsum dolor sit amet consectetur " * 10,
        "🎉" * 90,
    ],
)
def test_where_it_is_unclear_nothing_is_said(text: str) -> None:
    assert language(text) is None
    assert differs(TEXTS["English"], text) is None


def test_a_summary_that_flipped_is_told_from_one_that_did_not() -> None:
    assert differs(TEXTS["English"], TEXTS["CYRILLIC"]) == "English"
    assert differs(TEXTS["English"], TEXTS["German"]) == "English"
    assert differs(TEXTS["German"], TEXTS["German"] * 3) is None
    assert differs(TEXTS["CJK"], TEXTS["English"]) == "CJK"


def test_code_with_english_around_it_may_be_summarised_in_english() -> None:
    code = "kubectl drain node-3 --ignore-daemonsets\nERROR pod alpha-7 evicted\nfor key in table: print(key)\n" * 40
    assert differs(TEXTS["English"], code) is None
