"""How a narrator reads what is written in English. A class of items is a module; `front_end` reads by all."""
