"""The commonest words of languages that are written in Latin letters. Data; our own lists, measured by the tests.

Words of two languages are in both lists. What an apostrophe divides counts as two words, so that "l'homme" and "don't"
are found. Some languages here are spoken by no model of the family: a text in them is to be noticed all the same.
"""

from __future__ import annotations

_WORDS = {
    "english": """
        the of and to a in is it you that he was for on are with as i his they be at one have this from or had by but
        not what all were we when your can said there an each which she do how their if will up other about out many
        then them these so some her would make like him into has more no go way could my than been who its now did get
        may me our us must should does don t s m d ll re ve am any only over such after before here where why very just
        because through too own same between while off again down under never nor both those being having let every
        upon shall might cannot against until still though
    """,
    "german": """
        der die das und ist nicht ein eine einen einem einer eines ich sie er es wir ihr mit auf für von zu dem den des
        im am sich auch war waren wird werden wurde wurden haben hatte hatten hat sind bei nach aus wie aber oder wenn
        dass daß nur noch über unter durch sein seine seinen seiner ihre ihren ihrem ihrer mein meine dein kein keine
        was wer wo hier da schon sehr mehr als um bis vor zum zur so doch man mich mir dich dir uns euch ihn ihm kann
        will muss soll sollte diese dieser dieses diesen jetzt immer wieder nichts etwas alles ja nein ins beim vom gibt
        habe bin bist seid könnte konnte ohne gegen zwischen weil denn dann ob damit heute in an
    """,
    "french": """
        le la les de des du un une et est en que qui dans il elle on ne pas pour par sur au aux avec ce cette ces cet
        son sa ses se je tu nous vous ils elles mais ou où plus été était étaient sont fut a ont avait avaient leur
        leurs mon ma mes ton ta tes comme tout tous toute toutes si bien même sans sous très y d l qu n s c j m t lui me
        te moi toi quand donc puis encore rien jamais fait être avoir peut cela ça déjà aussi entre vers chez après
        avant depuis quel quelle votre notre nos vos deux
    """,
    "spanish": """
        el la los las de del y en que un una unos unas es se no por con para su sus al lo como más pero le les me te mi
        mis tu tus nos está están era eran fue fueron han había hay ha he ya o si sí sin sobre este esta estos estas
        esto ese esa eso cuando muy todo todos toda todas también donde dónde desde entre hasta porque son ser yo él
        ella ellos ellas usted qué quién cómo nada algo a e tiene tengo puede hace aquí ahora siempre nunca dos otro
        otra tan nuestro nuestra cada hacia
    """,
    "italian": """
        il lo la i gli le di del della dei delle degli dello nel nella nei nelle e è che un una uno in per con non si da
        dal dalla dai al alla ai alle su sul sulla come ma anche più o se mi ti ci vi io tu lui lei noi voi loro era
        erano sono ha hanno ho aveva questo questa questi quello quella suo sua suoi sue mio mia d l c dell nell all
        dall sull un quando dove chi cosa tutto tutti tutta molto ancora già fu essere ogni poi qui così perché senza
        sotto fra tra quanto sempre mai niente può fa nostro
    """,
    "portuguese": """
        o a os as de do da dos das e em no na nos nas um uma uns umas que é não se por para com mais mas ao à aos às
        como foi era eram são está estão tem têm tinha ele ela eles elas eu seu sua seus suas meu minha me te lhe isso
        isto este esta esse essa já quando muito também só até sem entre depois pelo pela pelos pelas ou nem havia você
        vocês nós tudo nada onde quem porque ser ter há num numa ainda sobre cada todos todas todo toda dia aqui sempre
        nunca pode faz
    """,
    "dutch": """
        de het een en van ik te dat die in is niet op zijn met hij aan er maar om dan zou of wat mijn men dit zo door
        over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben deze u want nog zal me zij nu geen
        omdat iets worden toch al waren veel meer doen toen moet ben zonder kan hun dus alles onder ja eens hier wie
        werd altijd wordt kunnen ons zelf tegen na wil kon niets uw iemand was had we wij
    """,
    "swedish": """
        och det att i en jag hon som han på den med var sig för så till är men ett om hade de av inte mig du henne då
        sin nu har hans honom skulle hennes där min ej vid kunde något från ut när efter upp vi dem vara vad över än
        dig kan sina här ha mot alla under någon eller allt mycket sedan denna själv detta åt utan varit hur ingen mitt
        ni bli blev oss din dessa några blir mina samma vilken sådan vår
    """,
    "polish": """
        i w nie na się z do to że jest jak o a ale po co tak za od przez był była było byli są czy już tylko jego jej
        dla by gdy kiedy ich może być mnie mu go ten ta te tym tego tej dla przed pod nad bardzo jeszcze który która
        które ja ty on ona my wy oni mi ci nam was sobie też więc albo lub oraz ze we ku jako gdzie kto nic wszystko
        teraz tam tu moja mój swoje
    """,
}

FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
"""By language, as the models name them."""
