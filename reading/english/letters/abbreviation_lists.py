"""Abbreviations and their words, by what must stand beside them. Data."""

from __future__ import annotations

from reading.languages.tables import table, words

TITLES = table(
    """
    Mr=Mister|Mrs=Missus|Ms=Miz|Dr=Doctor|Prof=Professor|Rev=Reverend|Capt=Captain|Lt=Lieutenant|Lieut=Lieutenant
    Col=Colonel|Gen=General|Sgt=Sergeant|Maj=Major|Cpl=Corporal|Cmdr=Commander|Adm=Admiral|Gov=Governor
    Sen=Senator|Rep=Representative|Pres=President|Hon=Honorable|Messrs=Messieurs|Mt=Mount|Ft=Fort|Mme=Madame
    Mlle=Mademoiselle|Insp=Inspector|Supt=Superintendent|Pvt=Private|Brig=Brigadier|Det=Detective|Fr=Father
    Bro=Brother|Msgr=Monsignor
    """
)
DOTLESS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "Mme", "Mlle", "Messrs")
COUNTED = table(
    """
    No=Number|Nos=Numbers|no=number|nos=numbers|Fig=Figure|fig=figure|Figs=Figures|figs=figures|p=page|pp=pages
    P=Page|Vol=Volume|vol=volume|Vols=Volumes|vols=volumes|ch=chapter|Ch=Chapter|chap=chapter|Chap=Chapter
    Sec=Section|sec=section|Op=Opus|op=opus|approx=approximately|ca=circa|Art=Article|art=article|Tel=Telephone
    tel=telephone|Ext=Extension|ext=extension|Bk=Book|bk=book|Pt=Part|Par=Paragraph|par=paragraph|Eq=Equation
    eq=equation|Ex=Example|Apt=Apartment|apt=apartment|Bldg=Building|Rm=Room|Ste=Suite|Hwy=Highway|Rte=Route
    max=maximum|min=minimum|ll=lines|Ps=Psalm|Pss=Psalms|CHAP=CHAPTER|VOL=VOLUME|NO=NUMBER|FIG=FIGURE
    """
)
DIVISIONS = words("Vol vol Chap chap Ch ch Bk Pt Fig Sec Art Par CHAP VOL Op Ex")
PHRASES = table(
    """
    e.g=for example|i.e=that is|E.g=For example|I.e=That is|vs=versus|viz=namely|cf=compare|Cf=Compare
    """
)
ENDING = {"etc": "et cetera", "MSS": "manuscripts"}
"""What a sentence may well end with."""

BEHIND_NAMES = table(
    """
    Ave=Avenue|Blvd=Boulevard|Rd=Road|Sq=Square|Ln=Lane|Pl=Place|Hwy=Highway|Jr=Junior|Sr=Senior|Jun=Junior
    Sen=Senior|Esq=Esquire|Inc=Incorporated|Ltd=Limited|Corp=Corporation|Co=Company|Bros=Brothers|St=Street
    Dr=Drive|Mts=Mountains|Pk=Park|Ter=Terrace|Assn=Association
    """
)
BEFORE_OF = {"Dept": "Department", "dept": "department", "Assn": "Association", "Univ": "University", "Bd": "Board"}
