"""Decisions, the state of the work, and the persons of a sentence, in several languages."""

from __future__ import annotations

import pytest

from compression.core.extractive.section_cues import reports_change, section_of
from compression.core.extractive.segmentation import UnitKind, pieces_of
from compression.core.sections import CONTEXT, DECISIONS, STATE

CASES = {
    (DECISIONS, ""): """
        We decided against Redis because of its upkeep.
        Wir haben uns für PostgreSQL entschieden, weil es schon läuft.
        Wir nehmen lieber PostgreSQL als MySQL.
        Nous avons décidé de ne pas utiliser Redis.
        On utilise plutôt la base de données pour le cache.
        Hemos decidido no usar Redis por ahora.
        Vamos a usar PostgreSQL en lugar de MySQL.
        Abbiamo deciso di non usare Redis.
        Abbiamo scelto PostgreSQL per la cache.
        Decidimos não usar Redis neste projeto.
        Vamos usar PostgreSQL em vez de MySQL.
        Мы решили не использовать Redis в этом проекте.
        Мы выбрали PostgreSQL вместо MySQL.
        我们决定不用Redis，改用数据库缓存。
        Redisは使わないことに決めました。
    """,
    (STATE, "Pending"): """
        The backup script still needs to be written.
        Noch offen: Lasttest und Backup.
        Das Backup-Skript muss noch geschrieben werden.
        Es fehlen noch die Tests für den Import.
        Il reste à écrire le script de sauvegarde.
        Le script n'est pas encore terminé.
        Queda por escribir el script de copia.
        Todavía no hemos probado la importación.
        Resta da scrivere lo script di backup.
        Dobbiamo ancora provare l'importazione.
        Ainda falta escrever o script de backup.
        Осталось написать скрипт резервного копирования.
        Ещё нужно проверить импорт.
        还需要完成压力测试和备份脚本。
        残りは負荷テストとバックアップです。
    """,
    (STATE, "Blocked"): """
        We are blocked by the missing key.
        Wir warten noch auf den Zugang zum Server.
        Nous attendons la réponse du client, en attente de validation.
        Estamos esperando la respuesta del cliente.
        Siamo in attesa della risposta del cliente.
        Estamos aguardando a resposta do cliente.
        Мы ждём ответа от клиента.
        卡在数据库权限上，等待运维批准。
        サーバーの承認待ちです。
    """,
    (STATE, "Next"): """
        The next step is the import.
        Als Nächstes kommt der Import.
        La prochaine étape est l'importation.
        El próximo paso es la importación.
        Il prossimo passo è l'importazione.
        O próximo passo é a importação.
        Следующий шаг: импорт.
        下一步是导入数据。
        次のステップはインポートです。
    """,
    (STATE, "Done"): """
        The import is finished and deployed.
        Der Import ist fertig und ausgerollt.
        L'import est terminé depuis ce matin.
        La importación está terminada.
        L'importazione è completata.
        A importação está pronta.
        Импорт готово, тесты проходят.
        导入已完成，测试通过。
        インポートを実装しました。
    """,
    (CONTEXT, ""): """
        The weather in Rome was lovely.
        Ich habe heute drei Äpfel gegessen und einen Film gesehen.
        Der Laden ist bis acht Uhr auf.
        J'ai mangé trois pommes et regardé un film.
        Hoy he comido tres manzanas con mi hermana.
        Oggi ho mangiato tre mele con mia sorella.
        Hoje comi três maçãs com a minha irmã.
        Сегодня я съел три яблока и посмотрел фильм.
        今天我吃了三个苹果，然后看了电影。
        今日はりんごを三つ食べて映画を見ました。
        Haben wir uns für PostgreSQL entschieden?
    """,
}


@pytest.mark.parametrize(
    ("section", "statement"),
    [(section, line.strip()) for section, lines in CASES.items() for line in lines.strip().splitlines()],
)
def test_a_statement_is_in_its_section(section: tuple[str, str], statement: str) -> None:
    assert section_of(statement) == section


@pytest.mark.parametrize(
    "statement",
    [
        "I renamed it in src/app.py.",
        "Ich habe src/app.py angepasst und die Prüfung ergänzt.",
        "J'ai modifié src/app.py.",
        "He modificado src/app.py; añadí la comprobación.",
        "Ho aggiornato src/app.py.",
        "Alterei src/app.py.",
        "Я исправил src/app.py.",
        "我在src/app.py里加了校验。",
        "已修改src/app.py。",
        "src/app.pyを修正しました。",
    ],
)
def test_a_change_of_a_file_is_seen(statement: str) -> None:
    assert reports_change(statement)
    assert not reports_change("Was steht in src/app.py? Qu'y a-t-il? ¿Qué hay? 里面有什么？何がありますか。")


KINDS = {
    UnitKind.FIRST_PERSON: """
        I live in Bonn.
        Ich wohne in Bonn.
        Je vis à Lyon depuis dix ans.
        Mi hermana vive en Bonn.
        Ho due gatti.
        Moro em Lisboa com a minha irmã.
        Мы живём в Москве.
        另外我叫李雷，是后端负责人。
        私は田中です。
    """,
    UnitKind.ADDRESS: """
        You are right about the plan for the garden in summer.
        Du hast recht mit dem Plan für den Garten im Sommer.
        Vous avez raison pour le projet de jardin de cet été.
        Tú tienes razón con el plan del jardín para el verano.
        Вы правы насчёт плана сада на всё это лето.
        你应该先检查日志文件里的错误信息再重启。
    """,
    UnitKind.STATEMENT: """
        The server is in Rome and is backed up every week.
        服务器在上海机房，由运维团队维护，每周备份一次。
        サーバーは東京にあり、毎週バックアップされています。
    """,
    UnitKind.PHATIC: """
        Sounds good.
        alles klar, danke.
        好的。
        明白了，谢谢！
        了解しました。
    """,
}


@pytest.mark.parametrize(
    ("kind", "sentence"), [(kind, line.strip()) for kind, lines in KINDS.items() for line in lines.strip().splitlines()]
)
def test_a_sentence_has_its_kind(kind: UnitKind, sentence: str) -> None:
    assert [piece.kind for piece in pieces_of(sentence)] == [kind]
