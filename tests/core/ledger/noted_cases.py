"""Sentences that prefer, decide or correct something, in nine languages, and sentences that do none of it."""

from __future__ import annotations

NOTED = {
    "preference": """
I prefer dark mode.
I like short answers better.
I like tables more than lists.
I'd prefer a table.
I would rather have a table.
I love bullet points.
I hate long intros.
I don't like emojis.
I dislike long answers.
I'm not a fan of emojis.
I can't stand buzzwords.
Tables work better for me.
My preference is tabs.
I favour Postgres over MySQL.
I usually use pnpm.
I tend to use vim.
I'm more of a tabs person.
Short answers suit me better.
I appreciate short answers.
I find tables easier to read.
I enjoy detailed explanations.
Ich mag keine langen Antworten.
Mir gefallen Tabellen besser.
Ich finde Tabellen besser.
Lieber Tabellen als Listen.
Tabellen sind mir lieber.
Ich kann Emojis nicht leiden.
J'aime mieux les tableaux.
Je préférerais un tableau.
Je n'aime pas les émojis.
Me gustan más las tablas.
Odio los emojis.
Mi piacciono di più le tabelle.
Odio le emoji.
Gosto mais de tabelas.
Não gosto de emojis.
Мне больше нравятся таблицы.
Я не люблю эмодзи.
我不喜欢表情符号。
我更喜欢表格。
絵文字は嫌いです。
表の方が好みです。
""".strip().splitlines(),
    "decision": """
We decided to use Postgres.
We've decided on Postgres.
We'll go with Postgres.
We will use Postgres.
We're going with Postgres.
We agreed on Friday.
We settled on blue.
We chose Hetzner.
We picked option B.
I picked option B.
I've chosen the blue one.
Decision: use Postgres.
Decided: Postgres.
Let's go with option B.
Let's use Postgres.
Let's stick with Postgres.
We're sticking with Postgres.
OK, option B it is.
Option B it is.
Final decision: ship on Friday.
I'll take option B.
I'm going with the blue one.
We won't use Redis.
We are not going to use Redis.
The team agreed to ship on Friday.
The deadline is set to 5 May.
We've switched from MySQL to Postgres.
We dropped Redis.
The plan is to ship on Friday.
Wir nehmen Postgres.
Wir haben uns auf Freitag geeinigt.
Entscheidung: Postgres.
Wir verwenden Postgres.
Wir machen Variante B.
Nehmen wir Variante B.
Dann also Variante B.
Nous avons choisi Postgres.
On prend l'option B.
On part sur Postgres.
Décision : Postgres.
Allons-y avec l'option B.
Nous utiliserons Postgres.
Hemos elegido Postgres.
Vamos con la opción B.
Usaremos Postgres.
Decisión: Postgres.
Abbiamo scelto Postgres.
Andiamo con l'opzione B.
Useremo Postgres.
Decisione: Postgres.
Vamos usar Postgres.
Escolhemos Postgres.
Decisão: Postgres.
Мы выбрали Postgres.
Решение: Postgres.
Берём вариант Б.
我们决定用Postgres。
我们选方案B。
决定：用Postgres。
Postgresに決めました。
B案でいきます。
""".strip().splitlines(),
    "correction": """
No, I meant Tuesday.
Actually, it's Tuesday.
Sorry, I meant Tuesday.
Correction: the port is 8443.
I was wrong, the port is 8443.
My mistake, it's 8443.
That's wrong, the port is 8443.
That is not correct, the port is 8443.
It's not 8080, it's 8443.
It's 8443, not 8080.
Not 8080 but 8443.
Oops, I meant 8443.
Wait, the port is 8443.
I misspoke: it's Tuesday.
I made a mistake, it is Tuesday.
The port is 8443, not 8080.
No, the port is 8443.
You got that wrong: it's Tuesday.
The date changed to 5 May.
The meeting was moved to 5 May.
The deadline is now 5 May.
The port is now 8443.
Update: the port is 8443.
Scratch that, it's Tuesday.
I need to correct myself: it's Tuesday.
Typo: 8443, not 8843.
Nein, Dienstag.
Nein, es ist Dienstag.
Sorry, ich meinte Dienstag.
Falsch, der Port ist 8443.
Nicht 8080, sondern 8443.
Der Port ist jetzt 8443.
Doch nicht Montag, sondern Dienstag.
Mein Fehler, es ist Dienstag.
Non, c'est mardi.
Pardon, je voulais dire mardi.
Ce n'est pas 8080 mais 8443.
C'est faux, le port est 8443.
Erreur de ma part, c'est mardi.
No, es el martes.
Perdón, quise decir martes.
No es 8080 sino 8443.
Me equivoqué, es el martes.
No, è martedì.
Scusa, volevo dire martedì.
Não, é terça.
Desculpe, quis dizer terça.
Não é 8080, mas 8443.
Нет, это вторник.
Извини, я имел в виду вторник.
Не 8080, а 8443.
不对，是星期二。
不是8080，是8443。
我说错了，是星期二。
いや、火曜日です。
8080ではなく8443です。
間違えました、火曜日です。
""".strip().splitlines(),
}

NOT_NOTED = """
Which do you prefer?
Do you like tables?
I like it.
I love it!
I love you.
I like your answer.
He prefers tea.
We will see.
We'll see.
Let's see.
Let's go.
Let's go!
I'll take a break.
I'll take a look.
We picked her up.
I picked up the kids.
We moved house.
We moved on.
We dropped by.
The plan is simple.
No, thanks.
No, that's fine.
Wait, what?
Sorry, I was away.
Not bad but slow.
Not only fast but cheap.
It's not a bug, it's a feature.
Update: the build is green.
The weather is now fine.
Wir machen Pause.
Wir nehmen den Bus.
Nein, danke.
Nein, passt schon.
Non, merci.
On prend un café.
No, gracias.
No, grazie.
Não, obrigado.
Нет, спасибо.
不，谢谢。
いいえ、結構です。
""".strip().splitlines()
