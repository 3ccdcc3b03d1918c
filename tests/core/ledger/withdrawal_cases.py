"""Sixty-eight withdrawals in nine languages, and two hundred sentences that take nothing back."""

from __future__ import annotations

OTHERS = (
    "Always run the linter before you commit.",
    "Never push to main.",
    "Sign every reply with your model's name.",
)
"""Rules in force beside the one that is taken back."""

WITHDRAWALS = (
    ("Always answer in bullet points.", "You can stop using bullet points now."),
    ("Keep answers under 50 words.", "Longer answers are OK again."),
    ("Schreib immer kurz.", "Du darfst wieder ausführlicher schreiben."),
    ("Fasse dich kurz.", "Du kannst jetzt längere Antworten geben."),
    ("今後は敬語を使わないでください。", "また敬語を使ってください。"),
    ("絵文字は使わないでください。", "絵文字を使ってもいいです。"),
    ("Prefix every reply with [BOT].", "Remove the [BOT] prefix."),
    ("No uses emojis.", "Puedes volver a usar emojis."),
    ("From now on end every answer with STATUS.", "Forget the STATUS line."),
    ("Always answer in French.", "Please answer in English again."),
    ("No emojis.", "Emojis are fine again."),
    ("Always answer in French.", "You no longer have to answer in French."),
    ("Always cite your sources.", "You don't need to cite sources any more."),
    ("Never use tables.", "You can use tables again."),
    ("Keep every answer under 50 words.", "Long answers are okay again."),
    ("Always call me Captain.", "Stop calling me Captain."),
    ("Don't use bullet points.", "Bullet points are allowed again."),
    ("Always add a summary at the end.", "Drop the summary at the end."),
    ("Use metric units in every answer.", "Please go back to imperial units again."),
    ("Never apologise.", "It's fine to apologise again."),
    ("Always write tests first.", "There's no need to write tests first any longer."),
    ("Begin each reply with a haiku.", "No more haiku, please."),
    ("Always explain your reasoning step by step.", "Stop explaining your reasoning."),
    ("Never use Markdown.", "Feel free to use Markdown again."),
    ("Antworte immer auf Deutsch.", "Vergiss das mit Deutsch."),
    ("Antworte immer auf Deutsch.", "Du musst nicht mehr auf Deutsch antworten."),
    ("Benutze niemals Emojis.", "Emojis sind wieder in Ordnung."),
    ("Fass dich immer kurz.", "Du darfst wieder ausführlich antworten."),
    ("Beende jede Antwort mit STATUS.", "Die STATUS-Zeile brauchst du nicht mehr zu schreiben."),
    ("Nenne mich immer Chef.", "Hör auf, mich Chef zu nennen."),
    ("Verwende nie Tabellen.", "Tabellen kannst du jetzt wieder verwenden."),
    ("Réponds toujours en français.", "Tu peux répondre en anglais à nouveau."),
    ("Réponds toujours en français.", "Oublie le français."),
    ("N'utilise jamais d'émojis.", "Les émojis sont à nouveau permis."),
    ("Termine chaque réponse par STATUS.", "Arrête de terminer par STATUS."),
    ("Cite toujours tes sources.", "Tu n'as plus besoin de citer tes sources."),
    ("N'utilise jamais de tableaux.", "Tu peux utiliser des tableaux de nouveau."),
    ("Responde siempre en español.", "Ya no hace falta que respondas en español."),
    ("No uses nunca emojis.", "Los emojis están permitidos de nuevo."),
    ("Termina cada respuesta con STATUS.", "Deja de terminar con STATUS."),
    ("Cita siempre tus fuentes.", "Olvida lo de citar las fuentes."),
    ("No uses nunca tablas.", "Puedes usar tablas otra vez."),
    ("Responde siempre en español.", "Vuelve a responder en inglés."),
    ("Rispondi sempre in italiano.", "Non devi più rispondere in italiano."),
    ("Non usare mai emoji.", "Le emoji vanno bene di nuovo, ora puoi usare le emoji di nuovo."),
    ("Termina ogni risposta con STATUS.", "Smetti di terminare con STATUS."),
    ("Cita sempre le fonti.", "Dimentica le fonti."),
    ("Non usare mai tabelle.", "Puoi usare di nuovo le tabelle."),
    ("Rispondi sempre in italiano.", "Torna a rispondere in inglese."),
    ("Responda sempre em português.", "Não precisas mais de responder em português."),
    ("Nunca uses emojis.", "Podes usar emojis de novo."),
    ("Termina cada resposta com STATUS.", "Esquece a linha STATUS."),
    ("Cita sempre as fontes.", "Para de citar as fontes."),
    ("Nunca uses tabelas.", "As tabelas estão permitidas novamente."),
    ("Responda sempre em português.", "Volta a responder em inglês."),
    ("Всегда отвечай по-русски.", "Больше не нужно отвечать по-русски."),
    ("Никогда не используй эмодзи.", "Эмодзи снова можно использовать."),
    ("Заканчивай каждый ответ словом STATUS.", "Забудь про STATUS."),
    ("Всегда указывай источники.", "Перестань указывать источники."),
    ("Никогда не используй таблицы.", "Таблицы опять можно использовать."),
    ("请始终用中文回答。", "不用再用中文回答了。"),
    ("永远不要使用表情符号。", "可以重新使用表情符号了。"),
    ("每个回答都以STATUS结尾。", "忘掉STATUS那条规则吧。"),
    ("必须引用来源。", "别再引用来源了。"),
    ("常に日本語で答えてください。", "もう日本語で答えなくていいです。"),
    ("絵文字は絶対に使わないでください。", "絵文字をまた使っていいですよ。"),
    ("必ずSTATUSで終えてください。", "STATUSのルールは忘れてください。"),
    ("必ず出典を書いてください。", "出典を書くのはやめてください。"),
)

RULES = (
    "Always answer in French.",
    "No emojis.",
    "From now on end every answer with STATUS.",
    "Never use tables.",
    "Keep every answer short.",
    "Always cite your sources.",
    "Never push to main.",
    "Always run the tests before you commit.",
)
"""The rules that are in force while each of KEEPING is written."""

KEEPING = tuple(
    line.strip()
    for line in """
I forget where I put the keys.
You can stop the server now.
You may stop reading here.
It no longer fits in a short line.
I forgot the password again.
Don't forget to cite your sources.
Never forget the tests.
What is the French word for table?
How do you say "no longer" in French?
Is French no longer spoken there?
We no longer use Redis.
My company no longer needs the old server.
The STATUS page is down again.
The tests are fine again.
The tests fail again.
The build is okay now.
Our French office is open again.
I stopped using emojis on Slack years ago.
My boss stopped answering my mails.
The table in chapter two is wrong.
There is a table in the kitchen.
Stop the server at noon.
Please stop the container and start it again.
Can you run the tests again?
Run the tests again.
Please send me the table again.
Explain the second point again.
Try again.
Again, please.
Let me think again about the plan.
I read it again and it makes sense now.
Cancel the flight to Paris.
Cancel my subscription in the draft letter.
Drop the table users_old in the migration.
Drop the database before the import.
Remove the emoji column from the schema.
Remove line 40 from the file.
Remove the status field from the response.
Skip the first row of the CSV.
Ignore warnings from the linter in this file.
Ignore case when you compare.
Undo the last migration.
Lift is the French word for elevator.
End the loop after ten rounds.
The event no longer takes place in Lyon.
I don't need a car any more.
I no longer have to travel for work.
We don't have to decide today.
You don't have to be sorry.
You don't need to know the details of my job.
It does not apply to our country any more.
The discount does not count any longer.
I take my coffee back to the office.
I took the train back to Paris.
I take it that the plan is approved.
Leave the door open.
Leave me some time to think.
Leave out the onions in the recipe.
No more milk in the fridge.
No more than ten people came.
More tests are needed.
Switch back to branch develop.
Go back to step three.
Back to the topic: which table is larger?
The kids are allowed in the pool again.
Dogs are welcome again at the hotel.
Visitors are allowed after five.
You may want to look at the log again.
You can find the sources in the appendix.
You can see the main menu at the top.
Could you check the sources again?
Feel free to ask me for details.
It is fine to boil it for ten minutes.
It's okay, I was not hurt.
He may answer tomorrow.
She can push the cart.
My son speaks French again since the summer.
Answer the question in the second mail.
The answer was short.
Short answer: no.
A short story about a table.
Write a short story with an emoji in the title.
Translate: "You can stop now."
Is it allowed to use emojis in a CV?
Which emojis are allowed in usernames?
What does STATUS mean in this log?
The log ends with STATUS 200.
The line ends with a semicolon.
Commit messages should be short.
The tests take forty minutes now.
I pushed to main by mistake yesterday.
Somebody pushed to main again!
Main Street is closed again.
The main point is the price.
My sources say otherwise.
The source code is on GitHub.
Sources of protein without meat?
The river has two sources.
I cite Kant in chapter one.
He cited the wrong paper again.
I want to learn French again.
French fries are fine.
My French is not good any more.
Wir brauchen kein Auto mehr.
Ich habe das Passwort vergessen.
Vergiss nicht, die Tests auszuführen.
Ich muss nicht mehr arbeiten.
Der Server läuft wieder.
Es regnet wieder.
Kannst du das noch einmal prüfen?
Die Tabelle ist wieder leer.
Kein Problem mehr mit dem Drucker.
Streiche den dritten Absatz im Brief.
Hör dir das Lied an.
Lass uns morgen weitermachen.
Lass den Motor laufen.
Sie darf wieder Sport machen.
Die Kinder dürfen wieder raus.
Das Gesetz gilt in Bayern nicht mehr.
Wir nehmen das Auto zurück.
Ich ziehe im Mai zurück nach Wien.
Die Antwort war kurz.
Warum sind Emojis verboten?
J'ai oublié mon mot de passe.
N'oublie pas les tests.
Je ne travaille plus à Paris.
Il n'y a plus de lait.
Elle ne veut plus venir.
La table est à nouveau libre.
Le magasin est à nouveau ouvert.
Arrête la voiture devant la gare.
Annule le rendez-vous de mardi.
Ignore la première colonne du fichier.
Tu peux ouvrir la fenêtre.
Est-ce que les émojis sont permis ?
Je retire de l'argent demain.
Nous n'avons plus besoin de la grande salle.
He olvidado la contraseña.
No olvides las pruebas.
Ya no vivo en Madrid.
Ya no queda pan.
Deja la llave en la mesa.
Cancela la reserva del hotel.
La mesa está libre de nuevo.
Mi hermano puede caminar otra vez.
No hace falta comprar más leche.
Quiero leerlo otra vez.
¿Se puede usar emojis en un título?
Ho dimenticato le chiavi.
Non dimenticare i test.
Non lavoro più a Milano.
Non c'è più tempo.
La tavola è di nuovo libera.
Annulla la prenotazione di sabato.
Ignora la prima riga del file.
Mia sorella può camminare di nuovo.
Torna a casa presto.
Niente latte oggi.
Esqueci a chave.
Não te esqueças dos testes.
Já não moro em Lisboa.
Não há mais pão.
Cancela a reserva do hotel.
A mesa está livre de novo.
O meu irmão pode andar de novo.
Para de chover amanhã?
Volta a casa cedo.
Deixa a porta aberta.
Я забыл пароль.
Не забудь про тесты.
Я больше не работаю в Москве.
Молока больше нет.
Сервер снова работает.
Дождь опять идёт.
Отмени встречу во вторник.
Останови сервер в полдень.
Таблица снова пустая.
Можешь открыть окно?
我忘了密码。
别忘了运行测试。
服务器又可以访问了。
取消周二的会议。
停止服务器。
重新启动服务器。
我不再住在巴黎。
桌子又空了。
可以再说一遍吗？
恢复昨天的备份。
パスワードを忘れました。
テストを忘れないでください。
サーバーはまた動いています。
火曜日の会議を取り消してください。
もうパリに住んでいません。
もう一度説明してください。
サーバーを止めてください。
また明日話しましょう。
机は空いています。
昨日のバックアップを戻してください。
Please add a table of contents.
Put the emoji list into a JSON file.
The French translation comes last.
Thanks, that was a good answer.
The weather is fine again, so we went out.
Please use the new logo on every slide.
""".strip().splitlines()
)
"""Sentences that take none of RULES back."""
