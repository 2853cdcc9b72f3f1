"""Names of kings, queens and popes, behind which a Roman numeral is an ordinal. Data."""

from __future__ import annotations

REGNAL_NAMES = (
    *("Henry", "Louis", "Elizabeth", "George", "Charles", "Edward", "James", "William", "Richard", "Philip", "Mary"),
    *("Ferdinand", "Frederick", "Wilhelm", "Nicholas", "Alexander", "Ivan", "Catherine", "Peter", "Paul", "Pius"),
    *("John", "Gregory", "Leo", "Benedict", "Innocent", "Urban", "Clement", "Boniface", "Napoleon", "Ptolemy"),
    *("Ramses", "Rameses", "Darius", "Xerxes", "Artaxerxes", "Thutmose", "Amenhotep", "Alfonso", "Alphonso", "Pedro"),
    *("Carlos", "Juan", "Felipe", "Emmanuel", "Haakon", "Christian", "Gustav", "Gustavus", "Olaf", "Harald", "Robert"),
    *("David", "Margaret", "Anne", "Joseph", "Leopold", "Albert", "Maximilian", "Rudolf", "Rudolph", "Otto", "Conrad"),
    *("Sigismund", "Vladislav", "Stephen", "Andrew", "Constantine", "Justinian", "Theodosius", "Baldwin", "Umberto"),
    *("Victor", "Franz", "Francis", "Isabella", "Joanna", "Manuel", "Selim", "Mehmed", "Murad", "Abdul", "Suleiman"),
    *("Sixtus", "Julius", "Adrian", "Martin", "Eugene", "Nicolas", "Celestine", "Callixtus", "Honorius", "Lucius"),
    *("Duncan", "Kenneth", "Donald", "Magnus", "Sverre", "Eric", "Canute", "Cnut", "Harold", "Edgar"),
    *("Ludwig", "Friedrich", "Karl", "Eduard", "Ernst", "Augustus", "Antiochus", "Seleucus", "Mithridates"),
)
