"""Orders in French, Spanish, Italian and Portuguese."""

from __future__ import annotations

from compression.core.ledger.patterns import Language

_TAIL = r"[^.!?]*"

_FR_LEAD = (
    r"^(?:(?:s['’]il (?:te|vous) pla[iî]t|stp|svp|merci de|[àa] partir de (?:maintenant|d[ée]sormais)|d[ée]sormais|"
    r"dor[ée]navant|et|mais|donc|alors|"
    r"important|r[èe]gle|note|rappel|ok|oui|non|aussi|à l['’]avenir|dans (?:ce|cette|tes|vos|toutes tes) \w+|pour "
    r"(?:ce|cette) \w+|je (?:veux|voudrais|souhaite) que tu)\b[\s,:;–-]*)*"
)
_FR_VERB = (
    r"(?:r[ée]pond(?:s|ez|re)|[ée]cri(?:s|vez|re)|utilise[rsz]?|utilisez|emploie[sz]?|employe[rz]|parle[rsz]?|mets|"
    r"mettez|mettre|ajoute[rsz]?|pousse[rsz]?|"
    r"commite[rsz]?|supprime[rsz]?|efface[rsz]?|change[rsz]?|modifie[rsz]?|touche[rsz]?|dis|dites|dire|fais|faites|"
    r"faire|donne[rsz]?|r[ée]p[èe]te[rsz]?|"
    r"invente[rsz]?|devine[rsz]?|commence[rsz]?|termine[rsz]?|cite[rsz]?|tradui(?:s|sez|re)|explique[rsz]?|"
    r"r[ée]sume[rsz]?|garde[rsz]?|limite[rsz]?|"
    r"inclu(?:s|ez|re)|montre[rsz]?|indique[rsz]?|pr[ée]cise[rsz]?|formate[rsz]?|v[ée]rifie[rsz]?|teste[rsz]?|"
    r"lance[rsz]?|d[ée]ploie[rsz]?|"
    r"d[ée]ployer|red[ée]marre[rsz]?|t['’]excuse[rsz]?|vous excuse[rz]|excuse[rsz]?(?:-toi|-vous)?|tutoie[rsz]?|"
    r"vouvoie[rsz]?|appelle[rsz]?|"
    r"sugg[èe]re[rsz]?|propose[rsz]?|demande[rsz]?|renomme[rsz]?|fusionne[rsz]?|omets|omettre|abr[èe]ge[rsz]?|"
    r"reste[rsz]?|sois|soyez|fournis|fournir|tiens|produis)"
)
_FR_STYLE = (
    r"(?:(?:é|e)mojis?|(?:é|e)motic[ôo]nes?|smileys?|listes?(?: à puces)?|puces|tableaux?|titres|excuses?|jargon|"
    r"commentaires?|anglicismes?|"
    r"abr[ée]viations?|r[ée]sum[ée]s?|introductions?|conclusions?|blabla|politesses|formules de politesse|points? "
    r"d['’]exclamation|explications?|gras|markdown)"
)
_FR_LANGUAGE = r"(?:fran[çc]ais|anglais|allemand|espagnol|italien|portugais|russe|chinois|japonais|n[ée]erlandais)"

_FR_ADDRESSED = (
    r"\b(?:r[ée]pon\w+|cite[rsz]?|tradui\w+|explique\w*|r[ée]sume\w*|tutoie\w*|vouvoie\w*|tutoyez|vouvoyez|excuse\w*|"
    r"invente\w*|devine\w*|formate\w*|abr[èe]ge\w*|pr[ée]cise\w*|sugg[èe]re\w*|r[ée]p[èe]te\w*|pousse[rsz]?|"
    r"commite\w*|d[ée]plo\w+|red[ée]marre\w*|fusionne\w*|renomme\w*|supprime\w*|bref|br[èe]ve\w*|conci[sz]\w*|"
    r"poli(?:e|ment)?|formel\w*)\b|"
    r"\b(?:moi|me|mes|mon|ma)\b|\bm['’]|\bquand je\b|\b(?:[àa] partir de maintenant|d[ée]sormais|dor[ée]navant|"
    r"s['’]il (?:te|vous) pla[iî]t|stp|svp)\b|\bdans (?:ce|cette) (?:projet|conversation|discussion)\b|\br[èe]gle\b|"
    r"\b(?:code|tests?|textes?|phrases?|messages?|mots|lignes|r[ée]sum[ée]s?|exemples?|sources?|citations?|style|"
    r"langage|fichiers?|serveurs?|ports?|biblioth[èe]ques?|d[ée]pendances?|variables?|fonctions?|versions?|"
    r"production|base de donn[ée]es|hypoth[èe]ses?|raisonnement)\b|"
    rf"{_FR_STYLE}"
)
_FR_ANYBODY = (
    r"\b(?:ton|ta|tes|votre|vos)\b(?! (?:\w+ )?(?:r[ée]ponses?|textes?|phrases?|messages?|code|tests?|commits?|"
    r"r[ée]sum[ée]s?|exemples?|sources?|explications?|style|langage|raisonnement|hypoth[èe]ses?|calculs?)\b)"
)

FRENCH = Language(
    addressed=rf"{_FR_ADDRESSED}|{_FR_LANGUAGE}",
    anybody=_FR_ANYBODY,
    orders=(
        rf"{_FR_LEAD}n(?:e\s+|['’]\s*)(?:m['’]|me |nous |te |vous |t['’]|le |la |les |y "
        rf")?{_FR_VERB}\b{_TAIL}\b(?:jamais|pas|plus|aucune?|que)\b",
        rf"{_FR_LEAD}ne (?:jamais|pas|plus)\s+(?:me |te |vous |t['’]|y )?{_FR_VERB}\b",
        rf"{_FR_LEAD}(?:jamais|toujours|uniquement|seulement)\s+{_FR_VERB}\b",
        rf"{_FR_LEAD}{_FR_VERB}(?:-moi|-nous)?\b{_TAIL}\b(?:toujours|uniquement|seulement|exclusivement|"
        rf"syst[ée]matiquement|d[ée]sormais|[àa] partir de maintenant|à chaque fois|"
        rf"en {_FR_LANGUAGE}(?=[\s,.!]*$)|bri[èe]ve(?:ment)?|courte?s?|conci[sz]\w*|(?:en |de )?moins de \d+|(?:\d+|"
        rf"cent|cinquante) mots|tutoie|sans {_FR_STYLE})\b",
        rf"{_FR_LEAD}(?:pas|plus|aucune?|sans|z[ée]ro|[ée]vite[rz]? les|[ée]vite[rz]? le|[ée]vite[rz]? (?:les|"
        rf"d['’]utiliser des|d['’]utiliser les))\s+(?:d(?:e |['’]))?{_FR_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_FR_LEAD}(?:arr[êe]te[rsz]?|cesse[rsz]?)\s+(?:de |d['’])(?:t['’]|te |vous |me |toujours )?{_FR_VERB}\b",
        rf"{_FR_LEAD}(?:arr[êe]te[rsz]?|cesse[rsz]?)\s+(?:avec )?(?:les|tes|vos|ces)\s+{_FR_STYLE}\b",
        rf"^(?:tu|vous) (?:dois|devez)\s+(?:toujours|uniquement|seulement)\s+{_FR_VERB}\b|^(?:tu|vous) ne (?:dois|"
        rf"devez|peux|pouvez) (?:jamais|pas|plus)\s+{_FR_VERB}\b",
        r"^(?:sois|soyez|reste[sz]?) (?:plus |toujours |tr[èe]s )?(?:bref|br[èe]ve|brefs|concis|concise|direct|"
        r"directe|poli|polie|pr[ée]cis|pr[ée]cise|formel)\b[^.!?]{0,40}[.! ]*$",
        r"^(?:tutoie|vouvoie|tutoyez|vouvoyez)-moi\b",
        rf"^(?:vos|tes|les) (?:r[ée]ponses|commits|textes|messages)\b{_TAIL}\b(?:doivent|doit)\b",
    ),
    preference=r"\bje (?:pr[ée]f[èe]re|pr[ée]f[ée]rerais|n['’]aime pas|d[ée]teste)\b|\bj['’](?:aimerais mieux|aime "
    r"mieux|adore)\b|\bma pr[ée]f[ée]rence\b|\bplut[ôo]t que\b",
    refuses=r"^ne me (?:dis|dites|fais|faites) pas\b(?! de \w+|en )",
    decision=r"\b(?:nous avons|on a|j['’]ai) (?:d[ée]cid[ée]|choisi|convenu|opt[ée]|retenu)\b|\bon (?:part sur|"
    r"prend|garde)\b|\bc['’]est d[ée]cid[ée]\b",
    correction=r"^(?:non, (?:c['’]est|le|la|les|il)|en fait|correction|je voulais dire|je me suis "
    r"tromp[ée])\b[\s,:].{3,}|\bet non (?:pas )?\w+|\bau lieu de\b",
)

_ES_LEAD = (
    r"^(?:(?:por favor|a partir de ahora|de ahora en adelante|desde ahora|en adelante|y|pero|adem[áa]s|importante|"
    r"regla|nota|recuerda|ok|s[íi]|no olvides|tambi[ée]n|"
    r"en (?:este|esta|tus|todas tus) \w+|para (?:este|esta) \w+|quiero que|recuerde)\b[\s,:;¡–-]*)*[¡]?"
)
_ES_VERB = (
    r"(?:respond[ea]s?|responder|contest[ea]s?|contestar|escrib[ea]s?|escribir|us[ea]s?|usar|utiliz[ae]s?|utilices?|"
    r"utilizar|emple[ea]s?|emplear|habl[ea]s?|hablar|"
    r"pon|pongas?|poner|agreg[au]\w*|a[ñn]ad[ea]s?|a[ñn]adir|sub[ae]s?|subir|empuj[ea]s?|pushe\w+|hag[ao]s?|haz|"
    r"hacer|borr[ea]s?|borrar|elimin[ea]s?|eliminar|"
    r"cambi[ea]s?|cambiar|modifi\w+|toqu?[ea]s?|tocar|di|digas?|decir|d[ae]s?|da|dame|dar|repit[ae]s?|repetir|"
    r"invent[ea]s?|inventar|adivin[ea]s?|adivinar|empiec[ea]s?|"
    r"empieza|empezar|comien[cz][ea]s?|termin[ea]s?|terminar|incluy[ea]s?|incluir|cit[ea]s?|citar|traduc\w+|"
    r"traduzcas?|expliqu?[ea]s?|explica|explicar|resum[ea]s?|"
    r"resumir|mant[ée]n|mantenga|mantengas|mantener|limit[ea]s?|limitar|muestr[ea]s?|mostrar|indic\w+|indiques?|"
    r"format[ea]s?|formatear|verifi\w+|prueb[ea]s?|"
    r"lanc[ea]s?|lanza|despli\w+|desplegar|reinici[ea]s?|reiniciar|(?:te |se )?disculp[ea]s?|disculparte|pid[ae]s? "
    r"(?:perd[óo]n|disculpas)|pedir (?:perd[óo]n|disculpas)|"
    r"ll[aá]mame|tut[ée]ame|sugier[ea]s?|propon\w*|pregunt[ea]s?|preguntar|renombr[ea]s?|fusion[ea]s?|omit[ea]s?|"
    r"abrevi[ea]s?|s[ée]|sea|seas|commite\w+|d[ée]jame|evita|evite)"
)
_ES_STYLE = (
    r"(?:emojis?|emoticonos?|emoticones|listas?|vi[ñn]etas|tablas?|encabezados|disculpas?|jerga|comentarios?|"
    r"anglicismos?|abreviaturas?|res[úu]menes|introducciones|"
    r"conclusiones|rodeos|relleno|signos de exclamaci[óo]n|explicaciones|negritas?|markdown|tecnicismos)"
)
_ES_LANGUAGE = r"(?:espa[ñn]ol|castellano|ingl[ée]s|franc[ée]s|alem[áa]n|italiano|portugu[ée]s|ruso|chino|japon[ée]s)"

_ES_ADDRESSED = (
    r"\b(?:respond\w+|contest\w+|cit(?:a|e|ar)s?|tradu\w+|expli\w+|resum\w+|tut[ée]ame|ll[aá]mame|disculp\w+|"
    r"perd[óo]n|invent\w+|adivin\w+|format\w+|abrevi\w+|sugier\w+|repit\w+|pushe\w+|commite\w+|despli\w+|desplegar|"
    r"reinici\w+|fusion\w+|renombr\w+|borr(?:es|ar|e)|elimin(?:es|ar|e)|brev\w+|concis\w+|formal)\b|"
    r"\b(?:me|m[íi]|mis?|conmigo)\b|\bcuando (?:yo|te)\b|\b(?:a partir de ahora|de ahora en adelante|en adelante|"
    r"por favor|quiero que)\b|\ben (?:este|esta) (?:proyecto|conversaci[óo]n|chat)\b|\bregla\b|"
    r"\b(?:c[óo]digo|pruebas?|tests?|ramas?|textos?|frases?|mensajes?|palabras|l[íi]neas|res[úu]menes|ejemplos?|"
    r"fuentes?|citas|estilo|lenguaje|archivos?|ficheros?|servidor(?:es)?|puertos?|bibliotecas?|librer[íi]as?|"
    r"dependencias?|variables?|funciones|versi[óo]n\w*|producci[óo]n|base de datos|razonamiento)\b|"
    rf"{_ES_STYLE}"
)
_ES_ANYBODY = (
    r"\b(?:tus?|sus?|vuestr[oa]s?)\b(?! (?:\w+ )?(?:respuestas?|textos?|frases?|mensajes?|c[óo]digo|pruebas|tests?|"
    r"commits?|res[úu]menes|ejemplos?|fuentes?|explicaci[óo]n\w*|estilo|lenguaje|razonamiento|c[áa]lculos?)\b)"
)

SPANISH = Language(
    addressed=rf"{_ES_ADDRESSED}|{_ES_LANGUAGE}",
    anybody=_ES_ANYBODY,
    orders=(
        rf"{_ES_LEAD}(?:no|nunca|jam[áa]s)\s+(?:(?:me|nos|te|se|lo|la|vuelvas a|vuelva a|debes|"
        rf"puedes)\s+)?(?:nunca\s+|jam[áa]s\s+)?{_ES_VERB}\b",
        rf"{_ES_LEAD}siempre\s+(?:debes\s+|que\s+|me\s+)?{_ES_VERB}\b",
        rf"{_ES_LEAD}{_ES_VERB}\b{_TAIL}\b(?:siempre|s[óo]lo|solamente|[úu]nicamente|exclusivamente|a partir de "
        rf"ahora|de ahora en adelante|nunca|en {_ES_LANGUAGE}(?=[\s,.!]*$)|"
        rf"brevemente|breves?|cort[oa]s?|concis[oa]s?|(?:de |por debajo de |en )?menos de \d+|\d+ palabras|sin "
        rf"{_ES_STYLE})\b",
        rf"{_ES_LEAD}(?:sin|nada de|no m[áa]s|m[áa]s|cero|ning[úu]n[oa]?|evit[ae] (?:los|las|el|la|usar)|basta "
        rf"de)\s+(?:m[áa]s\s+)?{_ES_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_ES_LEAD}(?:dej[ae]|par[ae]|des[ií]st[ae])\s+de\s+{_ES_VERB}\b",
        rf"^(?:usted )?(?:debes?|tienes? que)\s+{_ES_VERB}\b{_TAIL}\bsiempre\b|^(?:debes?|tienes? que) (?:siempre|"
        rf"nunca)\b|^(?:nunca|no) (?:debes?|puedes?)\s+(?:nunca\s+)?{_ES_VERB}\b",
        r"^s[ée] (?:m[áa]s |siempre |muy )?(?:breve|conciso|concisa|directo|directa|preciso|precisa|"
        r"formal)\b[^.!?]{0,40}[.! ]*$",
        r"^(?:ll[aá]mame|tut[ée]ame|tr[áa]tame de)\b[^.!?]{0,40}[.! ]*$",
        rf"^(?:tus|las|los|todas las) (?:respuestas|commits|textos|mensajes)\b{_TAIL}\b(?:deben|debe|tienen que)\b",
    ),
    preference=r"\b(?:prefiero|preferir[íi]a|no me gusta\w*|odio|me gusta(?:r[íi]a)? m[áa]s|mi preferencia|me gusta "
    r"que)\b|\ben lugar de\b|\ben vez de\b",
    decision=r"\b(?:hemos|he) (?:decidido|elegido|acordado|optado)\b|\b(?:decid[íi]|decidimos|acordamos|elegimos|"
    r"eleg[íi])\b|\b(?:usaremos|nos quedamos con|vamos con)\b",
    correction=r"^(?:no, (?:es|son|era|el|la)|en realidad|correcci[óo]n|quer[íi]a decir|me equivoqu[ée]|mejor "
    r"dicho)\b.{3,}",
    refuses=r"^no me (?:digas|hagas re[íi]r)\b|^(?:no|nunca)\s+(?:me |te |lo |la )?(?:s[ée]\b|digas nada|"
    r"hagas caso|haga caso|te preocupes|des por "
    r"vencid|hables en serio|pongas triste)|^no,? (?:usa|di|habla)ba",
)

_IT_LEAD = (
    r"^(?:(?:per favore|per piacere|ti prego(?: di)?|d['’]ora in poi|da ora in poi|da adesso in poi|in futuro|e|ma|"
    r"inoltre|importante|regola|nota|ricorda(?:ti)?(?: di)?|ok|s[ìi]|anche|"
    r"in (?:questo|questa|tutte le) \w+|per (?:questo|questa) \w+|voglio che(?: tu)?)\b[\s,:;–-]*)*"
)
_IT_VERB = (
    r"(?:rispond\w+|scriv\w+|us(?:a|i|are|ate)|utilizz\w+|impieg\w+|parl(?:a|i|are|ate)|mett\w+|aggiung\w+|push(?:a|"
    r"are|i)|fai|fa'|fare|faccia|cancell\w+|elimin\w+|"
    r"modific\w+|cambi(?:a|are|ate)?|tocc(?:a|are)|di['’]?|dire|dica|dammi|dare|ripet\w+|invent\w+|indovin\w+|"
    r"inizi\w+|cominci\w+|termin\w+|finir\w+|includ\w+|"
    r"cit(?:a|i|are)|traduc\w+|tradurre|spieg\w+|riassum\w+|mant[ie]\w+|mantieni|limit(?:a|i|are)|mostr\w+|indic\w+|"
    r"formatt\w+|verific\w+|test(?:a|are)|"
    r"lanci\w+|distribu\w+|riavvi\w+|scus(?:arti|a|are|arsi)|chied\w+|chiamami|dammi|suggeri\w+|propon\w+|proporre|"
    r"rinomin\w+|unir\w+|omett\w+|abbrevi\w+|"
    r"resta|sii|committ?\w+|fornisci|fornire|tieni|deploy\w+)"
)
_IT_STYLE = (
    r"(?:emoji|emoticon|faccine|elenchi(?: puntati)?|liste|tabelle|titoli|scuse|gergo|commenti|anglicismi|"
    r"abbreviazioni|riassunti|introduzioni|conclusioni|"
    r"giri di parole|convenevoli|punti esclamativi|spiegazioni|grassetto|markdown|tecnicismi)"
)
_IT_LANGUAGE = r"(?:italiano|inglese|francese|tedesco|spagnolo|portoghese|russo|cinese|giapponese)"

_IT_ADDRESSED = (
    r"\b(?:rispond\w+|cit(?:a|i|are)|traduc\w+|tradurre|spieg\w+|riassum\w+|chiamami|dammi|scus\w+|invent\w+|"
    r"indovin\w+|formatt\w+|abbrevi\w+|suggeri\w+|ripet\w+|push\w*|committ?\w+|distribu\w+|deploy\w+|riavvi\w+|unire|"
    r"rinomin\w+|cancell\w+|elimin\w+|brev\w+|concis\w+|formale)\b|"
    r"\b(?:mi|me|mio|mia|miei|mie)\b|\bquando (?:io|ti)\b|\b(?:d['’]ora in poi|da ora in poi|da adesso in poi|"
    r"per favore|voglio che)\b|\bin (?:questo|questa) (?:progetto|conversazione|chat)\b|\bregola\b|"
    r"\b(?:codice|test|rami|testi|frasi|messaggi|parole|righe|riassunti|esempi|fonti|citazioni|stile|linguaggio|file|"
    r"server|porta \d+|librerie|dipendenze|variabili|funzioni|versioni|produzione|database|ragionamento)\b|"
    rf"{_IT_STYLE}"
)
_IT_ANYBODY = (
    r"\b(?:tuo|tua|tuoi|tue|vostr[oaie]|suo|sua|suoi|sue)\b(?! (?:\w+ )?(?:rispost[ae]|test[oi]|frasi|messaggi|"
    r"codice|test|commit|riassunti|esempi|fonti|spiegazioni|stile|linguaggio|ragionamento|calcoli)\b)"
)

ITALIAN = Language(
    addressed=rf"{_IT_ADDRESSED}|{_IT_LANGUAGE}",
    anybody=_IT_ANYBODY,
    orders=(
        rf"{_IT_LEAD}non\s+(?:mi |ti |lo |la |ci )?(?:devi |puoi )?(?:mai )?{_IT_VERB}\b",
        rf"{_IT_LEAD}(?:mai|sempre)\s+{_IT_VERB}\b",
        rf"{_IT_LEAD}{_IT_VERB}\b{_TAIL}\b(?:sempre|solo|soltanto|solamente|esclusivamente|d['’]ora in poi|mai|in "
        rf"{_IT_LANGUAGE}(?=[\s,.!]*$)|brevemente|brev[ei]|cort[ei]|"
        rf"concis\w+|(?:sotto (?:le|i) |entro (?:le|i)? ?|in |a )?meno di \d+|sotto le \d+|\d+ parole|senza "
        rf"{_IT_STYLE})\b",
        rf"{_IT_LEAD}(?:niente|nessun[ao]?|senza|basta(?: con)?|zero|evita (?:le|gli|il|i|di "
        rf"usare)?)\s+(?:pi[ùu]\s+|le\s+|gli\s+|i\s+)?{_IT_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_IT_LEAD}(?:smetti(?:la)?|basta|finiscila)\s+di\s+{_IT_VERB}\b",
        rf"^(?:tu )?(?:devi|deve)\s+(?:sempre|solo)\b|^(?:tu )?non (?:devi|puoi|deve)\s+(?:mai\s+)?{_IT_VERB}\b",
        r"^sii (?:pi[ùu] |sempre |molto )?(?:breve|conciso|concisa|diretto|diretta|preciso|precisa|"
        r"formale)\b[^.!?]{0,40}[.! ]*$",
        r"^(?:chiamami|dammi del (?:tu|lei))\b[^.!?]{0,40}[.! ]*$",
        rf"^(?:le|i|tutte le) (?:(?:tue|tuoi) )?(?:risposte|commit|testi|messaggi)\b{_TAIL}\b(?:devono|deve)\b",
    ),
    preference=r"\b(?:preferisco|preferirei|non mi piac\w+|odio|mi piace di pi[ùu]|la mia preferenza|mi piacerebbe "
    r"che)\b|\bpiuttosto che\b|\binvece di\b",
    decision=r"\b(?:abbiamo|ho) (?:deciso|scelto|concordato|optato)\b|\b(?:useremo|andiamo con|restiamo con)\b",
    correction=r"^(?:no, (?:è|sono|era|il|la)|in realt[àa]|correzione|volevo dire|mi sono sbagliat[oa]|anzi)\b.{3,}",
    refuses=r"^non\s+(?:dire (?:cos[ìi]|stupidaggini)|fare (?:cos[ìi]|complimenti)|cambiare mai,? sei)|^non (?:parl|"
    r"us|cambi|tocc)(?:o|iamo|ano|ava\w*)\b|^non (?:risponde|scrive|usa|parla|rispondo|scrivo|metto|faccio|dico|"
    r"ripeto) ",
)

_PT_LEAD = (
    r"^(?:(?:por favor|a partir de agora|de agora em diante|daqui (?:em|para a) (?:diante|frente)|no futuro|e|mas|"
    r"tamb[ée]m|importante|regra|nota|lembre(?:-se)?(?: de)?|ok|sim|"
    r"(?:neste|nesta|em todas as|nas) \w+|para (?:este|esta) \w+|quero que(?: voc[êe])?)\b[\s,:;–-]*)*"
)
_PT_VERB = (
    r"(?:respond[ae]s?|responder|escrev[ae]s?|escrever|us[ea]s?|usar|utiliz[ea]s?|utilizar|fal[ea]s?|falar|"
    r"coloqu[ea]s?|colocar|adicion[ea]s?|fa[çc]as?|fazer|faz|"
    r"apagu?[ea]s?|apagar|exclu[ai]s?|alter[ea]s?|alterar|mud[ea]s?|mudar|modifi\w+|toqu[ea]s?|tocar|dig[ao]s?|diz|"
    r"dizer|d[êe]|d[áa]|dar|repit[ae]s?|repetir|"
    r"invent[ea]s?|inventar|adivinh[ea]s?|comec[ea]s?|comece|come[çc]ar|termin[ea]s?|terminar|inclu[ai]s?|inclua|"
    r"incluir|cit[ea]s?|citar|traduz\w*|expliqu?[ea]s?|explica|"
    r"explicar|resum[ae]s?|resumir|mant[ée]m|mantenha|manter|limit[ea]s?|limitar|mostr[ea]s?|mostrar|indi\w+|"
    r"format[ea]s?|formatar|verifi\w+|test[ea]s?|testar|"
    r"envi[ea]s?|enviar|empurr[ea]s?|sub[ai]s?|reinici[ea]s?|reiniciar|pe[çc]as? desculpas?|pedir desculpas?|(?:se |"
    r"te )?desculp[ea]s?|desculpar|chame|chama|sugir\w+|"
    r"propon\w+|pergunt[ea]s?|renomei\w+|omit[ae]s?|abrevi[ea]s?|seja|commit\w+|fa[çc]a (?:push|commit|deploy)|evite)"
)
_PT_STYLE = (
    r"(?:emojis?|emoticons?|listas?|marcadores|t[óo]picos|tabelas?|t[íi]tulos|desculpas?|jarg[ãa]o|jarg[õo]es|"
    r"coment[áa]rios?|anglicismos?|abrevia[çc][õo]es|resumos?|introdu[çc][õo]es|"
    r"conclus[õo]es|enrola[çc][ãa]o|rodeios|pontos de exclama[çc][ãa]o|explica[çc][õo]es|negrito|markdown)"
)
_PT_LANGUAGE = r"(?:portugu[êe]s|ingl[êe]s|franc[êe]s|alem[ãa]o|espanhol|italiano|russo|chin[êe]s|japon[êe]s)"

_PT_ADDRESSED = (
    r"\b(?:respond\w+|cit(?:a|e|ar)s?|tradu\w+|expli\w+|resum\w+|chame|chama|desculp\w+|invent\w+|adivinh\w+|"
    r"format\w+|abrevi\w+|sugir\w+|repit\w+|push|commit\w*|reinici\w+|renomei\w+|apagu?\w+|exclu\w+|brev\w+|"
    r"concis\w+|formal)\b|"
    r"\b(?:me|mim|meus?|minhas?|comigo)\b|\bquando eu\b|\b(?:a partir de agora|de agora em diante|daqui em diante|"
    r"por favor|quero que)\b|\b(?:neste|nesta) (?:projeto|conversa|chat)\b|\bregra\b|"
    r"\b(?:c[óo]digo|testes?|textos?|frases?|mensagens|mensagem|palavras|linhas|resumos|exemplos?|fontes?|"
    r"cita[çc][õo]es|estilo|linguagem|arquivos?|ficheiros?|servidor(?:es)?|porta \d+|bibliotecas?|depend[êe]ncias?|"
    r"vari[áa]ve\w+|fun[çc][õo]es|vers[ãõ]\w+|produ[çc][ãa]o|banco de dados|racioc[íi]nio)\b|"
    rf"{_PT_STYLE}"
)
_PT_ANYBODY = (
    r"\b(?:seus?|suas?|teus?|tuas?)\b(?! (?:\w+ )?(?:respostas?|textos?|frases?|mensagens|c[óo]digo|testes|commits?|"
    r"resumos?|exemplos?|fontes?|explica[çc][õo]es|estilo|linguagem|racioc[íi]nio|c[áa]lculos?)\b)"
)

PORTUGUESE = Language(
    addressed=rf"{_PT_ADDRESSED}|{_PT_LANGUAGE}",
    anybody=_PT_ANYBODY,
    orders=(
        rf"{_PT_LEAD}(?:n[ãa]o|nunca|jamais)\s+(?:(?:me|se|te|mais|deve|pode)\s+)?(?:nunca\s+)?{_PT_VERB}\b",
        rf"{_PT_LEAD}sempre\s+(?:que\s+|me\s+)?{_PT_VERB}\b",
        rf"{_PT_LEAD}{_PT_VERB}(?:-me)?\b{_TAIL}\b(?:sempre|s[óo]|somente|apenas|unicamente|exclusivamente|a partir "
        rf"de agora|nunca|em {_PT_LANGUAGE}(?=[\s,.!]*$)|brevemente|breves?|"
        rf"curt[oa]s?|concis[oa]s?|(?:em |abaixo de |com )?menos de \d+|abaixo de \d+|\d+ palavras|sem "
        rf"{_PT_STYLE})\b",
        rf"{_PT_LEAD}(?:sem|nada de|chega de|nenhum[a]?|zero|evite (?:os|as|o|a|"
        rf"usar)?)\s+(?:mais\s+)?{_PT_STYLE}\b[^.!?]{{0,50}}[.! ]*$",
        rf"{_PT_LEAD}(?:par[ea]|deix[ea])\s+de\s+(?:se |te )?{_PT_VERB}\b",
        rf"^(?:voc[êe] )?(?:deve|tem (?:que|de))\s+sempre\b|^(?:voc[êe] )?(?:n[ãa]o|nunca) (?:deve|"
        rf"pode)\s+(?:nunca\s+)?{_PT_VERB}\b",
        r"^seja (?:mais |sempre |muito )?(?:breve|conciso|concisa|direto|direta|preciso|precisa|"
        r"formal)\b[^.!?]{0,40}[.! ]*$",
        r"^(?:me chame|chame-me|me trate por)\b[^.!?]{0,40}[.! ]*$",
        rf"^(?:(?:as )?suas|as|todas as|os) (?:respostas|commits|textos|mensagens)\b{_TAIL}\b(?:devem|deve|t[êe]m "
        rf"que)\b",
    ),
    preference=r"\b(?:prefiro|preferiria|n[ãa]o gosto|odeio|gosto mais|minha prefer[êe]ncia|gostaria que)\b|\bem "
    r"vez de\b|\bao inv[ée]s de\b",
    decision=r"\b(?:decidimos|decidi|escolhemos|escolhi|combinamos|optamos|optei|vamos usar|usaremos|ficamos com)\b",
    correction=r"^(?:n[ãa]o, (?:é|são|era|o|a)|na verdade|corre[çc][ãa]o|quis dizer|me enganei|ali[áa]s)\b.{3,}",
    refuses=r"^(?:n[ãa]o|nunca)\s+(?:me diga|diga isso|fa[çc]a isso|mude(?: nunca)?[.!]|d[áa] para|d[áa] pra|"
    r"d[êe] bola|faz "
    r"(?:mal|sentido|diferen[çc]a)|usa\b|fala\b|escreve\b|responde\b|diz\b|mostra\b|mant[ée]m\b|explica\b)",
)
