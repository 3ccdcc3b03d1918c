"""Orders in German, Russian, Chinese and Japanese."""

from __future__ import annotations

from compression.core.ledger.patterns import Language

_TAIL = r"[^.!?]*"
_DE_LEAD = (
    r"^(?:(?:bitte|also|ok(?:ay)?|ja|nein|ab jetzt|ab sofort|von (?:nun|jetzt) an|künftig|zukünftig|in zukunft|und|"
    r"aber|wichtig|merke?(?: dir)?|regel|hinweis|übrigens|außerdem|auch|"
    r"in (?:diesem|dieser|allen|deinen|jeder) \w+|für (?:dieses|diesen|diese) \w+|ich (?:will|möchte|wünsche),? "
    r"dass du)\b[\s,:;–-]*)*"
)
_DE_IMPERATIVE = (
    r"(?:antworte[tn]?|schreib(?:e|t|en)?|sprich|spreche[nt]|rede[tn]?|benutze?|benutzen|verwende[nt]?|nutze?|"
    r"nutzen|nenne?|gib|geben|zeige?|zeigen|füge?|erkläre?|erklären|halte?|halten|fasse?|"
    r"mache?|pushe?|committe?|lösche?|ändere?|änder|frage?|sage?|beginne?|beende|formatiere?|zitiere?|übersetze?|"
    r"starte?|rate|erfinde?|entschuldige?|wiederhole?|duze?|sieze?|"
    r"verzichte?|vermeide?|achte?|bleibe?|teste?|prüfe?|nimm|bestätige?|liefere?|kürze?|begrenze?|beschränke?|"
    r"deploye?|merge|fass|rühre?|führe?|stelle?|baue?|lege?|ergänze?|"
    r"lass|arbeite?|drücke?|schlage?|benenne?|markiere?|sei|seien sie|leite?|gendere?)"
)
_DE_INFINITIVE = (
    r"(?:antworten|schreiben|sprechen|benutzen|verwenden|nutzen|pushen|committen|löschen|ändern|fragen|sagen|nennen|"
    r"angeben|geben|zeigen|erklären|formatieren|zitieren|übersetzen|"
    r"entschuldigen|wiederholen|duzen|siezen|testen|prüfen|raten|erfinden|starten|neustarten|deployen|mergen|"
    r"hinzufügen|einfügen|weglassen|kürzen|zusammenfassen|verändern|"
    r"anfassen|umbenennen|installieren|ausführen|beginnen|beenden|halten|machen|ausgeben|begründen|belegen|"
    r"verzichten|vermeiden|gendern)"
)
_DE_STYLE = (
    r"(?:emojis?|emoticons?|smileys?|aufzählungen|aufzählungspunkte|stichpunkte|listen|tabellen|überschriften|"
    r"entschuldigungen|floskeln|fachbegriffe|fachjargon|jargon|kommentare|"
    r"anglizismen|abkürzungen|zusammenfassungen|einleitungen|ausrufezeichen|erklärungen|markdown|fettschrift|"
    r"füllwörter|wiederholungen|semikolons|gedankenstriche|rückfragen|vermutungen|annahmen)"
)
_DE_LANGUAGE = r"(?:deutsch|englisch|französisch|spanisch|italienisch|portugiesisch|russisch|chinesisch|japanisch)"

_DE_ADDRESSED = (
    r"\b(?:antwort\w*|zitier\w*|übersetz\w*|erklär\w*|fass(?:e|t)?|zusammen\w*|duz\w*|siez\w*|entschuldig\w*|"
    r"erfind\w*|rate[nt]?|formatier\w*|wiederhol\w*|begründe\w*|belege\w*|kürz\w*|gender\w*|pusht?en?|committ?en?|"
    r"deploy\w*|mergen?|neustart\w*|benenn\w*|umbenenn\w*|lösch\w*|kurz|knapp|bündig|sachlich|präzise|höflich)\b|"
    r"\b(?:mir|mich|mein\w*)\b|\bwenn ich\b|\b(?:ab jetzt|ab sofort|von (?:nun|jetzt) an|künftig|zukünftig|"
    r"in zukunft|bitte|dass du)\b|\bin (?:diesem|dieser) (?:projekt|chat|gespräch|unterhaltung)\b|\bregel\b|"
    r"\b(?:code|tests?|texte?n?|sätze|worte|wörter|zeilen|absätze|nachrichten|beispiele?|quellen?|stil|sprache|"
    r"dateien?|server|ports?|bibliotheken|abhängigkeiten|variablen?|funktionen|versionen|versionsnummern|produktion|"
    r"produktiv\w*|datenbank\w*|annahmen|begründung\w*)\b|"
    rf"{_DE_STYLE}"
)
_DE_ANYBODY = (
    r"\b(?:deine?[nmrs]?|eure?[nmrs]?)\b(?! (?:\w+ )?(?:antwort\w*|texte?n?|sätze|nachrichten|code|tests?|commits?|"
    r"zusammenfassung\w*|beispiele?|quellen?|erklärung\w*|stil|sprache|begründung\w*|rechnung\w*|entschuldigung\w*|"
    r"annahmen|kommentare?)\b)"
)

GERMAN = Language(
    addressed=rf"{_DE_ADDRESSED}|{_DE_LANGUAGE}",
    anybody=_DE_ANYBODY,
    orders=(
        rf"{_DE_LEAD}{_DE_IMPERATIVE}\b(?: mir| dich| uns| sie)?\b{_TAIL}\b(?:immer|stets|nie(?:mals)?|"
        rf"ausschließlich|grundsätzlich|ab (?:jetzt|sofort)|künftig|in zukunft|"
        rf"(?:nur )?(?:auf|in) {_DE_LANGUAGE}|jedes mal)\b",
        rf"{_DE_LEAD}{_DE_IMPERATIVE}\b(?: mir| dich| uns| sie| bitte| nur| meine| deine| die| "
        rf"alle)*\s+{_TAIL}\b(?:keine[nrms]?|nicht(?: mehr)?|unter \d+|höchstens \d+|maximal \d+|weniger als \d+|"
        rf"ohne {_DE_STYLE}|kurz|knapp|bündig|kürzer|sachlich|präzise|höflich)\b[^.!?]{{0,60}}[.! ]*$",
        rf"{_DE_LEAD}(?:immer|stets|nie(?:mals)?|nicht|nur|ausschließlich|"
        rf"grundsätzlich)\b{_TAIL}\b{_DE_INFINITIVE}\b[.! ]*$",
        rf"{_DE_LEAD}(?:nie(?:mals)?|immer|stets)\s+{_DE_IMPERATIVE}\b",
        rf"{_DE_LEAD}(?:keine?|ohne|null|weniger|nie wieder)\s+(?:weiteren\s+|unnötigen\s+|"
        rf"mehr\s+)?{_DE_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_DE_LEAD}(?:verzichte|vermeide)(?:n sie)?\b{_TAIL}\b{_DE_STYLE}\b",
        rf"{_DE_LEAD}(?:hör(?:e|en sie)? (?:bitte )?auf(?: damit)?,?\s*(?:dich |sich |ständig |immer )*(?:mit|zu|"
        rf"\w+ zu)\b{_TAIL}(?:{_DE_STYLE}|entschuldigen|wiederholen|benutzen|verwenden|schreiben|sagen|erklären|"
        rf"zusammenzufassen|fragen))",
        rf"{_DE_LEAD}(?:lass|lassen sie) (?:bitte )?(?:das|die|deine) (?:ständigen? )?(?:{_DE_STYLE}|"
        rf"entschuldigen)\b",
        rf"{_DE_LEAD}(?:du|sie) (?:sollst|darfst|musst|sollen|dürfen|müssen|wirst) (?:mir |dich |mich )?(?:immer|"
        rf"nie(?:mals)?|nicht|nur|stets|keine?[nr]?)\b{_TAIL}\b{_DE_INFINITIVE}\b",
        rf"{_DE_LEAD}dass du (?:mir |dich |mich )?(?:immer|nie(?:mals)?|nicht|nur|stets|keine?[nr]?)\b",
        rf"{_DE_LEAD}sei (?:bitte )?(?:immer |stets |etwas |mehr |sehr )?(?:kurz|knapp|präzise|direkt|sachlich|"
        rf"höflich|genau|kürzer)\b[^.!?]{{0,40}}[.! ]*$",
        rf"{_DE_LEAD}(?:nenn|nenne|duze|sieze|duz|siez) mich\b[^.!?]{{0,40}}[.! ]*$",
        rf"^(?:(?:alle|deine|ihre) )+(?:antworten|texte|commits|nachrichten|kommentare)\b{_TAIL}\b(?:müssen|sollen|"
        rf"dürfen)\b",
    ),
    preference=r"\b(?:ich (?:bevorzuge|mag (?:lieber|es lieber|keine)|hasse|hätte (?:es )?(?:gern|lieber)|möchte "
    r"lieber|will lieber|lese lieber|nutze lieber)|mir (?:ist|wäre|sind|wären)\b.{0,40}\blieber|am liebsten|meine "
    r"präferenz|ich ziehe\b.{1,80}\bvor|anstelle von)\b",
    decision=r"\b(?:wir|ich) (?:haben|habe)\b.{0,80}\b(?:entschieden|beschlossen|vereinbart|festgelegt|gewählt|"
    r"geeinigt)\b|\bwir (?:nehmen|bleiben bei|entscheiden uns|verwenden ab|setzen auf)\b|\b(?:beschlossen|"
    r"entschieden):",
    correction=r"^(?:nein, (?:es|das|der|die|wir|ich meine)|korrektur|ich meinte|ich habe mich (?:geirrt|vertan|"
    r"verschrieben)|das stimmt nicht|stimmt nicht)\b.{3,}|\bnicht \w+,? sondern\b",
    refuses=r"^(?:immer (?:noch|wieder|mehr|diese|dasselbe)|nicht dass|nie wieder (?:so|hätte|werde)|(?:mach|mache) "
    r"dir keine|mach (?:das |es )?nicht so|(?:sag|sage) (?:das |so )?(?:so )?(?:was|etwas) nicht|lass dich nicht|"
    r"rate mal|gib nicht auf|gib niemals auf|gib nie auf)|\bich (?:habe?|hatte|war|bin) (?:noch )?(?:immer|nie)",
)

_RU_LEAD = (
    r"^(?:(?:пожалуйста|и|но|а|также|важно|правило|запомни|ок|да|нет|отныне|впредь|теперь|с этого момента|с "
    r"сегодняшнего дня|в будущем|в этом \w+|для этого \w+|на будущее|я хочу,? чтобы ты)\b[\s,:;–—-]*)*"
)
_RU_VERB = (
    r"(?:используй|отвечай|пиши|добавляй|пушь|пуш|коммить|коммитай|удаляй|удали|меняй|изменяй|говори|повторяй|"
    r"извиняйся|придумывай|выдумывай|начинай|заканчивай|ставь|трогай|переводи|"
    r"перезапускай|применяй|вставляй|делай|задавай|указывай|приводи|форматируй|проверяй|цитируй|показывай|объясняй|"
    r"сокращай|обращайся|называй|давай|включай|перечисляй|держи|соблюдай|"
    r"оставляй|предлагай|спрашивай|угадывай|пропускай|переименовывай|мержи|сливай|деплой|запускай|заливай|отправляй|"
    r"упоминай|благодари|старайся|будь|извиняйтесь|бойся)(?:те|тесь|ся)?"
)
_RU_INFINITIVE = (
    r"(?:использовать|отвечать|писать|добавлять|пушить|коммитить|удалять|менять|изменять|говорить|"
    r"повторять|извиняться|придумывать|выдумывать|начинать|ставить|трогать|деплоить|запускать|мержить|применять)"
)
_RU_STYLE = (
    r"(?:эмодзи|смайлик\w*|смайл\w*|списк\w+|таблиц\w*|заголовк\w+|извинени\w+|жаргон\w*|комментари\w+|"
    r"англицизм\w*|сокращени\w+|вступлени\w+|восклицательн\w+ знак\w+|объяснени\w+|воды|лирик\w+|маркдаун\w*|markdown)"
)

_RU_ADDRESSED = (
    r"(?:отвеча\w+|ответ\w*|цитируй\w*|переводи\w*|объясня\w+|извиня\w+|придумыва\w+|выдумыва\w+|угадывай\w*|"
    r"форматируй\w*|повторя\w+|сокращай\w*|предлагай\w*|пуш\w*|коммит\w*|деплой\w*|деплоить|мерж\w*|сливай\w*|"
    r"перезапускай\w*|переименовывай\w*|удаля\w+|удали|кратк\w*|коротк\w*|короче|лаконично|вежливо|сжато)|"
    r"\b(?:мне|меня|мной|мо[йяиею]\w*)\b|\bкогда я\b|\b(?:отныне|впредь|с этого момента|на будущее|пожалуйста|"
    r"я хочу)\b|\bв этом (?:проекте|чате|разговоре)\b|\bправило\b|по-русски|по-английски|по-немецки|на (?:русском|"
    r"английском|немецком|французском|испанском|итальянском|португальском|китайском|японском)|"
    r"\b(?:код\w*|тест\w*|текст\w*|предложени\w*|сообщени\w*|слов\w*|строк\w*|пример\w*|источник\w*|стил\w*|файл\w*|"
    r"сервер\w*|порт\w*|библиотек\w*|зависимост\w*|переменн\w*|функци\w*|верси\w*|продакшен\w*|прод|баз\w+ данных)\b|"
    rf"{_RU_STYLE}"
)
_RU_ANYBODY = (
    r"\b(?:сво\w+|тво\w+|ваш\w*)\b(?! (?:\w+ )?(?:ответ\w*|текст\w*|код\w*|тест\w*|коммит\w*|пример\w*|источник\w*|"
    r"объяснени\w*|стил\w*|сообщени\w*|предположени\w*)\b)|\b(?:себя|себе|собой)\b"
)

RUSSIAN = Language(
    addressed=_RU_ADDRESSED,
    anybody=_RU_ANYBODY,
    orders=(
        rf"{_RU_LEAD}(?:никогда\s+|больше\s+|ни в коем случае\s+)(?:\w+\s+)?не\s+(?:\w+\s+)?{_RU_VERB}\b",
        rf"{_RU_LEAD}не\s+(?:(?:надо|нужно|смей|стоит)\s+{_RU_INFINITIVE}|{_RU_VERB})\b",
        rf"{_RU_LEAD}(?:всегда|только|исключительно|постоянно|обязательно)\b{_TAIL}\b{_RU_VERB}\b",
        rf"{_RU_LEAD}{_RU_VERB}\b{_TAIL}(?:\b(?:всегда|только|исключительно|никогда|отныне|впредь|каждый раз)\b|"
        rf"\bна (?:русском|английском|немецком|французском|испанском|итальянском|португальском|китайском|японском)\b|"
        rf"\bпо-(?:русски|английски|немецки|французски|испански|итальянски|португальски|китайски|японски)\b|"
        rf"\b(?:кратко|коротко|короче|лаконично|вежливо|прямо|сжато)\b|\b(?:не (?:более|больше|длиннее)|до|менее|в "
        rf"пределах|короче)(?: чем)?(?: в)? \d+|\bкоротки\w+|\bкратки\w+|\bбез {_RU_STYLE})",
        rf"{_RU_LEAD}(?:без|никаких|никакого|хватит|поменьше|меньше)\s+(?:лишних\s+|"
        rf"больше\s+)?{_RU_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_RU_LEAD}(?:перестань(?:те)?|хватит|прекрати(?:те)?|кончай|завязывай)\s+(?:уже\s+|постоянно\s+|"
        rf"мне\s+)*{_RU_INFINITIVE}\b",
        rf"^(?:ты|вы) (?:должен|должна|должны|обязан\w*) (?:всегда|никогда не|только)\b|^(?:тебе|вам)?\s*(?:нельзя|"
        rf"запрещено|запрещается)\s+{_RU_INFINITIVE}\b",
        rf"^(?:никогда не|всегда|не)\s+{_RU_INFINITIVE}\b",
        rf"{_RU_LEAD}(?:называй(?:те)? меня|обращайся ко мне|обращайтесь ко мне)\b",
    ),
    preference=r"\b(?:я предпочитаю|предпоч[её]л\w* бы|мне (?:больше )?нрав\w+|мне не нрав\w+|не люблю|ненавижу|"
    r"лучше бы|я бы хотел\w*|моё предпочтение)\b",
    decision=r"\b(?:мы|я) (?:решили|решил\w*|выбрали|выбрал\w*|договорились|остановились)\b|\bрешено\b|\bбудем "
    r"(?:использовать|делать)\b|\bбер[её]м\b",
    correction=r"^(?:на самом деле|поправка|нет, (?:это|не|он|она|мы)|я имел\w? в виду|я ошиб\w+|точнее)\b.{3,}",
    refuses=r"^(?:не (?:бойся|бойтесь|говори(?:те)? так|делай(?:те)? (?:глупостей|вид)|давай|будь|повторяй моих)|"
    r"давай(?:те)?\b)",
)

_ZH_VERB = (
    r"(?:使用|采用|用|回答|回复|答复|写|添加|添|加|推送|提交|删除|删|修改|改动|改|道歉|说抱歉|说对不起|重复|编造|"
    r"编|猜测|猜|说|输出|列出|列|翻译|解释|问|省略|合并|部署|重启|引用|"
    r"总结|创建|运行|安装|假设|杜撰|push|commit|merge|提及|提到|碰|动|出现|包含|附上|给出|给|注明|标注|检查|测试|"
    r"保持|遵守|提供|说明|加上|写上|先|调用)"
)
_ZH_STYLE = (
    r"(?:表情符号|表情|emoji|列表|表格|标题|道歉|废话|客套话|术语|注释|英文缩写|缩写|感叹号|总结|markdown|"
    r"解释|套话|寒暄)"
)
_ZH_LANGUAGE = r"(?:中文|简体中文|繁体中文|汉语|英文|英语|法语|德语|日语|日文|俄语|西班牙语|意大利语|葡萄牙语)"
_ZH_LEAD = (
    r"^(?:请你?|麻烦你?|以后|今后|从现在(?:开始|起)|从今以后|记住|注意|重要|规则|另外|还有|而且|但是?|"
    r"好的?|你|在(?:这个|本)(?:项目|对话|聊天)(?:中|里)?|"
    r"我(?:希望|要求|要)你|[,，:：、\s])*"
)

_ZH_ADDRESSED = (
    r"回答|回复|答复|道歉|说抱歉|说对不起|编造|杜撰|猜测|翻译|解释|总结|引用|推送|提交|部署|合并|重启|创建分支|重复|省略|注明|标注|"
    r"我|从现在(?:开始|起)|从今以后|以后|今后|在(?:这个|本)(?:项目|对话|聊天)|规则|"
    r"代码|测试|文件|分支|注释|句|字以内|来源|例子|示例|版本|端口|服务器|数据库|依赖|变量|函数|生产环境|假设|"
    rf"{_ZH_STYLE}"
)
_ZH_ANYBODY = r"(?:你|您|自己)们?的(?!回答|回复|答案|输出|解释|内容|代码|测试|总结|来源|例子|语气|推理|假设)"

CHINESE = Language(
    addressed=rf"{_ZH_ADDRESSED}|{_ZH_LANGUAGE}",
    anybody=_ZH_ANYBODY,
    orders=(
        rf"{_ZH_LEAD}(?:永远|绝对|千万|一律|任何时候都|无论如何都?|都|再也|一定)*(?:不要|别|不准|不许|不得|禁止|"
        rf"请勿|切勿|勿|不能|不可以|不可|严禁|不应该?|不必|"
        rf"无需)(?:再)?[^。！？]{{0,12}}?{_ZH_VERB}",
        rf"{_ZH_LEAD}(?:始终|总是|永远|一直|务必|必须|一律|只能|只|仅|每次都?|一定要?|都要?|"
        rf"全部)(?:请)?[^。！？]{{0,20}}?{_ZH_VERB}",
        rf"{_ZH_LEAD}(?:只)?(?:请)?用{_ZH_LANGUAGE}(?:来)?(?:跟我|和我|给我)?(?:回答|回复|写|交流|说|答|沟通|对话)",
        rf"{_ZH_LEAD}(?:你的|所有的?|每个|每次)*(?:回答|回复|答案|输出|解释|内容)[^。！？]{{0,8}}(?:控制在|不超过|"
        rf"少于|限制在|不要超过|保持|不得超过|要|必须|应|尽量|"
        rf"一律|请)[^。！？]+",
        rf"{_ZH_LEAD}(?:不要|别|不用|无需|禁止|去掉|拒绝|没有|少)(?:任何|再|用)?{_ZH_STYLE}[了吧]?[。！!]*$",
        r"^(?:请)?(?:以后)?(?:叫我|称呼我(?:为)?)[^。！？]{1,12}[。！!]*$",
        rf"{_ZH_LEAD}(?:回答|回复|说话)(?:得|要|请)?(?:更|尽量)?(?:简短|简洁|简明|直接|详细|礼貌)(?:一?点|"
        rf"些)?[。！!]*$",
    ),
    preference=r"我(?:更|比较|还是|个人)?(?:喜欢|偏好|倾向于?|偏爱|不喜欢|讨厌|宁愿|习惯用)|我的偏好",
    decision=r"(?:我们|我)(?:已经|最终|最后)?(?:决定|选择了|选定|商定|同意|定了)|就用.{1,20}吧|决定(?:了|是|用)",
    correction=r"^(?:不对|不是|错了|更正|其实|纠正一下|我说错了|我的意思是)[,，:：、]?.{2,}|不是.{1,20}而是",
    refuses=r"^(?:不要|别)(?:担心|放弃|怕|紧张|着急|客气|难过|在意|介意|忘了?|说了$|走|哭|再想)|^(?:我|他|她|它|"
    r"我们|他们|大家)(?!希望你|要求你|要你)|^一直(?:在|以来|"
    r"想|觉得)|[吗呢？?]$",
)

_JA_STEM = (
    r"(?:使わ|使用し|用い|答え|回答し|返信し|返答し|書か|書き込ま|追加し|プッシュし|pushし|push ?し|削除し|消さ|"
    r"変更し|変え|謝ら|謝罪し|繰り返さ|推測し|省略し|翻訳し|説明し|コミットし|"
    r"マージし|再起動し|付け|つけ|入れ|"
    r"触ら|いじら|言わ|出力し|作ら|捏造し|でっち上げ|聞か|質問し|要約し|略さ|実行し|デプロイし|インストールし|"
    r"提案し|始め|終え|改変し|修正し|含め)"
)
_JA_TE = (
    r"(?:使っ|使用し|用い|答え|回答し|返信し|返答し|書い|追加し|確認し|説明し|付け|つけ|入れ|含め|示し|"
    r"引用し|出力し|テストし|実行し|守っ|話し|呼ん|まとめ|始め|検証し|明記し|記載し|"
    r"保っ|従っ|控え|避け|やめ|訳し|翻訳し|教え|見せ|挙げ|添え|述べ)"
)
_JA_STYLE = (
    r"(?:絵文字|顔文字|箇条書き|表|見出し|謝罪|専門用語|コメント|略語|感嘆符|要約|前置き|markdown|"
    r"マークダウン|太字|説明|敬語|スラング)"
)
_JA_LANGUAGE = r"(?:日本語|英語|中国語|フランス語|ドイツ語|スペイン語|イタリア語|ポルトガル語|ロシア語)"
_JA_PLEASE = r"(?:ください|下さい|くださいね|ね|よ|ほしい(?:です)?|欲しい(?:です)?)?[。！!]*$"

_JA_ADDRESSED = (
    r"答え|回答|返信|返答|謝|謝罪|捏造|でっち上げ|推測|翻訳|説明|要約|引用|プッシュ|コミット|マージ|デプロイ|再起動|削除|繰り返|省略|訳し|明記|記載|簡潔|手短|丁寧|短く|一文で|呼んで|"
    r"私|僕|俺|今後|これから|以後|このプロジェクト|この(?:会話|チャット)|ルール|"
    r"コード|テスト|ファイル|ブランチ|文字|文章|出典|例|バージョン|ポート|サーバー|データベース|依存|変数|関数|本番|出力|"
    rf"{_JA_STYLE}"
)
_JA_ANYBODY = r"(?:あなた|自分|ご自身)の(?!回答|返答|返信|答え|出力|説明|コード|テスト|要約|推論|文章)"

JAPANESE = Language(
    addressed=rf"{_JA_ADDRESSED}|{_JA_LANGUAGE}",
    anybody=_JA_ANYBODY,
    orders=(
        rf"{_JA_STEM}ないで{_JA_PLEASE}",
        rf"{_JA_STEM}ない(?:こと|ように(?:して)?){_JA_PLEASE}|{_JA_STEM}(?:ては|ちゃ)(?:いけません|いけない|"
        rf"ならない|だめ(?:です)?)[。！!]*$",
        rf"(?:必ず|常に|いつも|毎回|今後は?|これからは?|以後|絶対に|決して|一律|すべて|全て|基本的に|"
        rf"{_JA_LANGUAGE}(?:だけ|のみ)?で).{{0,80}}{_JA_TE}(?:て|"
        rf"で){_JA_PLEASE}",
        r"(?:必ず|常に|毎回|今後は?|これからは?|絶対に|決して).{0,80}(?:すること|するように|しろ|せよ)[。！!]*$",
        rf"^(?:(?:あなたの|すべての)?(?:回答|返答|返信|答え|出力|説明|応答)は).{{0,60}}(?:以内|以下|未満|簡潔|短く|"
        rf"{_JA_LANGUAGE}|で(?:お願いします|書いて|"
        rf"答えて)|して)",
        rf"{_JA_STYLE}(?:は|を|も)?(?:一切)?(?:禁止|不要|なし|無し|使用禁止|いらない|要らない|いりません|やめて|"
        rf"なしで|抜きで)(?:です|ください|で|でお願いします|"
        rf"お願いします)?[。！!]*$",
        rf"(?:簡潔に|短く|手短に|丁寧に|一文で|{_JA_LANGUAGE}で)(?:お願いします|答えて|回答して|返信して|書いて|"
        rf"話して){_JA_PLEASE}",
        rf"(?:謝る|謝罪する|繰り返す|推測する|使う)の(?:は|を)やめて{_JA_PLEASE}",
        r"^(?:私|僕|俺)(?:のこと)?(?:を|は)[^。]{1,15}(?:と|って)呼んで",
    ),
    preference=r"(?:の)?(?:ほう|方)が(?:好き|いい|良い|好み)|(?:が|は)(?:好み|苦手|嫌い)|を好みます|"
    r"より.{1,20}が(?:好き|いい)",
    decision=r"(?:に|と)(?:決め(?:ました|た)|決まりました|決定し(?:ました|た)|しました)|ことに(?:しました|した|決め)",
    correction=r"^(?:いや|いいえ|違います|違う|訂正|正しくは|実は|すみません、).{2,}|ではなく",
    refuses=r"[?？か]$|心配しないで|気にしないで|諦めないで|あきらめないで|無理しないで|忘れないで|泣かないで",
)
