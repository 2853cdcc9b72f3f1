"""What each sign of a speaker is worth, in logarithms of odds.

Learnt from 18 novels of the Project Dialogism Novel Corpus (`benchmarks/speech/speakers.py` names the other ten): a
chain of turns as a conditional random field, by L-BFGS with a quadratic penalty. Names are those of `speakers`.
"""

from __future__ import annotations

_TABLE = """
acted before -0.58; action1 he is another sex -0.96; action1 he may be it 0.83; action1 he not i -0.18; action1 he
of unknown sex 0.3; action1 is another -1.02; action1 is it 1.62; action1 kin is another sex -1.09; action1 kin
may be it 1.28; action1 kin of unknown sex -0.19; action1 noun is another sex -0.32; action1 noun may be it -0.29;
action2 he is another sex -0.49; action2 he may be it 0.68; action2 he not i -0.31; action2 he of unknown sex
0.13; action2 is another -0.53; action2 is it 0.89; action2 kin is another sex -1.14; action2 kin may be it 0.83;
action2 kin of unknown sex 0.3; action2 noun is another sex -0.52; action2 noun may be it 0.17; again continues 4;
again directly bare -1.61; again directly named -1.71; again later bare 1.41; again later he 1.26; again later
named 1.11; again same paragraph 1.97; another acted before 0.58; bare never tagged 0.24; bare often 0.23; bare
rare -0.36; bare some -0.11; beside 1.74; called before 2.07; called here -3.66; called next 0.89; called two
before 0.86; he acted before 0.46; he another acted before -0.46; he first of sex 0.4; he last of sex 0.39; he
named 1 ago 0.83; he named 1 ago last 0.74; he named 12 ago -0.29; he named 12 ago last -0.18; he named 2 ago
0.19; he named 2 ago last -0.18; he named 4 ago 0.1; he named 4 ago last -0.06; he named 8 ago -0.32; he named 8
ago last -0.13; he not named before -0.7; kin first of sex 0.06; kin last of sex -0.41; kin named 1 ago 0.25; kin
named 1 ago last -1.24; kin named 12 ago 0.49; kin named 2 ago 0.85; kin named 2 ago last -0.41; kin named 4 ago
0.41; kin named 8 ago 0.13; kin named 8 ago last 0.45; kin not named before -0.95; lead_in1 he is another sex
0.55; lead_in1 he may be it 0.67; lead_in1 he not i -0.19; lead_in1 he of unknown sex -1.03; lead_in1 is another
-0.22; lead_in1 is it 1.65; lead_in1 kin is another sex -0.37; lead_in1 kin may be it 0.4; lead_in1 noun is
another sex -0.75; lead_in1 noun may be it -0.67; lead_in2 he is another sex 0.37; lead_in2 he may be it 0.37;
lead_in2 he not i -0.14; lead_in2 he of unknown sex -0.6; lead_in2 is it 0.2; lead_in2 noun is another sex 0.1;
lead_in2 noun may be it -0.26; mentioned before -0.37; mentioned here -2.59; mentioned next -0.36; mentioned two
before -0.17; named 1 ago 0.68; named 1 ago last 0.64; named 12 ago -0.39; named 12 ago last -0.21; named 2 ago
0.06; named 4 ago last 0.2; named 8 ago -0.25; never tagged -0.68; not named before -0.72; noun -0.41; often 0.26;
rare 0.08; some 0.34; tag1 he is another sex -1.16; tag1 he may be it 1.97; tag1 he not i -1.84; tag1 he of
unknown sex 1.02; tag1 is another -1.49; tag1 is it 3.31; tag1 kin is another sex -2.02; tag1 kin may be it 0.87;
tag1 kin of unknown sex 1.15; tag1 noun is another sex -2.51; tag1 noun may be it 0.69; tag2 he is another sex
-1.58; tag2 he may be it 1.36; tag2 he not i -0.55; tag2 he of unknown sex 0.78; tag2 is another -1.12; tag2 is it
0.92; tag2 kin is another sex -1.56; tag2 kin may be it 0.86; tag2 kin of unknown sex 0.71; tag2 noun is another
sex -0.77; tag2 noun may be it 0.97; talking narrator 1.82; two before bare 1.96; two before directly directly
bare 3.31; two before directly directly he 2.28; two before directly directly named 1.44; two before directly
later bare 1.38; two before directly later he 1.16; two before directly later named 0.72; two before he 1.03; two
before later directly bare 1.29; two before later directly he 1.05; two before later directly named 0.73; two
before later later bare 0.79; two before later later he 0.74; two before later later named 0.49; two before named
0.59
"""

_ENTRIES = (" ".join(entry.split()).rpartition(" ") for entry in _TABLE.split(";"))

WEIGHTS = {name: float(value) for name, _, value in _ENTRIES}
