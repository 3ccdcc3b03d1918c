"""Orders that stand for good in eight languages, and sentences for a single task, as people type them."""

from __future__ import annotations

STANDING_IN = {
    "german": """
Stell mir keine Rückfragen.
Nenne für jede Behauptung eine Quelle.
Beantworte jede Frage mit einem Reim.
Schwärze alle Telefonnummern in deinen Antworten.
Schreib alle Variablennamen in snake_case.
Spekuliere nicht.
Sei nicht sarkastisch.
Entschuldige dich nie.
Benutze das Wort "nachhaltig" nicht.
Nenn mich Käpt'n.
Ich will, dass du immer in Reimen antwortest.
Ich möchte alle Antworten auf Französisch.
Alle Antworten bitte auf Deutsch.
Bitte nur auf Deutsch.
Ab jetzt alles auf Deutsch.
Ab jetzt nur noch Code.
Gib jede Antwort als Tabelle aus.
Jede Antwort muss mit einer Frage enden.
Deine Antworten sollen kurz sein.
Deine Antworten dürfen keine Emojis enthalten.
Ich will keine Emojis sehen.
Ich möchte keine Emojis in deinen Antworten.
Emojis sind verboten.
Bitte keine Emojis mehr.
Lass die Emojis weg.
Hör auf mit den Emojis.
Wenn du Code schreibst, füge Typen hinzu.
Nach jeder Änderung die Tests ausführen.
Führe nach jeder Änderung die Tests aus.
Lösche nichts, ohne zu fragen.
Push nichts ohne meine Erlaubnis.
Merk dir: nie auf main pushen.
Regel: Tests vor Code.
Neue Regel: keine Emojis mehr.
Verwende für dieses Projekt Python 3.12.
Bleib bei snake_case.
Sprich ab jetzt wie ein Pirat mit mir.
Nenn mich ab jetzt Max.
Sieze mich bitte.
Bitte duze mich.
Fass dich kurz.
Bitte kurze Antworten.
Antworte in allen Antworten kurz.
Sprich Deutsch mit mir.
Lass uns Deutsch sprechen.
Nutze immer ISO-Daten.
Zeig immer Diffs, nicht ganze Dateien.
Maximal 100 Wörter pro Antwort.
Antworte nur mit Ja oder Nein.
Warte vor jedem Schritt auf meine Bestätigung.
Keine Schmeicheleien.
Spar dir die Einleitung.
Wiederhole meine Frage nicht.
Verwende metrische Einheiten.
Erklär alles so, als wäre ich fünf.
Antworte in einfacher Sprache.
Antworte stichpunktartig.
Gib immer Quellen an.
Kommentiere den Code nicht.
Schreibe Commit-Nachrichten auf Englisch.
""",
    "french": """
Ne me pose pas de questions.
Cite une source pour chaque affirmation.
Réponds à chaque question par une rime.
Masque tous les numéros de téléphone dans tes réponses.
Écris tous les noms de variables en snake_case.
Ne spécule pas.
Ne sois pas sarcastique.
Ne t'excuse jamais.
N'utilise pas le mot "durable".
Appelle-moi Capitaine.
Je veux que tu répondes toujours en rimes.
Je voudrais toutes tes réponses en allemand.
Toutes les réponses en français, s'il te plaît.
Uniquement en français, s'il te plaît.
À partir de maintenant, tout en français.
Désormais, seulement du code.
Donne chaque réponse sous forme de tableau.
Chaque réponse doit se terminer par une question.
Tes réponses doivent être courtes.
Tes réponses ne doivent pas contenir d'émojis.
Je ne veux pas voir d'émojis.
Je ne veux aucun émoji dans tes réponses.
Les émojis sont interdits.
Plus d'émojis, s'il te plaît.
Pas d'émojis.
Évite les émojis.
Arrête avec les émojis.
Quand tu écris du code, ajoute les types.
Après chaque modification, lance les tests.
Lance les tests après chaque modification.
Ne supprime rien sans me demander.
Ne pousse rien sans mon accord.
Souviens-toi : ne jamais pousser sur main.
Règle : les tests avant le code.
Nouvelle règle : plus d'émojis.
Pour ce projet, utilise Python 3.12.
Parle-moi comme un pirate à partir de maintenant.
Appelle-moi Max à partir de maintenant.
Vouvoie-moi.
Tutoie-moi, s'il te plaît.
Sois bref.
Sois concis dans toutes tes réponses.
Parle-moi en français.
Parlons français.
Réponds en français.
Utilise toujours les dates ISO.
Montre toujours des diffs, pas des fichiers entiers.
100 mots maximum par réponse.
Réponds uniquement par oui ou non.
Attends ma confirmation avant chaque étape.
Pas de flatterie.
Pas d'introduction.
Ne répète pas ma question.
Utilise le système métrique.
Explique tout comme si j'avais cinq ans.
Réponds dans un langage simple.
Indique toujours tes sources.
Ne commente pas le code.
Écris les messages de commit en anglais.
""",
    "spanish": """
No me hagas preguntas.
Cita una fuente para cada afirmación.
Responde a cada pregunta con una rima.
Oculta todos los números de teléfono en tus respuestas.
Escribe todos los nombres de variables en snake_case.
No especules.
No seas sarcástico.
Nunca te disculpes.
No uses la palabra "sostenible".
Llámame Capitán.
Quiero que respondas siempre en rimas.
Quiero todas tus respuestas en francés.
Todas las respuestas en español, por favor.
Solo en español, por favor.
A partir de ahora, todo en español.
De ahora en adelante, solo código.
Da cada respuesta en forma de tabla.
Cada respuesta debe terminar con una pregunta.
Tus respuestas deben ser cortas.
Tus respuestas no deben contener emojis.
No quiero ver emojis.
No quiero emojis en tus respuestas.
Los emojis están prohibidos.
No más emojis, por favor.
Sin emojis.
Evita los emojis.
Deja de usar emojis.
Cuando escribas código, añade tipos.
Después de cada cambio, ejecuta las pruebas.
Ejecuta las pruebas después de cada cambio.
No borres nada sin preguntar.
No subas nada sin mi permiso.
Recuerda: nunca hagas push a main.
Regla: pruebas antes que código.
Nueva regla: no más emojis.
Para este proyecto, usa Python 3.12.
Háblame como un pirata a partir de ahora.
Llámame Max a partir de ahora.
Trátame de usted.
Tutéame, por favor.
Sé breve.
Sé conciso en todas tus respuestas.
Háblame en español.
Hablemos en español.
Responde en español.
Usa siempre fechas ISO.
Muestra siempre diffs, no archivos enteros.
Máximo 100 palabras por respuesta.
Responde solo con sí o no.
Espera mi confirmación antes de cada paso.
Nada de halagos.
Sin introducción.
No repitas mi pregunta.
Usa el sistema métrico.
Explica todo como si tuviera cinco años.
Responde en lenguaje sencillo.
Indica siempre tus fuentes.
No comentes el código.
Escribe los mensajes de commit en inglés.
""",
    "italian": """
Non farmi domande.
Cita una fonte per ogni affermazione.
Non speculare.
Non essere sarcastico.
Non scusarti mai.
Non usare la parola "sostenibile".
Chiamami Capitano.
Voglio che tu risponda sempre in rima.
Tutte le risposte in italiano, per favore.
Solo in italiano, per favore.
D'ora in poi tutto in italiano.
Dai ogni risposta come tabella.
Ogni risposta deve finire con una domanda.
Le tue risposte devono essere brevi.
Le tue risposte non devono contenere emoji.
Non voglio vedere emoji.
Le emoji sono vietate.
Basta emoji.
Niente emoji.
Evita le emoji.
Smettila con le emoji.
Quando scrivi codice, aggiungi i tipi.
Dopo ogni modifica esegui i test.
Non cancellare nulla senza chiedere.
Non fare push senza il mio permesso.
Ricorda: mai fare push su main.
Regola: prima i test, poi il codice.
Per questo progetto usa Python 3.12.
Parlami come un pirata d'ora in poi.
Dammi del lei.
Dammi del tu.
Sii breve.
Sii conciso in tutte le risposte.
Parlami in italiano.
Parliamo in italiano.
Rispondi in italiano.
Usa sempre date ISO.
Massimo 100 parole per risposta.
Rispondi solo con sì o no.
Aspetta la mia conferma prima di ogni passo.
Niente introduzioni.
Non ripetere la mia domanda.
Usa il sistema metrico.
Indica sempre le fonti.
Non commentare il codice.
Scrivi i messaggi di commit in inglese.
""",
    "portuguese": """
Não me faças perguntas.
Não me faça perguntas.
Cite uma fonte para cada afirmação.
Não especule.
Não seja sarcástico.
Nunca peça desculpas.
Não use a palavra "sustentável".
Me chame de Capitão.
Chame-me Capitão.
Quero que você responda sempre em rimas.
Todas as respostas em português, por favor.
Somente em português, por favor.
A partir de agora, tudo em português.
Dê cada resposta como tabela.
Cada resposta deve terminar com uma pergunta.
Suas respostas devem ser curtas.
Suas respostas não devem conter emojis.
Não quero ver emojis.
Emojis são proibidos.
Chega de emojis.
Nada de emojis.
Evite emojis.
Pare com os emojis.
Quando escrever código, adicione tipos.
Depois de cada mudança, rode os testes.
Não apague nada sem perguntar.
Não faça push sem a minha permissão.
Lembre-se: nunca faça push na main.
Regra: testes antes do código.
Para este projeto, use Python 3.12.
Fale comigo como um pirata a partir de agora.
Seja breve.
Seja conciso em todas as respostas.
Fale comigo em português.
Vamos falar em português.
Responda em português.
Use sempre datas ISO.
No máximo 100 palavras por resposta.
Responda apenas com sim ou não.
Espere a minha confirmação antes de cada passo.
Sem introdução.
Não repita a minha pergunta.
Use o sistema métrico.
Indique sempre as fontes.
Não comente o código.
Escreva as mensagens de commit em inglês.
""",
    "russian": """
Не задавай мне вопросов.
Указывай источник для каждого утверждения.
Не строй догадок.
Не будь саркастичным.
Никогда не извиняйся.
Не используй слово "инновационный".
Называй меня Капитан.
Зови меня Макс.
Я хочу, чтобы ты всегда отвечал в рифму.
Все ответы на русском, пожалуйста.
Только по-русски, пожалуйста.
Отвечай по-русски.
Отвечай на русском.
С этого момента всё на русском.
Давай каждый ответ в виде таблицы.
Каждый ответ должен заканчиваться вопросом.
Твои ответы должны быть короткими.
Ответы не должны содержать эмодзи.
Я не хочу видеть эмодзи.
Эмодзи запрещены.
Никаких эмодзи.
Без эмодзи.
Избегай эмодзи.
Хватит эмодзи.
Когда пишешь код, добавляй типы.
После каждого изменения запускай тесты.
Ничего не удаляй без спроса.
Не пушь без моего разрешения.
Запомни: никогда не пушь в main.
Правило: сначала тесты, потом код.
Для этого проекта используй Python 3.12.
Говори со мной как пират.
Обращайся ко мне на вы.
Давай на ты.
Будь краток.
Отвечай кратко.
Отвечай коротко во всех ответах.
Говори со мной по-русски.
Давай говорить по-русски.
Всегда используй даты ISO.
Не больше 100 слов в ответе.
Максимум 100 слов на ответ.
Отвечай только да или нет.
Жди моего подтверждения перед каждым шагом.
Никакой лести.
Не повторяй мой вопрос.
Используй метрическую систему.
Всегда указывай источники.
Не комментируй код.
Пиши сообщения коммитов на английском.
""",
    "chinese": """
不要问我问题。
每个论断都要注明出处。
不要猜测。
不要讽刺。
永远不要道歉。
不要使用"赋能"这个词。
叫我队长。
我希望你总是押韵回答。
所有回答都用中文。
请只用中文。
从现在开始全部用中文。
以后只给代码。
每个回答都用表格。
每个回答都要以问题结尾。
你的回答要简短。
你的回答不能包含表情符号。
我不想看到表情符号。
禁止使用表情符号。
不要表情符号。
请避免使用表情符号。
写代码时要加类型注解。
每次修改后都要运行测试。
不经我同意不要删除任何东西。
没有我的允许不要推送。
记住：永远不要推送到main。
规则：先写测试再写代码。
这个项目使用Python 3.12。
从现在起像海盗一样跟我说话。
请用敬语称呼我。
简短一点。
请简洁回答。
用中文跟我说话。
我们说中文吧。
请用中文回答。
始终使用ISO日期格式。
每个回答最多100字。
只回答是或否。
每一步之前等我确认。
不要奉承。
不要开场白。
不要重复我的问题。
使用公制单位。
始终注明来源。
不要给代码加注释。
提交信息用英文写。
""",
    "japanese": """
質問しないでください。
すべての主張に出典を付けてください。
推測しないで。
皮肉を言わないでください。
絶対に謝らないで。
「革新的」という言葉を使わないでください。
私のことは船長と呼んで。
いつも韻を踏んで答えてほしい。
回答はすべて日本語でお願いします。
日本語だけでお願いします。
これからは全部日本語で。
今後はコードだけ出力して。
回答は毎回表にしてください。
すべての回答は質問で終わらせてください。
回答は短くして。
回答に絵文字を含めないでください。
絵文字は見たくない。
絵文字は禁止です。
絵文字なしで。
絵文字は避けてください。
コードを書くときは型注釈を付けてください。
変更するたびにテストを実行してください。
確認せずに何も削除しないでください。
許可なくプッシュしないで。
覚えておいて：mainには絶対にプッシュしないで。
ルール：コードの前にテスト。
このプロジェクトではPython 3.12を使ってください。
これからは海賊のように話して。
敬語で話してください。
タメ口で話して。
簡潔にお願いします。
手短に答えて。
日本語で話して。
日本語で話しましょう。
日本語で答えてください。
常にISO形式の日付を使ってください。
回答は100字以内で。
はいかいいえだけで答えて。
各ステップの前に私の確認を待ってください。
お世辞はいりません。
前置きは不要です。
私の質問を繰り返さないでください。
メートル法を使ってください。
常に出典を明記してください。
コードにコメントを付けないでください。
コミットメッセージは英語で書いてください。
""",
}
"""Orders of the assistant that are put in force without a question, by language."""

PASSING_IN = {
    "german": """
Putze nach jedem Essen deine Zähne.
Trink vor jeder Mahlzeit ein Glas Wasser.
Sag deiner Schwester, sie soll immer anrufen.
Nimm für jeden Tag ein frisches Hemd mit.
Frag vor jeder Aufgabe deinen Lehrer.
Bitte nur mit Karte zahlen.
Alle Antworten der Teilnehmer müssen geprüft werden.
Jede Antwort kostet zehn Punkte.
Tabellen sind nicht erlaubt in der Prüfung, sagte die Lehrerin.
Wir sprechen Deutsch zu Hause.
Lass uns morgen weiterreden.
Sprich mit deinem Chef.
Ruf mich an, bevor du kommst.
Nenn mich altmodisch, aber ich mag Briefe.
Nenn mich verrückt.
Schreib deinem Chef auf Deutsch.
Schreib ihm, dass ich komme.
Erkläre deinem Sohn alles so, dass er es versteht.
Höchstens zehn Personen pro Aufzug.
Keine Witze über meine Mutter.
Ich mag keine Witze.
In diesem Projekt arbeiten zwanzig Leute.
Für dieses Projekt brauchen wir Geld.
Regel Nummer eins im Leben: nie aufgeben.
Führe ein Tagebuch.
Führ den Hund aus.
Halte dich kurz fest.
Bring die Kinder nach jeder Stunde nach Hause.
Erklär mir, wie TCP funktioniert.
Schreib mir eine kurze Mail an meinen Chef.
Übersetze das ins Englische.
Fass den Text kurz zusammen.
Ich habe nie verstanden, wie das geht.
Warum antwortest du immer auf Englisch?
Der Server startet nicht mehr.
Gib mir eine Liste der Hauptstädte.
Die Tests laufen nach jeder Änderung automatisch.
Mein Chef sagt, ich soll immer pünktlich sein.
Keine Ahnung.
Kein Problem.
Keine Sorge.
Was bedeutet "Nur Bares ist Wahres"?
Schreib eine Funktion, die nie None zurückgibt.
Nenne drei Städte ohne Umlaut.
Wie sage ich auf Deutsch "good morning"?
Sprich das bitte mal für mich durch.
Maximal 100 Personen passen in den Raum.
Emojis sind eine japanische Erfindung.
Zeig mir die Tabelle noch einmal.
Antworte dem Kunden, dass wir später liefern.
Erkläre jede Funktion in dieser Datei.
Beantworte jede Frage aus dem Anhang.
Schick jede Nachricht an Tom.
Nach jeder Änderung läuft die CI.
Alle Antworten sind auf Deutsch.
Wenn du die Tests geschrieben hast, gib mir Bescheid.
Lösche die Datei, ohne mich zu fragen.
Erklär mir alles.
Gib mir JSON.
Gib die Daten als JSON.
Kurze Antworten sind gut.
In diesem Projekt verwenden wir Tabs.
Schreib einen Brief auf Deutsch.
Schreib den Brief auf Deutsch.
Schreib mir ein Gedicht auf Französisch.
Übersetze den Text auf Deutsch.
Antworte diesmal auf Französisch.
Antworte auf die Mail nur mit Ja.
Ich will keinen Kaffee.
Rauchen ist verboten.
Hunde sind verboten.
Wenn du Hans schreibst, füge meine Nummer hinzu.
Führe die Tests aus.
Ich möchte alle Antworten der Umfrage sehen.
Warte auf den Zug.
Mach die Überschrift fett.
Nenn mir drei Quellen.
Nenne die Quelle für diese Behauptung.
Ab jetzt nur noch Regen.
Ab morgen hat der Laden nur noch abends auf.
Schluss mit dem Regen.
Zeig mir alle Antworten in Tabelle 3.
Schreib einen kurzen Brief.
Der Aufsatz hat maximal 100 Wörter.
Nicht so schnell.
Lass uns essen.
Lass uns die zweite Lösung nehmen.
Frag mich nicht.
Sag nichts.
Lies die Datei nicht.
""",
    "french": """
Ajoute du sel à chaque étape de la recette.
Dis bonjour à chaque personne.
Bois de l'eau avant chaque repas.
Appelle-moi folle, mais j'aime ça.
Appelle-moi plus tard.
Parle-moi de tes vacances en français.
Parlons en français avec grand-mère demain.
Les blagues sont interdites à table.
Je voudrais tes réponses à mes lettres.
Attends-moi après chaque cours.
Garde tes textes dans un tiroir.
Mes réponses courtes l'ont fâché.
Règle numéro un : ne jamais abandonner.
Quand tu cites ta mère, tu pleures.
Pose tes valises.
Cache les cadeaux.
Explique-moi comment marche TCP.
Écris un court mail à mon chef.
Traduis ça en anglais.
Résume brièvement ce texte.
Je n'ai jamais compris ça.
Pourquoi réponds-tu toujours en anglais ?
Le serveur ne démarre plus.
Donne-moi la liste des capitales.
Pas de problème.
Pas de souci.
Mon chef me dit de toujours être à l'heure.
Écris une fonction qui ne renvoie jamais None.
Cite trois villes sans accent.
Comment dit-on "good morning" en français ?
100 personnes maximum tiennent dans la salle.
Les émojis sont une invention japonaise.
Réponds au client que nous livrerons plus tard.
Explique chaque fonction de ce fichier.
Envoie chaque message à Tom.
Après chaque modification, la CI tourne.
Toutes les réponses sont en français.
Quand tu auras écrit les tests, dis-le-moi.
Explique-moi tout.
Donne-moi du JSON.
Des réponses courtes sont utiles.
Écris une lettre en français.
Écris la lettre en français.
Écris-moi un poème en allemand.
Réponds en français cette fois.
Réponds uniquement oui à ce mail.
Je ne veux pas de café.
Il est interdit de fumer.
Les chiens sont interdits.
Quand tu écris à Jean, ajoute mon numéro.
Lance les tests.
Je voudrais toutes les réponses du sondage.
Attends le train.
Cite trois sources.
Cite la source de cette affirmation.
Désormais, il pleut.
Écris un essai sans introduction.
Écris un texte de moins de 500 mots.
L'essai fait 100 mots maximum.
Appelle-moi demain.
Appelle-moi quand tu arrives.
Parle-moi de Paris.
Parlons de la suite.
Ne dis rien.
Fais un résumé court.
Garde les tickets.
Limite la liste à 10 éléments.
Utilise le deuxième tableau.
Dans ce projet, nous utilisons des tabulations.
""",
    "spanish": """
Añade sal en cada paso de la receta.
Bebe agua antes de cada comida.
Llámame loca, pero me gusta.
Hablemos en español con la abuela.
Las bromas están prohibidas en la mesa.
Quiero tus respuestas a mis cartas.
Espera a tu hermana después de cada clase.
Cuando cites a tu madre, llora un poco.
Guarda tus textos en un cajón.
Usa una tabla de madera.
Oculta los regalos.
Regla número uno de la vida: nunca rendirse.
Explícame cómo funciona TCP.
Escribe un correo corto a mi jefe.
Traduce esto al inglés.
Resume brevemente este texto.
Nunca entendí eso.
¿Por qué respondes siempre en inglés?
El servidor ya no arranca.
Dame la lista de capitales.
No hay problema.
No te preocupes.
Mi jefe me dice que siempre sea puntual.
Escribe una función que nunca devuelva None.
¿Cómo se dice "good morning" en español?
Máximo 100 personas caben en la sala.
Los emojis son un invento japonés.
Responde al cliente que entregaremos más tarde.
Explica cada función de este archivo.
Envía cada mensaje a Tom.
Después de cada cambio corre la CI.
Todas las respuestas están en español.
Cuando hayas escrito los tests, avísame.
Explícame todo.
Dame JSON.
Escribe una carta en español.
Escribe la carta en español.
Escríbeme un poema en alemán.
Responde en español esta vez.
No quiero café.
Está prohibido fumar.
Los perros están prohibidos.
Cuando escribas a Juan, añade mi número.
Ejecuta las pruebas.
Quiero todas las respuestas de la encuesta.
Espera el tren.
Cita tres fuentes.
Escribe un ensayo sin introducción.
Escribe un texto de menos de 500 palabras.
El ensayo tiene 100 palabras como máximo.
Llámame mañana.
Háblame de París.
Hablemos del tema.
No digas nada.
Haz un resumen corto.
Limita la lista a 10 elementos.
Usa la segunda tabla.
En este proyecto usamos tabuladores.
Da un ejemplo.
Sin azúcar, por favor.
""",
    "italian": """
Aggiungi sale a ogni passaggio della ricetta.
Bevi acqua prima di ogni pasto.
Chiamami pazza, ma mi piace.
Le battute sono vietate a tavola.
Usa una tabella di marcia.
Parliamo in italiano con la nonna domani.
Aspetta tua sorella.
Nascondi i regali.
Spiegami come funziona TCP.
Scrivi una breve mail al mio capo.
Traduci questo in inglese.
Non ho mai capito questo.
Perché rispondi sempre in inglese?
Nessun problema.
Non ti preoccupare.
Scrivi una funzione che non restituisce mai None.
Massimo 100 persone entrano nella sala.
Rispondi al cliente che consegneremo più tardi.
Scrivi una lettera in italiano.
Scrivi la lettera in italiano.
Scrivimi una poesia in tedesco.
Rispondi in italiano questa volta.
Non voglio caffè.
È vietato fumare.
I cani sono vietati.
Esegui i test.
Aspetta il treno.
Cita tre fonti.
Scrivi un saggio senza introduzione.
Il saggio ha 100 parole al massimo.
Chiamami domani.
Parlami di Roma.
Parliamo del seguito.
Fai un riassunto breve.
In questo progetto usiamo i tab.
Spiega ogni funzione di questo file.
Dammi un JSON.
Traduci la frase in inglese.
""",
    "portuguese": """
Adicione sal em cada passo da receita.
Beba água antes de cada refeição.
Me chame de louca, mas eu gosto.
As piadas são proibidas à mesa.
Use uma tabela de madeira.
Esconda os presentes.
Explique-me como funciona o TCP.
Escreva um e-mail curto para o meu chefe.
Traduza isto para inglês.
Nunca entendi isso.
Por que você responde sempre em inglês?
Sem problema.
Não se preocupe.
Escreva uma função que nunca devolve None.
No máximo 100 pessoas cabem na sala.
Responda ao cliente que entregaremos mais tarde.
Escreva uma carta em português.
Escreva a carta em português.
Escreva-me um poema em alemão.
Responda em português desta vez.
Não quero café.
É proibido fumar.
Cães são proibidos.
Execute os testes.
Espere o trem.
Cite três fontes.
Escreva um ensaio sem introdução.
O ensaio tem no máximo 100 palavras.
Me ligue amanhã.
Me chame amanhã.
Fale-me de Lisboa.
Vamos falar do assunto.
Faça um resumo curto.
Neste projeto usamos tabs.
Explique cada função deste arquivo.
Me dê um JSON.
Traduza a frase para inglês.
""",
    "russian": """
Добавляй соль на каждом шаге рецепта.
Пей воду перед каждой едой.
Называй меня сумасшедшей, но мне нравится.
Шутки запрещены за столом.
Жди меня после каждого урока.
Говори с мамой по-русски.
Будь здоров!
Будь осторожен.
Объясни, как работает TCP.
Напиши короткое письмо моему начальнику.
Переведи это на английский.
Я никогда этого не понимал.
Почему ты всегда отвечаешь на английском?
Без проблем.
Не волнуйся.
Напиши функцию, которая никогда не возвращает None.
Максимум 100 человек помещается в зал.
Ответь клиенту, что мы доставим позже.
Сервер больше не запускается.
Напиши письмо на русском.
Напиши стихи на немецком.
Ответь на этот раз по-русски.
Я не хочу кофе.
Курить запрещено.
Собаки запрещены.
Запусти тесты.
Жди поезд.
Назови три источника.
Напиши эссе без вступления.
В эссе максимум 100 слов.
Позвони мне завтра.
Зови меня завтра.
Расскажи мне о Москве.
Давай поговорим об этом.
Давай второй вариант.
Сделай короткое резюме.
В этом проекте мы используем табы.
Объясни каждую функцию в этом файле.
Дай JSON.
Переведи фразу на английский.
Отвечай на вопрос 3.
""",
    "chinese": """
每次吃饭前要洗手。
每一步都要走好。
我们说好了明天见。
我们用中文聊了很久。
叫我明天来。
别开玩笑了。
这个项目用了三年。
解释一下TCP是怎么工作的。
给我老板写一封简短的邮件。
把这个翻译成英文。
我从来没明白过这个。
你为什么总是用英文回答？
没问题。
别担心。
写一个永远不会返回None的函数。
房间最多容纳100人。
回复客户说我们会晚点交货。
服务器启动不了了。
解释这个文件里的每个函数。
把每条消息发给小王。
每次修改后CI都会运行。
所有回答都是中文的。
写完测试后告诉我。
给我JSON。
用中文写一封信。
用德语给我写一首诗。
这次请用法语回答。
我不想喝咖啡。
禁止吸烟。
狗禁止入内。
给老王写信的时候加上我的电话。
运行测试。
等火车。
引用三个来源。
写一篇没有引言的文章。
文章最多100字。
明天叫我。
跟我说说巴黎。
我们说说计划吧。
什么都别说。
做一个简短的总结。
把列表限制在10项。
用第二个表。
这个项目用的是Python吗？
这个项目使用Python 3.12吗？
我们的项目使用了PostgreSQL。
每个用户都必须有邮箱。
每个问题10分。
规则是什么？
这个项目使用了很多开源库。
公司规定：员工必须打卡。
我不想看到他。
""",
    "japanese": """
食事のたびに歯を磨いてください。
毎回の答えが違う。
すべてのステップで塩を加えて。
冗談はやめて。
お土産はいりません。
標準語で話していた。
明日は日本語で話しましょうか。
TCPの仕組みを説明してください。
上司に短いメールを書いてください。
これを英語に翻訳してください。
それは全然理解できなかった。
なぜいつも英語で答えるのですか？
問題ありません。
心配しないで。
Noneを絶対に返さない関数を書いてください。
部屋には最大100人入れます。
お客様に遅れて納品すると返信してください。
サーバーが起動しません。
このファイルの各関数を説明してください。
各メッセージをトムに送ってください。
変更するたびにCIが走ります。
すべての回答は日本語です。
テストを書いたら教えて。
JSONをください。
日本語で手紙を書いてください。
ドイツ語で詩を書いてください。
今回はフランス語で答えて。
コーヒーはいりません。
喫煙は禁止です。
犬は禁止です。
ジョンに手紙を書くとき、私の番号を加えて。
テストを実行して。
電車を待って。
出典を三つ挙げて。
短い要約を作ってください。
二番目の表を使ってください。
明日呼んで。
パリについて話して。
リストを10件にしてください。
このプロジェクトではPythonを使っています。
すべてのユーザーにメールを送ってください。
すべての回答を集計してください。
この表を見て答えてください。
質問3に答えてください。
""",
}
"""Sentences for a single task, or about something else, by language: none is put in force."""
