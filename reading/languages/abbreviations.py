"""Words that are written with a full stop, by what comes behind them, in the languages of the model family. Data.

The lists are for narration, not for parsing. One list serves all languages, because the language of a text may be
unknown or change within a paragraph. A word that a sentence may well end with is in none of them.
"""

from __future__ import annotations

from reading.languages.tables import words

BEFORE_NAMES = words(
    """
    # English
    Mr Mrs Ms Dr Prof St Rev Hon Gen Col Maj Capt Lt Sgt Cpl Cmdr Gov Sen Rep Pres Messrs Mt Ft Adm Brig Pvt Insp
    Supt Det Amb Atty e.g i.e vs viz cf Cf
    # German
    Hr Hrn Fr Frl Fa Fam Dipl Ing Mag Hl Gefr Uffz Oblt Ltn Hptm Kpt Abg Dir Präs Frhr Gebr Msgr Pfr Geh Kgl Kais Ew
    med phil jur Priv ca bzw vgl Vgl sog inkl exkl einschl ausschl insges zzgl abzgl ggf evtl geb verw gesch ehem dt
    engl frz lat griech ital span russ amerik kath u od bes mind höchst jährl tägl städt staatl südl nördl östl
    westl allg
    # French
    Mme Mmes Mlle MM Ste Me Mgr gén Gén cap prof Pr Vve Cdt Cte Ctesse av apr boul pl chev Bd
    # Spanish and Portuguese
    Sr Sra Srta Sres Dra Sta Sto Ud Uds Vd gral Gral Cnel Av Avda Exa Profa Eng gen cel Ilmo Exmo Exma Excmo Excma
    Mons Lic Dña Hno Hna Arq Tte Sgto Pdte Pza Ctra Ntra Ntro Enga Ten Sarg Alm Pe Trav Ilma Dep
    # Italian
    Sig sig Sigg sigg sig.ra Sig.ra sig.na dott Dott dott.ssa Dott.ssa prof.ssa Prof.ssa avv Avv ing arch on On mons
    geom rag cav comm magg Spett Egr Gent Preg
    # Russian
    проф Проф акад Акад ген Ген св Св ул пр пл пер просп им гр тов г гор р оз о д стр корп кв ок см См ср Ср напр
    рис табл гл комн каб доц Доц инж канд зам зав полк подполк лейт серж адм кн обл пос дер наб бул
    """
)
"""What follows is a name, or more of the same expression."""

BEFORE_NUMBERS = words(
    """
    No no Nos nos Nr Nrn n núm vol Vol Vols vols Bd Bde t Т т p pp S s pag pagg pág págs Abb Abs Art art fig Fig
    figs Figs Kap Ch c ext Ext Eq eq Par par ch chap Chap cap Cap sec Sec séc ca Ca approx Approx aprox Aprox env rd
    op Op ed стр рис п пп ст ч Ч str Str Hausnr Tel tel insges Rm Apt Ste Bk Pt vv Aufl Jg Ziff Anm Tab Taf Zi tab
    tav voll capp artt figg caps arts núms liv apt apto тт разд изд вып тел эт с
    # Months and days of the week
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Okt Nov Dec Dez janv févr avr juil sept oct nov déc ene abr ago dic
    genn febbr янв февр апр авг сент окт нояб дек Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun Mo Di Mi Do Fr Sa So
    lun mar mié jue vie sáb dom mer jeu ven sam dim gio sab seg sex Lun Mar Mié Jue Vie Sáb Dom Mer Jeu Ven Sam Dim
    Gio Sab Seg Sex пн вт ср чт пт сб вс
    """
)
"""What follows is a number."""

BETWEEN_NUMBERS = words(
    """
    s d hr hrs min sec ft in lb lbs oz Std Min Sek Mk Pf fr ptas pts руб коп ч мин сек
    """
)
"""Units that stand behind one number and before the next: three shillings and six pence, two hours and ten minutes."""

OPENERS = words(
    """
    # English
    The He She It They We You There Then This That These Those But And His Her Their My What Who When Where Why How
    Nobody Everyone Nothing
    # German
    Der Die Das Er Sie Es Ich Wir Ihr Dann Dort Aber Doch Und Nun Jetzt Dafür Danach Damals Damit Niemand Keiner
    Alle Als Wenn Sein Seine Ihre Im Am In Auf Ein Eine Was Wer Wie Warum
    # French, Spanish, Italian, Portuguese; their articles and prepositions stand in names, too
    Il Elle Ils Elles On Nous Vous Mais Puis Ensuite Cela Ce Personne Él Ella Ellos Ellas Pero Entonces Después
    Nadie Cuando Había Lui Lei Loro Poi Nessuno Quando Allora Ele Ela Eles Elas Mas Depois Então Ninguém
    # Russian
    Он Она Оно Они Мы Вы Но Потом Затем Это Никто Там Тогда Когда
    """
)
"""Words that begin a sentence, and with a capital hardly anything else: a full stop before them has ended one."""
