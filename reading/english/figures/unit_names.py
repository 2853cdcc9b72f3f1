"""Units and their names. Data."""

from __future__ import annotations

from reading.languages.tables import table

_LENGTHS = table("km=kilometer|m=meter|cm=centimeter|mm=millimeter|µm=micrometer|μm=micrometer|nm=nanometer")
_SINGULARS = {
    **_LENGTHS,
    **{f"{short}{mark}": f"square {name}" for short, name in _LENGTHS.items() for mark in ("²", "2", "^2")},
    **{f"{short}{mark}": f"cubic {name}" for short, name in _LENGTHS.items() for mark in ("³", "3", "^3")},
    **table(
        """
        kg=kilogram|g=gram|mg=milligram|µg=microgram|μg=microgram|tbsp=tablespoon|tsp=teaspoon|mol=mole
        l=liter|L=liter|ml=milliliter|mL=milliliter|cl=centiliter|dl=deciliter|dL=deciliter
        lb=pound|lbs=pound|oz=ounce|yd=yard|yds=yard|mi=mile|gal=gallon|gals=gallon|pt=pint|pts=pint|qt=quart|qts=quart
        hr=hour|hrs=hour|min=minute|mins=minute|sec=second|secs=second|ms=millisecond|µs=microsecond|μs=microsecond
        gn=guinea|gns=guinea|ha=hectare|ac=acre|GB=gigabyte|MB=megabyte|kB=kilobyte|KB=kilobyte|TB=terabyte
        Mbit=megabit|Gbit=gigabit|kbit=kilobit|dB=decibel|W=watt|kW=kilowatt|MW=megawatt|GW=gigawatt|kWh=kilowatt hour
        V=volt|kV=kilovolt|mV=millivolt|mA=milliampere|Ω=ohm|Ω=ohm|kΩ=kilohm|kΩ=kilohm|Pa=pascal|kPa=kilopascal
        kJ=kilojoule|kcal=kilocalorie|cal=calorie|Nm=newton meter|kN=kilonewton|mbar=millibar
        sq. mi=square mile|sq mi=square mile|sq. m=square meter|sq m=square meter|°=degree
        """
    ),
}
_BITS = {"Mbps": "megabit", "Gbps": "gigabit", "kbps": "kilobit"}
_PER = {
    **dict.fromkeys(("kmh", "kph"), ("kilometer", "hour")),
    **{each: (name, "second") for each, name in _BITS.items()},
    "mph": ("mile", "hour"),
    "mpg": ("mile", "gallon"),
    "rpm": ("revolution", "minute"),
    "bpm": ("beat", "minute"),
    "fps": ("frame", "second"),
}
FORMS: dict[str, tuple[str, str]] = {
    **{unit: (name, f"{name}s") for unit, name in _SINGULARS.items()},
    **{unit: (f"{name} per {part}", f"{name}s per {part}") for unit, (name, part) in _PER.items()},
    **dict.fromkeys(("°C", "° C", "ºC", "℃"), ("degree Celsius", "degrees Celsius")),
    **dict.fromkeys(("°F", "° F", "ºF", "℉"), ("degree Fahrenheit", "degrees Fahrenheit")),
    **{
        unit: (name, name)
        for unit, name in table(
            "%=percent|‰=per mille|cwt=hundredweight|Hz=hertz|kHz=kilohertz|MHz=megahertz|GHz=gigahertz|lx=lux"
        ).items()
    },
    "mmHg": ("millimeter of mercury", "millimeters of mercury"),
    "psi": ("pound per square inch", "pounds per square inch"),
    "ppm": ("part per million", "parts per million"),
    "in": ("inch", "inches"),
    **{
        f"{short}ft": (f"{name}foot", f"{name}feet")
        for short, name in {"": "", "sq. ": "square ", "sq ": "square ", "cu. ": "cubic ", "cu ": "cubic "}.items()
    },
}
"""One, and many."""

PARTS = {
    **_SINGULARS,
    **table("s=second|h=hour|hour=hour|second=second|minute=minute|day=day|week=week|month=month|year=year"),
    **table("d=day|wk=week|mo=month|yr=year|y=year|pound=pound|night=night|person=person|head=head"),
    **{f"{second}{mark}": "second squared" for second in ("s", "sec") for mark in ("²", "2", "^2")},
}
"""What may stand behind a stroke: 30 km/s, $12/hour."""
