"""What each sign of a speaker is worth, in logarithms of odds. Made by `training.dialogue.learn`.

Learnt from 18 novels of the Project Dialogism Novel Corpus (`benchmarks/speech/speakers.py` names the other ten): a
chain of turns as a conditional random field, by L-BFGS with a quadratic penalty. Names are those of `signs`.
"""

from __future__ import annotations

_TABLE = """
acted before -0.23; action1 he is another sex -1.00; action1 he may be it 0.49; action1 he of unknown sex 0.23;
action1 is another -1.49; action1 is it 1.52; action2 he is another sex -0.58; action2 he may be it 0.68; action2 he
of unknown sex 0.16; action2 is another -0.73; action2 is it 0.65; action2 noun is another sex -0.10; action2 noun may
be it 0.18; acts: acted before 0.05; acts: another acted before -0.05; acts: beside 0.94; acts: called before -0.73;
acts: called here -0.69; acts: called next -0.16; acts: called two before 0.21; acts: called two next 0.05; acts:
mentioned before 0.20; acts: mentioned here -0.79; acts: mentioned next 0.24; acts: mentioned two next -0.43; acts:
named 1 ago 0.13; acts: named 1 ago last 0.20; acts: named 12 ago 0.30; acts: named 12 ago last -0.15; acts: named 2
ago 0.05; acts: named 2 ago last -0.34; acts: named 4 ago -0.28; acts: named 8 ago 0.26; acts: never tagged -0.17;
acts: not named before -0.21; acts: noun -0.13; acts: often -0.08; acts: rank of tags 0 of 1 -0.80; acts: rank of tags
0 of 3 0.07; acts: rank of tags 0 of 4 -0.07; acts: rank of tags 1 of 2 1.12; acts: rank of tags 1 of 3 -0.44; acts:
rank of tags 1 of 4 -0.25; acts: rank of tags 2 of 3 0.04; acts: rank of tags 2 of 4 0.17; acts: rank of tags 3 of 4
0.18; acts: rare 0.14; acts: recent 0 -0.07; acts: recent 1 -0.12; acts: recent 2 -0.29; acts: recent 3 0.13; acts:
recent 4 -0.03; acts: recent 5 0.37; acts: some 0.11; acts: tagged 1 after 0.58; acts: tagged 1 before 0.45; acts:
tagged 10 after 0.04; acts: tagged 10 before -0.05; acts: tagged 2 after 0.41; acts: tagged 2 before 0.24; acts:
tagged 3 after 0.08; acts: tagged 3 before 0.23; acts: tagged 4 after -0.53; acts: tagged 4 before -0.05; acts: tagged
6 after -0.43; acts: tagged 6 before -0.26; acts: tagged not after -0.15; acts: tagged not before -0.57; acts: tags
near 0 0.46; acts: tags near 1 -0.11; acts: tags near 2 -0.13; acts: tags near 3 -0.09; acts: tags near 4 -0.12; again
1 -0.54; again 2 1.18; again 3 0.47; again 4 -0.36; again 5 0.50; again 6 0.14; again 7 -0.31; again 8 -0.08; again
continues 1.08; again directly acts -0.18; again directly acts acts -0.48; again directly acts bare 0.19; again
directly acts he 0.33; again directly acts named -0.59; again directly answer -0.66; again directly ask 0.27; again
directly bare -0.53; again directly bare acts -1.11; again directly bare bare -0.94; again directly bare he acts
-0.80; again directly bare kin 0.27; again directly bare named 0.54; again directly bare noun 1.25; again directly
bare noun acts -0.51; again directly he 0.65; again directly he acts -0.40; again directly he acts bare 0.78; again
directly he acts he 1.28; again directly he acts named -0.34; again directly he bare 0.31; again directly he he 0.91;
again directly he he acts -0.19; again directly he noun 1.05; again directly kin -0.48; again directly kin named
-0.23; again directly named -0.61; again directly named acts -0.72; again directly named bare -0.28; again directly
named he 0.04; again directly named he acts -0.54; again directly named kin -0.32; again directly named named 1.03;
again directly named noun 0.09; again directly noun -0.53; again directly noun acts -0.35; again directly noun he
-0.74; again directly noun named 0.13; again directly talk -0.14; again later acts -0.38; again later acts acts 0.38;
again later acts bare 0.22; again later acts he -0.66; again later acts named 0.35; again later answer 0.71; again
later ask 0.36; again later bare 0.40; again later bare bare -0.19; again later bare he -0.94; again later bare named
0.57; again later he -0.43; again later he acts 0.22; again later he acts bare 0.45; again later he acts he acts
-0.49; again later he acts named -0.40; again later he bare 0.35; again later he he -0.12; again later he he acts
-0.21; again later he named -0.10; again later he noun 0.10; again later kin -0.19; again later named -0.34; again
later named acts 0.13; again later named bare 0.71; again later named he 0.06; again later named he acts 0.51; again
later named named -0.63; again later named noun -0.59; again later noun 0.09; again later noun acts 0.72; again later
talk 0.47; again same paragraph 1.56; again same paragraph he 1.52; another acted before 0.23; bare: acted before
0.20; bare: another acted before -0.20; bare: before says sir, does not fit -0.15; bare: before says sir, fits 0.60;
bare: beside 1.04; bare: called before 1.69; bare: called here -0.90; bare: called next 0.23; bare: called two before
0.49; bare: called two next 0.49; bare: mentioned before -0.39; bare: mentioned here 0.29; bare: mentioned next 0.21;
bare: mentioned two before -0.21; bare: mentioned two next 0.04; bare: named 1 ago 0.47; bare: named 1 ago last 0.23;
bare: named 12 ago 0.12; bare: named 12 ago last -0.48; bare: named 2 ago 0.31; bare: named 2 ago last 0.28; bare:
named 4 ago -0.10; bare: named 4 ago last -0.08; bare: named 8 ago -0.31; bare: named 8 ago last -0.23; bare: never
tagged 0.40; bare: next says sir, does not fit -0.14; bare: next says sir, fits -0.78; bare: not named before -0.20;
bare: noun -0.66; bare: often 0.16; bare: rank of tags 0 of 1 0.15; bare: rank of tags 0 of 2 -0.28; bare: rank of
tags 0 of 3 0.20; bare: rank of tags 0 of 4 -0.31; bare: rank of tags 1 of 3 0.34; bare: rank of tags 1 of 4 0.16;
bare: rank of tags 2 of 4 -0.13; bare: rank of tags 3 of 4 0.15; bare: rank of tags 4 of 4 0.19; bare: rare -0.34;
bare: recent 0 -0.15; bare: recent 1 -0.37; bare: recent 2 0.07; bare: recent 3 0.27; bare: recent 4 0.09; bare:
recent 5 0.09; bare: says sir to other sex -0.52; bare: says sir to own sex -1.38; bare: some -0.22; bare: tagged 1
after -0.61; bare: tagged 1 before -1.08; bare: tagged 10 before 0.12; bare: tagged 2 after 0.15; bare: tagged 2
before 0.17; bare: tagged 3 after 0.03; bare: tagged 3 before 0.45; bare: tagged 4 after -0.15; bare: tagged 4 before
0.09; bare: tagged 6 after 0.17; bare: tagged 6 before 0.11; bare: tagged not after 0.39; bare: tagged not before
0.14; bare: tags near 0 -0.42; bare: tags near 1 -0.37; bare: tags near 2 0.12; bare: tags near 3 0.27; bare: tags
near 4 0.40; bare: talking narrator 0.84; bare: two before says sir, does not fit -0.08; bare: two before says sir,
fits 0.05; bare: two next says sir, does not fit 0.37; bare: two next says sir, fits 1.00; before says sir, does not
fit -0.14; before says sir, fits 0.24; beside 1.45; called before 1.16; called here -3.32; called next 0.71; called
two before 0.47; called two next 0.54; he acted before 0.10; he acts: beside -0.06; he acts: called before 0.39; he
acts: called here -0.98; he acts: called next 0.06; he acts: called two before 0.39; he acts: he acted before -0.31;
he acts: he another acted before 0.31; he acts: he first of sex 0.04; he acts: he last of sex 0.05; he acts: he named
1 ago 0.11; he acts: he named 1 ago last 0.16; he acts: he named 12 ago -0.39; he acts: he named 12 ago last -0.08; he
acts: he named 2 ago 0.06; he acts: he named 4 ago 0.38; he acts: he named 4 ago last 0.06; he acts: he named 8 ago
-0.14; he acts: he named 8 ago last 0.05; he acts: he not named before -0.20; he acts: mentioned before -0.30; he
acts: mentioned here -1.25; he acts: mentioned two next 1.08; he acts: noun -0.31; he acts: often 0.13; he acts: rank
of tags 0 of 1 0.35; he acts: rank of tags 0 of 3 0.13; he acts: rank of tags 1 of 2 0.22; he acts: rank of tags 1 of
3 -0.04; he acts: rank of tags 1 of 4 -0.33; he acts: rank of tags 2 of 3 -0.42; he acts: rank of tags 2 of 4 -0.19;
he acts: rank of tags 3 of 4 0.22; he acts: rare -0.21; he acts: recent 0 0.31; he acts: recent 1 -0.23; he acts:
recent 2 -0.19; he acts: recent 3 -0.24; he acts: recent 5 0.36; he acts: some 0.08; he acts: tagged 1 after -0.41; he
acts: tagged 1 before 0.37; he acts: tagged 10 after -0.15; he acts: tagged 10 before -0.04; he acts: tagged 2 before
-0.29; he acts: tagged 3 after 0.15; he acts: tagged 3 before -0.10; he acts: tagged 4 after 0.05; he acts: tagged 4
before -0.37; he acts: tagged 6 after 0.16; he acts: tagged 6 before 0.37; he acts: tagged not after 0.23; he acts:
tagged not before 0.07; he acts: tags near 0 -0.27; he acts: tags near 1 -0.15; he acts: tags near 3 0.30; he acts:
tags near 4 0.11; he another acted before -0.10; he first of sex 0.23; he last of sex -0.13; he named 1 ago 0.43; he
named 1 ago last 0.53; he named 12 ago -0.27; he named 12 ago last -0.21; he named 2 ago 0.10; he named 2 ago last
-0.08; he named 4 ago 0.14; he named 4 ago last -0.06; he named 8 ago -0.19; he named 8 ago last -0.07; he not named
before -0.32; he: before says sir, does not fit 0.35; he: before says sir, fits 0.26; he: beside 0.05; he: called
before 0.68; he: called here -0.43; he: called next 0.33; he: called two before 0.12; he: called two next 0.12; he: he
acted before 0.41; he: he another acted before -0.41; he: he first of sex 0.18; he: he last of sex -0.18; he: he named
1 ago 0.31; he: he named 1 ago last 0.37; he: he named 12 ago 0.12; he: he named 12 ago last -0.13; he: he named 2 ago
0.04; he: he named 2 ago last -0.07; he: he named 4 ago -0.24; he: he named 4 ago last -0.11; he: he named 8 ago
-0.05; he: he named 8 ago last -0.13; he: he not named before -0.12; he: mentioned before 0.48; he: mentioned here
-0.15; he: mentioned next -0.18; he: mentioned two before 0.10; he: mentioned two next 0.05; he: never tagged -0.15;
he: next says sir, does not fit 0.77; he: next says sir, fits 0.39; he: noun 0.36; he: often 0.20; he: rank of tags 0
of 1 0.19; he: rank of tags 0 of 3 0.56; he: rank of tags 0 of 4 -0.26; he: rank of tags 1 of 2 0.42; he: rank of tags
1 of 3 0.17; he: rank of tags 2 of 3 -0.47; he: rank of tags 2 of 4 -0.15; he: rank of tags 3 of 4 -0.38; he: rank of
tags 4 of 4 -0.27; he: rare 0.07; he: recent 0 0.27; he: recent 1 -0.30; he: recent 2 -0.06; he: recent 3 0.07; he:
recent 4 0.05; he: says sir to other sex -0.40; he: says sir to own sex 0.36; he: some -0.12; he: tagged 1 after
-0.26; he: tagged 1 before 0.05; he: tagged 10 before -0.19; he: tagged 2 after 0.18; he: tagged 2 before 0.07; he:
tagged 3 after 0.07; he: tagged 3 before 0.32; he: tagged 6 after -0.06; he: tagged 6 before -0.05; he: tagged not
after 0.08; he: tagged not before -0.22; he: tags near 0 0.20; he: tags near 1 0.07; he: tags near 2 -0.15; he: tags
near 3 -0.12; he: talking narrator -0.78; he: two before says sir, does not fit -0.47; he: two before says sir, fits
0.46; he: two next says sir, does not fit -1.16; he: two next says sir, fits 0.94; kin acted before 0.11; kin another
acted before -0.11; kin first of sex 0.82; kin last of sex -0.08; kin mother has a name 0.03; kin named 1 ago -0.20;
kin named 1 ago last -0.63; kin named 12 ago 0.73; kin named 12 ago last 0.18; kin named 2 ago last 0.34; kin named 4
ago 0.32; kin named 4 ago last -0.41; kin named 8 ago 0.31; kin not named before -0.61; kin role has most 0.47; kin
role has most often -0.12; kin role has most once 0.59; kin role has not 0.18; kin role has not once 0.18; kin role
has once 0.12; kin role none have 0.18; kin role none have once 0.18; kin: called here -0.08; kin: called next 0.20;
kin: called two before -0.85; kin: kin acted before 0.14; kin: kin another acted before -0.14; kin: kin first of sex
-0.67; kin: kin last of sex -0.16; kin: kin named 1 ago -0.35; kin: kin named 1 ago last -0.73; kin: kin named 12 ago
last 0.52; kin: kin named 2 ago last -0.06; kin: kin named 4 ago last -0.11; kin: kin named 8 ago 0.31; kin: kin named
8 ago last 0.58; kin: kin not named before 0.25; kin: never tagged -1.14; kin: noun -0.23; kin: often 0.34; kin: rank
of tags 0 of 3 -0.12; kin: rank of tags 0 of 4 -0.18; kin: rank of tags 1 of 3 -0.67; kin: rank of tags 1 of 4 -0.66;
kin: rare 0.80; kin: recent 0 0.52; kin: recent 1 0.36; kin: recent 2 0.30; kin: recent 3 -0.46; kin: recent 4 -0.32;
kin: recent 5 -0.40; kin: tagged 1 after 0.05; kin: tagged 10 after -0.11; kin: tagged 10 before -0.04; kin: tagged 2
after -0.78; kin: tagged 2 before -0.16; kin: tagged 3 after 0.35; kin: tagged 4 after 0.86; kin: tagged 4 before
0.10; kin: tagged 6 after -0.24; kin: tagged 6 before 0.33; kin: tagged not after -0.13; kin: tagged not before 0.08;
kin: tags near 0 -0.50; kin: tags near 1 0.09; kin: tags near 2 0.41; kin: tags near 3 -0.08; kin: tags near 4 0.08;
lead_in1 he is another sex 0.58; lead_in1 he may be it 0.56; lead_in1 he of unknown sex -1.07; lead_in1 is another
-0.25; lead_in1 is it 0.84; lead_in2 he is another sex 0.32; lead_in2 he may be it 0.27; lead_in2 he of unknown sex
-0.53; lead_in2 is it 0.13; mentioned before -0.24; mentioned here -2.50; mentioned next -0.48; mentioned two before
-0.17; mentioned two next -0.28; named 1 ago 0.34; named 1 ago last 0.36; named 12 ago -0.40; named 12 ago last 0.12;
named 2 ago -0.14; named 2 ago last -0.12; named 4 ago 0.05; named 8 ago last 0.08; named: acted before -0.52; named:
another acted before 0.52; named: before says sir, does not fit 0.30; named: before says sir, fits -0.23; named:
beside 0.70; named: called before -0.18; named: called here 0.23; named: called next -1.04; named: called two before
-0.42; named: called two next -0.36; named: mentioned before -0.30; named: mentioned here -0.30; named: mentioned next
0.39; named: mentioned two before 0.09; named: mentioned two next 0.54; named: named 1 ago -0.29; named: named 1 ago
last -0.37; named: named 12 ago -0.19; named: named 12 ago last -0.17; named: named 2 ago 0.62; named: named 4 ago
0.14; named: named 4 ago last -0.06; named: named 8 ago 0.12; named: named 8 ago last 0.21; named: never tagged 0.43;
named: next says sir, does not fit 0.04; named: next says sir, fits 0.21; named: noun 0.72; named: often -0.21; named:
rank of tags 0 of 1 0.22; named: rank of tags 0 of 2 -0.76; named: rank of tags 0 of 3 0.42; named: rank of tags 0 of
4 0.37; named: rank of tags 1 of 2 -0.20; named: rank of tags 1 of 3 0.36; named: rank of tags 1 of 4 0.12; named:
rank of tags 2 of 3 -0.24; named: rank of tags 2 of 4 -0.28; named: rank of tags 3 of 4 0.33; named: rank of tags 4 of
4 -0.69; named: rare -0.14; named: recent 0 -0.05; named: recent 1 -0.16; named: recent 2 -0.21; named: recent 3 0.13;
named: recent 4 0.04; named: recent 5 0.25; named: says sir to other sex 0.64; named: says sir to own sex 0.19; named:
some -0.07; named: tagged 1 after 0.07; named: tagged 1 before 0.39; named: tagged 10 after -0.28; named: tagged 2
before 0.25; named: tagged 3 after 0.41; named: tagged 3 before -0.26; named: tagged 4 after -0.07; named: tagged 4
before 0.20; named: tagged 6 after -0.14; named: tagged 6 before -0.19; named: tagged not before -0.37; named: tags
near 0 0.34; named: tags near 1 -0.06; named: tags near 2 -0.05; named: tags near 3 0.05; named: tags near 4 -0.29;
named: talking narrator 0.03; named: two before says sir, does not fit 0.79; named: two before says sir, fits -1.25;
named: two next says sir, does not fit -0.56; never tagged -0.68; next says sir, does not fit -0.70; next says sir,
fits 0.86; not named before -0.27; noun 0.19; noun acts: acted before 0.31; noun acts: another acted before -0.31;
noun acts: named 1 ago last 0.22; noun acts: named 12 ago -0.71; noun acts: named 4 ago 0.19; noun acts: named 4 ago
last -0.24; noun acts: named 8 ago 0.05; noun acts: named 8 ago last 0.14; noun acts: never tagged -0.56; noun acts:
not named before 0.59; noun acts: noun 0.60; noun acts: often -0.26; noun acts: rank of tags 0 of 4 1.38; noun acts:
rank of tags 1 of 4 0.05; noun acts: rare 0.71; noun acts: recent 0 -0.04; noun acts: recent 1 -0.08; noun acts:
recent 2 0.23; noun acts: recent 3 0.12; noun acts: recent 4 -0.30; noun acts: recent 5 0.07; noun acts: some 0.11;
noun acts: tagged 1 after -0.49; noun acts: tagged 1 before -1.09; noun acts: tagged 10 after 0.28; noun acts: tagged
10 before 0.98; noun acts: tagged 2 before -0.73; noun acts: tagged 6 before -0.58; noun acts: tagged not after -0.17;
noun acts: tagged not before 0.58; noun acts: tags near 0 0.40; noun acts: tags near 1 -0.23; noun acts: tags near 2
0.10; noun acts: tags near 3 -0.14; noun acts: tags near 4 -0.14; noun girl -0.71; noun girl has a name 0.71; noun
lady -0.69; noun lady has a name 0.68; noun man -0.16; noun man has a name 0.16; noun other -0.71; noun other has a
name 0.71; noun role has 0.14; noun role has most often 0.60; noun role has most once -0.58; noun role has not -0.44;
noun role has not once -0.44; noun role has once -0.31; noun role none have -0.52; noun role none have once -0.52;
noun used 1 0.41; noun used 4 0.17; noun used often -0.61; noun voice -1.04; noun voice has a name 0.85; noun: acted
before -0.27; noun: another acted before 0.27; noun: beside -0.38; noun: called before 0.95; noun: called here -0.40;
noun: called next 0.13; noun: called two before 0.12; noun: called two next -0.12; noun: mentioned before 0.67; noun:
mentioned here 0.59; noun: mentioned next 0.19; noun: mentioned two before 0.44; noun: named 1 ago 0.25; noun: named 1
ago last 0.08; noun: named 12 ago 0.09; noun: named 12 ago last -0.16; noun: named 2 ago -0.19; noun: named 2 ago last
0.15; noun: named 4 ago 0.10; noun: named 4 ago last 0.36; noun: named 8 ago -0.12; noun: named 8 ago last -0.08;
noun: never tagged 0.77; noun: not named before -0.47; noun: noun -0.15; noun: often -0.39; noun: rank of tags 0 of 2
-0.58; noun: rank of tags 0 of 3 -0.19; noun: rank of tags 0 of 4 -0.30; noun: rank of tags 1 of 2 0.44; noun: rank of
tags 1 of 3 0.42; noun: rank of tags 1 of 4 0.53; noun: rank of tags 2 of 3 -0.40; noun: rank of tags 2 of 4 0.23;
noun: rank of tags 3 of 4 0.13; noun: rare 0.06; noun: recent 0 -0.10; noun: recent 1 -0.59; noun: recent 2 0.10;
noun: recent 3 -0.35; noun: recent 4 0.15; noun: recent 5 0.79; noun: some -0.44; noun: tagged 1 after 0.59; noun:
tagged 1 before 0.31; noun: tagged 10 after -0.18; noun: tagged 10 before -0.31; noun: tagged 2 after -0.15; noun:
tagged 2 before 0.16; noun: tagged 3 before -0.06; noun: tagged 4 after -0.33; noun: tagged 4 before -0.22; noun:
tagged 6 after -0.15; noun: tagged 6 before -0.15; noun: tagged not after 0.23; noun: tagged not before 0.26; noun:
tags near 0 -0.47; noun: tags near 1 -0.36; noun: tags near 2 0.22; noun: tags near 3 0.10; noun: tags near 4 0.52;
noun: talking narrator 0.31; often 0.20; rank of tags 0 of 1 -0.13; rank of tags 0 of 2 0.25; rank of tags 0 of 3
-0.26; rank of tags 0 of 4 0.08; rank of tags 1 of 3 -0.03; rank of tags 2 of 3 0.46; rank of tags 2 of 4 0.15; rank
of tags 3 of 4 -0.16; rare 0.06; recent 0 0.47; recent 1 0.57; recent 3 -0.29; recent 4 -0.39; recent 5 -0.40; says
sir to own sex -0.29; some 0.42; tag1 he is another sex -1.29; tag1 he may be it 1.50; tag1 he not i -0.78; tag1 he of
unknown sex 0.56; tag1 is another -2.33; tag1 is it 2.51; tag1 kin is another sex -0.86; tag1 kin may be it 0.43; tag1
kin of unknown sex 0.42; tag1 noun is another sex -1.71; tag1 noun may be it 1.54; tag2 he is another sex -1.53; tag2
he may be it 1.13; tag2 he not i -0.25; tag2 he of unknown sex 0.65; tag2 is another -1.02; tag2 is it 0.70; tag2 kin
is another sex -1.46; tag2 kin may be it 0.87; tag2 kin of unknown sex 0.58; tag2 noun is another sex -0.55; tag2 noun
may be it 0.88; tagged 1 after -0.64; tagged 1 before -0.78; tagged 10 after 0.05; tagged 10 before 0.28; tagged 2
after 0.14; tagged 2 before -0.44; tagged 3 after 0.36; tagged 3 before 0.21; tagged 4 after 0.23; tagged 4 before
0.12; tagged 6 after 0.07; tagged 6 before 0.12; tagged not after -0.22; tagged not before 0.51; tags near 0 -0.38;
tags near 1 0.24; tags near 2 0.05; tags near 3 0.04; tags near 4 0.05; talking narrator 0.98; two before 1 talk 0.26;
two before 2 answer 1.69; two before 2 ask 1.60; two before 2 talk 1.44; two before 3 answer 1.01; two before 3 ask
1.15; two before 3 talk 1.12; two before 4 answer 0.91; two before 4 ask 0.61; two before 4 talk 0.40; two before 5
answer 0.51; two before 5 ask -0.23; two before 5 talk 0.49; two before 6 answer 0.27; two before 6 ask 0.38; two
before 6 talk -0.15; two before bare 2.15; two before directly directly acts 0.40; two before directly directly acts
bare 0.05; two before directly directly acts named -0.95; two before directly directly bare 1.26; two before directly
directly bare acts -0.44; two before directly directly bare bare 0.95; two before directly directly bare he 0.05; two
before directly directly bare kin 0.07; two before directly directly bare named -0.14; two before directly directly
bare noun -0.16; two before directly directly he 0.31; two before directly directly he acts bare 1.52; two before
directly directly he acts he 0.34; two before directly directly he acts named 0.81; two before directly directly he
bare 1.24; two before directly directly he he 0.14; two before directly directly he he acts 0.29; two before directly
directly he named 0.19; two before directly directly he noun -0.39; two before directly directly kin -0.05; two before
directly directly kin named -0.94; two before directly directly named -0.52; two before directly directly named acts
0.03; two before directly directly named bare 0.03; two before directly directly named he -0.14; two before directly
directly named he acts -0.60; two before directly directly named named -0.06; two before directly directly named noun
-0.09; two before directly directly noun 0.41; two before directly directly noun acts 1.24; two before directly
directly noun bare 0.12; two before directly directly noun he -0.18; two before directly directly noun named 0.75; two
before directly later acts -0.18; two before directly later acts he 0.53; two before directly later bare 0.43; two
before directly later bare acts 0.07; two before directly later bare bare 0.54; two before directly later bare he
0.19; two before directly later bare he acts 0.16; two before directly later bare named -0.32; two before directly
later he 0.24; two before directly later he he -0.27; two before directly later he he acts 0.19; two before directly
later he named 0.24; two before directly later named -0.44; two before directly later named acts -0.73; two before
directly later named bare -0.64; two before directly later named he 0.33; two before directly later named he acts
0.18; two before directly later named named -0.47; two before directly later noun -0.32; two before directly later
noun he 1.44; two before he 0.74; two before later directly acts -0.49; two before later directly acts bare 0.12; two
before later directly acts he 0.64; two before later directly acts named 0.13; two before later directly bare 0.41;
two before later directly bare bare 0.31; two before later directly bare named 0.08; two before later directly he
0.61; two before later directly he acts 0.42; two before later directly he acts bare 0.06; two before later directly
he acts he -0.69; two before later directly he acts named -0.24; two before later directly he bare -0.20; two before
later directly he he -0.34; two before later directly he named -0.82; two before later directly he noun -0.22; two
before later directly named -0.33; two before later directly named bare 0.09; two before later directly named he
-0.10; two before later directly named named 0.16; two before later directly noun 0.17; two before later directly noun
acts 0.12; two before later later acts 0.33; two before later later acts he -0.14; two before later later acts named
-0.11; two before later later bare 0.57; two before later later he 0.13; two before later later he acts 0.63; two
before later later he acts he -0.08; two before later later he acts named 0.15; two before later later he bare -0.22;
two before later later he he 0.57; two before later later he he acts 0.08; two before later later he named 0.34; two
before later later named -0.06; two before later later named acts 1.05; two before later later named he -0.53; two
before later later named he acts 0.33; two before later later named named -0.24; two before named 0.36; two before
says sir, does not fit -0.07; two before says sir, fits 0.26; two next says sir, does not fit -0.07; two next says
sir, fits -0.39
"""

_ENTRIES = (" ".join(entry.split()).rpartition(" ") for entry in _TABLE.split(";"))

WEIGHTS = {name: float(value) for name, _, value in _ENTRIES}

# fmt: off
CALIBRATION = (
(0.0, 0.087), (0.3, 0.274), (0.4, 0.35), (0.5, 0.451), (0.6, 0.527), (0.7, 0.624), (0.8, 0.698), (0.85, 0.757),
(0.9, 0.815), (0.94, 0.862), (0.97, 0.909), (0.985, 0.941), (0.993, 0.964), (0.997, 0.981), (0.999, 0.992),
(1.0, 0.996),
)
# fmt: on
"""Probabilities of the chain, and how often they were right on novels that the weights did not know."""
