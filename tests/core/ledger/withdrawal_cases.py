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

MORE_WITHDRAWALS = tuple(
    tuple(line.strip().split(" | "))
    for line in """
Explain things like I'm five. | Ok, you can explain things normally again.
Please keep your answers brief from now on. | Feel free to go into detail again.
Always use British spelling. | American spelling is fine again.
From now on, talk like a pirate. | OK you can stop the pirate talk now.
Talk like a pirate from now on. | Enough with the pirate stuff.
Only give me code, no explanations. | Explanations are welcome again.
Never use the word "delve". | You can say delve again.
Call me Dr. Smith. | No need to call me Dr. Smith anymore.
Reply in lowercase only. | You can use capital letters again.
Always write in uppercase. | Stop shouting.
Always use type hints. | Type hints are not necessary anymore.
Never write comments in code. | Comments are okay now.
Use bullet points for everything. | Enough bullet points, write prose.
Answer in one sentence. | You can answer at length again.
Limit replies to 100 words. | The 100 word limit no longer applies.
Limit replies to 100 words. | Use as many words as you like.
Cite a source for every claim. | Never mind the sources.
Use Python 3.9 syntax only. | You can use newer Python syntax now.
Please don't use emojis anymore. | Emojis are back on the menu.
Be more formal. | You can be casual again.
Please respond in Dutch from here on. | English again, please.
Use 24-hour time. | 12-hour time is fine again.
Every time you change a file, show me a diff. | You don't have to show me diffs anymore.
Always write docstrings in Google style. | Scratch that about Google style docstrings.
Answer every question with a rhyme. | No more rhyming please.
Answer in rhymes from now on. | You can stop with the rhymes.
Skip the pleasantries. | Pleasantries are fine again.
Use the metric system. | Imperial units from now on.
Keep all variable names in snake_case. | You can use camelCase again.
Number every step. | You don't need to number the steps any more.
Make every heading bold. | No bold headings anymore.
Benutze keine Emojis. | Emojis gehen wieder.
Benutze keine Emojis. | Emojis sind jetzt okay.
Antworte immer in Stichpunkten. | Schluss mit den Stichpunkten.
Antworte immer in Stichpunkten. | Genug mit den Stichpunkten.
Schreib immer in Kleinbuchstaben. | Großschreibung ist wieder in Ordnung.
Sprich wie ein Pirat, ab jetzt immer. | Das mit dem Piraten kannst du jetzt lassen.
Duze mich immer. | Bitte sieze mich wieder.
Nenn mir immer die Quellen. | Die Quellen sind nicht mehr nötig.
Antworte immer auf Englisch. | Ab jetzt wieder Deutsch.
Antworte immer auf Englisch. | Deutsch ist wieder okay.
Keine Aufzählungen. | Aufzählungen sind wieder erlaubt.
Stell nie Rückfragen. | Du darfst wieder Rückfragen stellen.
Frag immer nach, bevor du Dateien löschst. | Du musst nicht mehr nachfragen.
Réponds toujours de façon concise. | Tu peux de nouveau détailler.
N'utilise jamais de listes. | Les listes sont de nouveau autorisées.
N'utilise jamais de listes. | Tu peux à nouveau faire des listes.
Cite toujours tes sources. | Inutile de citer les sources désormais.
Cite toujours tes sources. | Plus besoin des sources.
Tutoie-moi toujours. | Tu peux me vouvoyer à nouveau.
Termine toujours par une question. | Ne termine plus par une question.
Réponds toujours en anglais. | Repasse en français.
Réponds toujours en anglais. | Le français à nouveau, s'il te plaît.
Responde siempre en inglés. | Puedes volver a responder en español.
Nunca uses listas. | Las listas vuelven a estar permitidas.
Nunca uses listas. | Ya puedes usar listas.
Siempre incluye un resumen. | Ya no incluyas el resumen.
Siempre incluye un resumen. | Basta de resúmenes.
Siempre trátame de usted. | Puedes tutearme de nuevo.
Sé siempre breve. | Puedes extenderte otra vez.
Rispondi sempre in inglese. | Torna all'italiano.
Non usare mai elenchi. | Gli elenchi vanno di nuovo bene.
Aggiungi sempre un riassunto. | Basta con i riassunti.
Aggiungi sempre un riassunto. | Il riassunto non serve più.
Responda sempre em inglês. | Volte ao português.
Nunca use listas. | Pode usar listas de novo.
Inclua sempre um resumo. | Chega de resumos.
Inclua sempre um resumo. | O resumo já não é necessário.
Всегда отвечай на английском. | Отвечай снова на русском.
Никогда не используй эмодзи. | Эмодзи снова можно.
Всегда добавляй резюме. | Больше не добавляй резюме.
Всегда добавляй резюме. | Резюме больше не нужно.
以后都用英文回答。 | 可以用中文回答了。
以后都用英文回答。 | 还是用中文吧。
不要使用表情符号。 | 可以使用表情符号了。
每次都要加总结。 | 不用再加总结了。
每次都要加总结。 | 总结不需要了。
今後は英語で答えてください。 | また日本語で答えてください。
今後は英語で答えてください。 | 日本語に戻してください。
絵文字は使わないでください。 | 絵文字はもう使って大丈夫です。
必ず要約を付けてください。 | もう要約は付けなくていいです。
""".strip().splitlines()
)
"""(a rule, the sentence that takes it back): other words for the same, and subjects whose rules exclude each other."""

MORE_RULES = tuple(
    """
No emojis.
Always answer in French.
Answer in one sentence.
Keep your answers short.
Never use tables.
Always add a summary at the end.
Use bullet points for everything.
Always write in uppercase.
Use tabs for indentation.
Use metric units.
Use American English.
Be formal.
Use 24-hour time.
Use snake_case for names.
Always cite your sources.
Never push to main.
Always call me Captain.
Always use type hints.
Duze mich immer.
From now on, talk like a pirate.
Use only standard library modules.
Never write comments in code.
Ask before deleting files.
""".strip().splitlines()
)
"""The rules that are in force while each of MORE_KEEPING is written."""

MORE_KEEPING = tuple(
    """
You can skip the meeting on Monday.
You can drop the table users_old now.
You can skip the second test.
You may stop the server now.
Enough of the budget is left for tables.
Enough people like the pirate movie.
The server is back.
The tables are back from the workshop.
My captain is back from holiday.
The emoji picker is back in the new version.
Invite as many people as you like.
Write as many tests as you need.
Take as much time as you want.
The summary is not needed in the appendix.
Comments in the survey are not required now.
Never mind, I found the source.
Never mind the table, look at the chart.
Scratch the surface of the table.
No tables are free anymore.
No sources exist anymore for that claim.
There is no French spoken there anymore.
You can normally find the sources in the appendix.
You can read the summary as usual on page one.
You may wear casual clothes at the office.
The invitation is formal.
The formal definition is given in chapter two.
The function is called in a formal context again.
Convert the names to camelCase.
Rename it to snake_case, please.
The flight leaves at 24 hours notice.
It is a 24-hour pharmacy.
The 12-hour shift is over.
All caps lock keys are broken again.
The lowercase letters are missing in the font.
Convert the string to lowercase.
British English has "colour".
In American English it is "color".
The American English edition is out again.
Our office in Paris is French again.
Translate the summary into Dutch.
My Dutch is bad.
Polish the text again.
Please polish the summary.
Greek letters are fine in formulas.
Tables from now on need a caption, says the journal.
Prices from now on include tax.
Trains from now on stop at platform two.
The team from now on has five people.
Summaries from the team are due today.
Show me the diff again.
Give me the table again.
Send the sources again.
Write the summary again.
Add the type hints in this file only.
Remove the type hints from this function.
Somebody deleted files again!
The pirate ship sinks again.
He talks like a pirate again.
I can write longer sentences now.
She may use tables now.
The kids can use emojis now.
The app can be used again.
You can see the emojis again in the preview.
Can you delete the files now?
Delete the files in build.
You can delete the files in build now.
Push it to main now.
Use the metric from chapter two.
Sind Tabellen hier erlaubt?
Die Tabellen sind jetzt im Anhang.
Die Quellen gehen jetzt an den Verlag.
Genug mit dem Bus gefahren.
Schluss mit der Sitzung um fünf.
Kannst du die Tabelle so lassen?
Du kannst die Tabelle so lassen.
Meine Mutter duzt den Chef.
Inutile de réserver une table.
Assez de tables sont libres.
Basta con una tabla en el anexo.
Ya puedes abrir la tabla.
Torna al tavolo.
Volte ao resumo do capítulo.
表格不需要了的部分删掉。
还是用第二个表格吧。
""".strip().splitlines()
)
"""Sentences with the words of withdrawals that take nothing back."""

PAIRS = [
    tuple(pair.split("|"))
    for pair in """
Bitte nur auf Deutsch.|Du kannst wieder Englisch schreiben.
Ab jetzt alles auf Deutsch.|Ab jetzt alles auf Englisch.
Alle Antworten bitte auf Deutsch.|Antworte wieder auf Englisch.
Emojis sind verboten.|Emojis sind wieder erlaubt.
Ich will keine Emojis sehen.|Emojis sind jetzt okay.
Maximal 100 Wörter pro Antwort.|Du darfst wieder länger schreiben.
Nach jeder Änderung die Tests ausführen.|Du musst die Tests nicht mehr nach jeder Änderung ausführen.
Lösche nichts, ohne zu fragen.|Du darfst jetzt ohne zu fragen löschen.
Warte vor jedem Schritt auf meine Bestätigung.|Du brauchst nicht mehr auf meine Bestätigung zu warten.
Sieze mich bitte.|Du kannst mich wieder duzen.
Nenn mich Käpt'n.|Nenn mich nicht mehr Käpt'n.
Sprich ab jetzt wie ein Pirat mit mir.|Hör auf, wie ein Pirat zu sprechen.
Stell mir keine Rückfragen.|Du darfst wieder Rückfragen stellen.
Nenne für jede Behauptung eine Quelle.|Quellen sind nicht mehr nötig.
Verwende metrische Einheiten.|Verwende wieder imperiale Einheiten.
Keine Schmeicheleien.|Vergiss das mit den Schmeicheleien.
Uniquement en français, s'il te plaît.|Tu peux répondre en anglais de nouveau.
Les émojis sont interdits.|Les émojis sont de nouveau permis.
100 mots maximum par réponse.|Tu peux écrire plus longuement.
Après chaque modification, lance les tests.|Tu n'as plus besoin de lancer les tests après chaque modification.
Ne supprime rien sans me demander.|Tu peux supprimer sans me demander maintenant.
Attends ma confirmation avant chaque étape.|Plus besoin d'attendre ma confirmation.
Appelle-moi Capitaine.|Ne m'appelle plus Capitaine.
Vouvoie-moi.|Tu peux me tutoyer.
Parle-moi comme un pirate à partir de maintenant.|Arrête de parler comme un pirate.
Ne me pose pas de questions.|Tu peux de nouveau me poser des questions.
Solo en español, por favor.|Puedes volver a responder en inglés.
Los emojis están prohibidos.|Los emojis están permitidos otra vez.
Máximo 100 palabras por respuesta.|Puedes extenderte de nuevo.
Después de cada cambio, ejecuta las pruebas.|Ya no hace falta que ejecutes las pruebas después de cada cambio.
No borres nada sin preguntar.|Ya puedes borrar sin preguntar.
Espera mi confirmación antes de cada paso.|Ya no esperes mi confirmación.
Llámame Capitán.|No me llames más Capitán.
Trátame de usted.|Puedes tutearme.
Háblame como un pirata a partir de ahora.|Deja de hablar como un pirata.
Solo in italiano, per favore.|Puoi rispondere di nuovo in inglese.
Le emoji sono vietate.|Le emoji sono di nuovo permesse.
Massimo 100 parole per risposta.|Puoi scrivere risposte più lunghe.
Aspetta la mia conferma prima di ogni passo.|Non devi più aspettare la mia conferma.
Chiamami Capitano.|Non chiamarmi più Capitano.
Dammi del lei.|Puoi darmi del tu.
Somente em português, por favor.|Pode responder em inglês de novo.
Emojis são proibidos.|Emojis são permitidos de novo.
Espere a minha confirmação antes de cada passo.|Não precisa mais esperar a minha confirmação.
Me chame de Capitão.|Não me chame mais de Capitão.
Только по-русски, пожалуйста.|Можешь снова отвечать по-английски.
Эмодзи запрещены.|Эмодзи снова разрешены.
Максимум 100 слов на ответ.|Можешь снова писать длиннее.
После каждого изменения запускай тесты.|Больше не нужно запускать тесты после каждого изменения.
Жди моего подтверждения перед каждым шагом.|Больше не жди моего подтверждения.
Зови меня Макс.|Не называй меня больше Макс.
Обращайся ко мне на вы.|Давай на ты.
请只用中文。|可以重新用英文回答了。
你的回答不能包含表情符号。|可以再用表情符号了。
每个回答最多100字。|可以写长一点了。
每次修改后都要运行测试。|不用再每次修改后运行测试了。
每一步之前等我确认。|不用再等我确认了。
叫我队长。|别再叫我队长了。
日本語だけでお願いします。|また英語で答えてもいいです。
絵文字は禁止です。|絵文字を使ってもいいです。
回答は100字以内で。|もっと長く書いてもいいです。
変更するたびにテストを実行してください。|もうテストを実行しなくていいです。
私のことは船長と呼んで。|もう船長と呼ばないで。
敬語で話してください。|タメ口でいいよ。
""".strip().splitlines()
]
"""A rule, and the sentence that ends or replaces it, in eight languages."""
