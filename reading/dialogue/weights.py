"""What each sign of a speaker is worth, in logarithms of odds. Made by `training.dialogue.learn`.

Learnt from 18 novels of the Project Dialogism Novel Corpus (`benchmarks/speech/speakers.py` names the other ten): a
chain of turns as a conditional random field, by L-BFGS with a quadratic penalty. Names are those of `signs`.
"""

from __future__ import annotations

_TABLE = """
acted before -0.36; action1 he is another sex -0.85; action1 he may be it 0.58; action1 he of unknown sex 0.34;
action1 is another -1.29; action1 is it 1.80; action1 noun may be it -0.15; action2 he is another sex -0.53; action2
he may be it 0.73; action2 he of unknown sex 0.14; action2 is another -0.65; action2 is it 0.68; action2 noun is
another sex -0.45; action2 noun may be it 0.44; acts: acted before 0.09; acts: another acted before -0.09; acts:
beside 0.73; acts: called before -1.21; acts: called here -0.25; acts: called next -0.20; acts: called two before
-0.05; acts: called two next 0.05; acts: mentioned before 0.21; acts: mentioned here -0.33; acts: mentioned next 0.05;
acts: mentioned two next -0.39; acts: named 1 ago 0.06; acts: named 1 ago last 0.14; acts: named 12 ago 0.30; acts:
named 2 ago -0.12; acts: named 2 ago last -0.43; acts: named 4 ago -0.30; acts: named 8 ago 0.30; acts: named 8 ago
last 0.09; acts: never tagged -0.23; acts: noun 0.06; acts: often -0.04; acts: rank of tags 0 of 1 -0.81; acts: rank
of tags 0 of 2 0.23; acts: rank of tags 0 of 3 -0.09; acts: rank of tags 0 of 4 -0.06; acts: rank of tags 1 of 2 0.80;
acts: rank of tags 1 of 3 -0.55; acts: rank of tags 1 of 4 -0.29; acts: rank of tags 2 of 3 0.21; acts: rank of tags 2
of 4 0.27; acts: rank of tags 3 of 4 0.06; acts: rare 0.08; acts: recent 0 -0.07; acts: recent 1 0.10; acts: recent 2
-0.23; acts: recent 3 0.14; acts: recent 4 -0.10; acts: recent 5 0.15; acts: some 0.19; acts: tagged 1 after 0.36;
acts: tagged 1 before 0.34; acts: tagged 10 after 0.12; acts: tagged 2 after 0.52; acts: tagged 2 before 0.10; acts:
tagged 3 before 0.31; acts: tagged 4 after -0.48; acts: tagged 4 before -0.04; acts: tagged 6 after -0.44; acts:
tagged 6 before -0.29; acts: tagged not after -0.08; acts: tagged not before -0.42; acts: tags near 0 0.29; acts: tags
near 2 -0.14; acts: tags near 3 -0.04; acts: tags near 4 -0.12; again 1 -0.41; again 2 1.11; again 3 0.35; again 4
-0.47; again 5 0.41; again 7 -0.37; again 8 -0.07; again continues 1.97; again directly acts -0.60; again directly
acts acts -0.35; again directly acts bare 0.12; again directly acts he 0.05; again directly acts named -0.28; again
directly answer -0.58; again directly ask 0.28; again directly bare -0.94; again directly bare acts -0.74; again
directly bare bare -0.75; again directly bare he 0.28; again directly bare he acts -0.35; again directly bare kin
0.04; again directly bare named 0.66; again directly bare noun 1.09; again directly bare noun acts -0.07; again
directly he 0.58; again directly he acts -0.23; again directly he acts bare 0.20; again directly he acts he 0.69;
again directly he acts named -0.37; again directly he bare 0.23; again directly he he 0.83; again directly he he acts
-0.29; again directly he named -0.21; again directly he noun 0.58; again directly kin -0.52; again directly kin named
-0.22; again directly named -0.79; again directly named acts -0.28; again directly named bare -0.31; again directly
named he 0.08; again directly named he acts -0.33; again directly named kin -0.04; again directly named named 1.23;
again directly named noun 0.20; again directly noun -0.73; again directly noun acts -0.48; again directly noun bare
-0.16; again directly noun he -0.45; again directly noun named -0.12; again directly talk -0.11; again later acts
-0.12; again later acts acts 0.20; again later acts bare 0.21; again later acts he -0.81; again later acts named 0.41;
again later answer 0.57; again later ask 0.12; again later bare 0.67; again later bare bare -0.12; again later bare he
-0.80; again later bare named 0.18; again later he -0.18; again later he acts 0.16; again later he acts bare 0.71;
again later he acts he 0.20; again later he acts he acts -0.21; again later he acts named 0.13; again later he bare
0.41; again later he he acts -0.26; again later he named -0.09; again later he noun -0.03; again later kin 0.20; again
later named 0.17; again later named acts 0.22; again later named bare 0.57; again later named he -0.14; again later
named he acts 0.15; again later named named -1.01; again later named noun -0.29; again later noun 0.65; again later
noun acts 0.96; again later talk 0.31; again same paragraph 2.11; again same paragraph he 0.84; again same paragraph
named -0.27; another acted before 0.36; bare: acted before 0.35; bare: another acted before -0.35; bare: before says
sir, does not fit -0.31; bare: before says sir, fits 0.44; bare: beside 0.80; bare: called before 1.25; bare: called
here -0.57; bare: called next 0.29; bare: called two before 0.40; bare: called two next 0.56; bare: mentioned before
-0.44; bare: mentioned here 0.42; bare: mentioned next 0.15; bare: mentioned two before -0.32; bare: mentioned two
next -0.17; bare: named 1 ago 0.37; bare: named 1 ago last 0.18; bare: named 12 ago 0.11; bare: named 12 ago last
-0.35; bare: named 2 ago 0.21; bare: named 2 ago last 0.21; bare: named 4 ago -0.06; bare: named 4 ago last -0.06;
bare: named 8 ago -0.28; bare: named 8 ago last -0.21; bare: never tagged 0.42; bare: next says sir, does not fit
0.04; bare: next says sir, fits -0.36; bare: not named before -0.10; bare: noun -0.61; bare: often 0.15; bare: rank of
tags 0 of 1 0.14; bare: rank of tags 0 of 2 -0.10; bare: rank of tags 0 of 3 0.06; bare: rank of tags 0 of 4 -0.32;
bare: rank of tags 1 of 2 -0.22; bare: rank of tags 1 of 3 0.29; bare: rank of tags 1 of 4 0.24; bare: rank of tags 2
of 3 0.20; bare: rank of tags 2 of 4 -0.07; bare: rank of tags 3 of 4 0.14; bare: rank of tags 4 of 4 0.08; bare: rare
-0.36; bare: recent 0 -0.16; bare: recent 1 -0.18; bare: recent 2 0.08; bare: recent 3 0.28; bare: recent 4 0.06;
bare: recent 5 -0.08; bare: says sir to own sex -0.87; bare: some -0.20; bare: tagged 1 after -0.62; bare: tagged 1
before -1.02; bare: tagged 10 after 0.04; bare: tagged 10 before 0.13; bare: tagged 2 after 0.18; bare: tagged 2
before 0.04; bare: tagged 3 after -0.06; bare: tagged 3 before 0.40; bare: tagged 4 after -0.12; bare: tagged 4 before
0.11; bare: tagged 6 after 0.23; bare: tagged 6 before 0.13; bare: tagged not after 0.35; bare: tagged not before
0.20; bare: tags near 0 -0.46; bare: tags near 1 -0.27; bare: tags near 2 0.07; bare: tags near 3 0.27; bare: tags
near 4 0.39; bare: talking narrator 0.39; bare: two before says sir, does not fit -0.29; bare: two before says sir,
fits 0.15; bare: two next says sir, fits 0.35; before says sir, does not fit -0.18; before says sir, fits 0.14; beside
1.70; called before 1.54; called here -3.62; called next 0.70; called two before 0.50; called two next 0.49; he acted
before 0.21; he acts: beside -0.42; he acts: called before -0.06; he acts: called here -0.40; he acts: called next
0.13; he acts: called two before 0.25; he acts: called two next -0.07; he acts: he acted before -0.46; he acts: he
another acted before 0.46; he acts: he last of sex -0.06; he acts: he named 1 ago -0.13; he acts: he named 1 ago last
-0.08; he acts: he named 12 ago -0.30; he acts: he named 12 ago last -0.07; he acts: he named 2 ago last 0.07; he
acts: he named 4 ago 0.40; he acts: he named 4 ago last 0.10; he acts: he named 8 ago -0.06; he acts: he named 8 ago
last 0.09; he acts: mentioned before -0.15; he acts: mentioned here -0.48; he acts: mentioned two before -0.03; he
acts: mentioned two next 0.73; he acts: never tagged -0.15; he acts: noun -0.07; he acts: often 0.22; he acts: rank of
tags 0 of 1 0.31; he acts: rank of tags 0 of 2 0.22; he acts: rank of tags 0 of 3 0.06; he acts: rank of tags 1 of 3
-0.12; he acts: rank of tags 1 of 4 -0.31; he acts: rank of tags 2 of 3 -0.08; he acts: rank of tags 2 of 4 -0.15; he
acts: rank of tags 3 of 4 0.10; he acts: rare -0.20; he acts: recent 0 0.32; he acts: recent 2 -0.16; he acts: recent
3 -0.31; he acts: recent 4 -0.09; he acts: recent 5 0.24; he acts: some 0.14; he acts: tagged 1 after -0.37; he acts:
tagged 1 before 0.09; he acts: tagged 10 after -0.18; he acts: tagged 10 before 0.03; he acts: tagged 2 after -0.05;
he acts: tagged 2 before -0.33; he acts: tagged 3 after 0.05; he acts: tagged 3 before -0.07; he acts: tagged 4 after
0.24; he acts: tagged 4 before -0.27; he acts: tagged 6 after 0.22; he acts: tagged 6 before 0.48; he acts: tagged not
after 0.10; he acts: tagged not before 0.06; he acts: tags near 0 -0.15; he acts: tags near 1 0.03; he acts: tags near
3 0.22; he acts: tags near 4 -0.07; he another acted before -0.21; he first of sex 0.38; he named 1 ago 0.61; he named
1 ago last 0.71; he named 12 ago -0.31; he named 12 ago last -0.27; he named 2 ago 0.14; he named 2 ago last -0.12; he
named 4 ago 0.16; he named 4 ago last -0.08; he named 8 ago -0.27; he named 8 ago last -0.10; he not named before
-0.48; he: before says sir, does not fit 0.08; he: before says sir, fits 0.09; he: beside -0.21; he: called before
0.51; he: called here -0.03; he: called next 0.44; he: called two before 0.09; he: called two next 0.22; he: he acted
before 0.30; he: he another acted before -0.30; he: he first of sex 0.07; he: he last of sex -0.28; he: he named 1 ago
0.07; he: he named 1 ago last 0.19; he: he named 12 ago 0.23; he: he named 12 ago last -0.05; he: he named 2 ago last
-0.04; he: he named 4 ago -0.32; he: he named 4 ago last -0.13; he: he named 8 ago 0.05; he: he named 8 ago last
-0.08; he: he not named before 0.10; he: mentioned before 0.55; he: mentioned here -0.06; he: mentioned next -0.30;
he: mentioned two before 0.08; he: mentioned two next -0.15; he: never tagged -0.22; he: next says sir, does not fit
0.16; he: next says sir, fits 0.16; he: noun 0.59; he: often 0.20; he: rank of tags 0 of 1 0.21; he: rank of tags 0 of
2 0.17; he: rank of tags 0 of 3 0.42; he: rank of tags 0 of 4 -0.25; he: rank of tags 1 of 2 0.19; he: rank of tags 1
of 3 0.08; he: rank of tags 1 of 4 0.06; he: rank of tags 2 of 3 -0.39; he: rank of tags 2 of 4 -0.11; he: rank of
tags 3 of 4 -0.45; he: rank of tags 4 of 4 -0.11; he: rare 0.10; he: recent 0 0.26; he: recent 1 -0.10; he: recent 2
-0.07; he: recent 3 0.12; he: recent 5 -0.22; he: says sir to other sex -0.41; he: says sir to own sex 0.44; he: some
-0.08; he: tagged 1 after -0.26; he: tagged 1 before 0.04; he: tagged 10 after 0.06; he: tagged 10 before -0.13; he:
tagged 2 after 0.17; he: tagged 3 before 0.31; he: tagged 4 after 0.05; he: tagged 4 before 0.07; he: tagged 6 after
-0.05; he: tagged 6 before -0.10; he: tagged not after 0.03; he: tagged not before -0.17; he: tags near 0 0.19; he:
tags near 1 0.19; he: tags near 2 -0.19; he: tags near 3 -0.16; he: talking narrator -0.15; he: two before says sir,
does not fit -0.45; he: two before says sir, fits 0.51; he: two next says sir, does not fit -0.48; he: two next says
sir, fits 0.46; kin acted before 0.06; kin another acted before -0.06; kin first of sex 0.37; kin mother has a name
0.03; kin named 1 ago last -1.00; kin named 12 ago 0.39; kin named 12 ago last 0.20; kin named 2 ago 0.45; kin named 2
ago last 0.14; kin named 4 ago 0.38; kin named 4 ago last -0.24; kin named 8 ago 0.25; kin named 8 ago last 0.29; kin
not named before -0.87; kin role has -0.18; kin role has most 0.37; kin role has most often -0.11; kin role has most
once 0.48; kin role has not 0.07; kin role has not once 0.07; kin role has once -0.13; kin role none have 0.07; kin
role none have once 0.07; kin: called here 0.09; kin: called two before -0.45; kin: kin acted before 0.07; kin: kin
another acted before -0.07; kin: kin first of sex -0.39; kin: kin last of sex -0.07; kin: kin named 1 ago -0.29; kin:
kin named 1 ago last -0.10; kin: kin named 12 ago -0.15; kin: kin named 12 ago last 0.30; kin: kin named 2 ago last
0.21; kin: kin named 4 ago last -0.15; kin: kin named 8 ago 0.15; kin: kin named 8 ago last 0.15; kin: kin not named
before 0.11; kin: never tagged -0.88; kin: noun -0.22; kin: often 0.32; kin: rank of tags 0 of 3 -0.06; kin: rank of
tags 0 of 4 0.10; kin: rank of tags 1 of 3 -0.40; kin: rank of tags 1 of 4 -0.43; kin: rare 0.52; kin: recent 0 0.14;
kin: recent 1 0.33; kin: recent 2 0.34; kin: recent 3 -0.40; kin: recent 4 -0.20; kin: recent 5 -0.21; kin: some 0.04;
kin: tagged 1 after 0.03; kin: tagged 1 before -0.18; kin: tagged 10 after 0.10; kin: tagged 10 before -0.07; kin:
tagged 2 after -0.63; kin: tagged 2 before -0.09; kin: tagged 3 after 0.08; kin: tagged 4 after 0.69; kin: tagged 4
before 0.03; kin: tagged 6 after -0.14; kin: tagged 6 before 0.36; kin: tagged not after -0.14; kin: tagged not before
0.11; kin: tags near 0 -0.35; kin: tags near 1 0.29; kin: tags near 2 0.15; kin: tags near 3 -0.06; lead_in1 he is
another sex 0.64; lead_in1 he may be it 0.52; lead_in1 he of unknown sex -0.96; lead_in1 is another 0.10; lead_in1 is
it 1.40; lead_in1 noun may be it -0.58; lead_in2 he is another sex 0.34; lead_in2 he may be it 0.34; lead_in2 he of
unknown sex -0.54; lead_in2 is it 0.13; mentioned before -0.20; mentioned here -2.64; mentioned next -0.39; mentioned
two before -0.14; mentioned two next -0.10; named 1 ago 0.42; named 1 ago last 0.44; named 12 ago -0.41; named 2 ago
-0.03; named 2 ago last -0.03; named 8 ago -0.07; named 8 ago last 0.05; named: acted before -0.42; named: another
acted before 0.42; named: before says sir, does not fit 0.25; named: before says sir, fits -0.23; named: beside 0.55;
named: called before -0.57; named: called here 0.41; named: called next -1.10; named: called two before -0.54; named:
called two next -0.34; named: mentioned before -0.26; named: mentioned here -0.14; named: mentioned next 0.30; named:
mentioned two before 0.04; named: mentioned two next 0.34; named: named 1 ago -0.46; named: named 1 ago last -0.40;
named: named 12 ago -0.28; named: named 2 ago 0.50; named: named 4 ago 0.19; named: named 4 ago last -0.06; named:
named 8 ago 0.15; named: named 8 ago last 0.21; named: never tagged 0.54; named: next says sir, does not fit -0.16;
named: next says sir, fits 0.25; named: not named before 0.18; named: noun 0.73; named: often -0.23; named: rank of
tags 0 of 1 0.07; named: rank of tags 0 of 2 -0.57; named: rank of tags 0 of 3 0.27; named: rank of tags 0 of 4 0.32;
named: rank of tags 1 of 2 -0.33; named: rank of tags 1 of 3 0.22; named: rank of tags 1 of 4 0.18; named: rank of
tags 2 of 3 -0.12; named: rank of tags 2 of 4 -0.25; named: rank of tags 3 of 4 0.30; named: rank of tags 4 of 4
-0.28; named: rare -0.28; named: recent 0 -0.12; named: recent 1 -0.04; named: recent 2 -0.17; named: recent 3 0.18;
named: recent 5 0.13; named: says sir to other sex 0.39; named: says sir to own sex -0.18; named: some -0.04; named:
tagged 1 after -0.05; named: tagged 1 before 0.14; named: tagged 10 after -0.23; named: tagged 10 before 0.04; named:
tagged 2 before 0.23; named: tagged 3 after 0.37; named: tagged 3 before -0.34; named: tagged 4 before 0.34; named:
tagged 6 after -0.06; named: tagged 6 before -0.18; named: tagged not before -0.23; named: tags near 0 0.20; named:
tags near 1 0.03; named: tags near 2 -0.07; named: tags near 3 0.10; named: tags near 4 -0.26; named: talking narrator
-0.14; named: two before says sir, does not fit 0.80; named: two before says sir, fits -0.93; named: two next says
sir, does not fit -0.10; named: two next says sir, fits -0.08; never tagged -0.67; next says sir, does not fit -0.72;
next says sir, fits 0.68; not named before -0.38; noun 0.14; noun acts: acted before 0.17; noun acts: another acted
before -0.17; noun acts: named 12 ago -0.22; noun acts: named 4 ago -0.05; noun acts: named 4 ago last -0.42; noun
acts: named 8 ago last -0.05; noun acts: never tagged -0.26; noun acts: not named before 0.60; noun acts: noun 0.40;
noun acts: often -0.22; noun acts: rank of tags 0 of 4 0.61; noun acts: rank of tags 1 of 4 -0.12; noun acts: rare
0.39; noun acts: recent 0 -0.07; noun acts: recent 1 0.20; noun acts: recent 2 0.16; noun acts: recent 4 -0.09; noun
acts: recent 5 -0.23; noun acts: some 0.10; noun acts: tagged 1 after -0.19; noun acts: tagged 1 before -0.36; noun
acts: tagged 10 after 0.11; noun acts: tagged 10 before 0.45; noun acts: tagged 2 before -0.42; noun acts: tagged 6
before -0.29; noun acts: tagged not after -0.20; noun acts: tagged not before 0.56; noun acts: tags near 0 0.35; noun
acts: tags near 1 -0.28; noun acts: tags near 2 0.23; noun acts: tags near 3 -0.15; noun acts: tags near 4 -0.14; noun
girl -0.79; noun girl has a name 0.79; noun lady -0.66; noun lady has a name 0.66; noun man -0.08; noun man has a name
0.08; noun other -0.66; noun other has a name 0.66; noun role has 0.29; noun role has most 0.30; noun role has most
often 0.64; noun role has most once -0.34; noun role has not -0.22; noun role has not once -0.22; noun role has once
0.14; noun role none have -0.27; noun role none have once -0.27; noun used 1 0.30; noun used often -0.73; noun voice
-0.70; noun voice has a name 0.66; noun: acted before -0.09; noun: another acted before 0.09; noun: beside -0.77;
noun: called before 0.61; noun: called next 0.14; noun: called two before 0.06; noun: called two next 0.05; noun:
mentioned before 0.42; noun: mentioned here 0.23; noun: mentioned next 0.03; noun: mentioned two before 0.29; noun:
named 1 ago 0.14; noun: named 12 ago last 0.03; noun: named 2 ago -0.40; noun: named 2 ago last 0.09; noun: named 4
ago 0.23; noun: named 4 ago last 0.39; noun: never tagged 0.74; noun: not named before -0.45; noun: noun -0.42; noun:
often -0.43; noun: rank of tags 0 of 2 -0.37; noun: rank of tags 0 of 3 -0.29; noun: rank of tags 0 of 4 -0.25; noun:
rank of tags 1 of 2 0.25; noun: rank of tags 1 of 3 0.52; noun: rank of tags 1 of 4 0.57; noun: rank of tags 2 of 3
-0.28; noun: rank of tags 2 of 4 0.26; noun: rank of tags 3 of 4 -0.08; noun: rare 0.06; noun: recent 0 -0.13; noun:
recent 1 -0.41; noun: recent 2 0.07; noun: recent 3 -0.35; noun: recent 4 0.07; noun: recent 5 0.75; noun: some -0.36;
noun: tagged 1 after 0.47; noun: tagged 1 before 0.25; noun: tagged 10 after -0.13; noun: tagged 10 before -0.25;
noun: tagged 2 after -0.09; noun: tagged 2 before 0.15; noun: tagged 3 after -0.03; noun: tagged 3 before -0.11; noun:
tagged 4 after -0.22; noun: tagged 4 before -0.17; noun: tagged 6 after -0.07; noun: tagged 6 before -0.11; noun:
tagged not after 0.08; noun: tagged not before 0.25; noun: tags near 0 -0.27; noun: tags near 1 -0.20; noun: tags near
2 0.12; noun: tags near 3 -0.07; noun: tags near 4 0.41; often 0.21; rank of tags 0 of 1 -0.11; rank of tags 0 of 2
0.07; rank of tags 0 of 3 -0.11; rank of tags 0 of 4 0.10; rank of tags 1 of 2 0.21; rank of tags 1 of 3 0.03; rank of
tags 2 of 3 0.30; rank of tags 2 of 4 0.10; rank of tags 3 of 4 -0.12; rank of tags 4 of 4 -0.09; rare 0.08; recent 0
0.51; recent 1 0.37; recent 3 -0.30; recent 4 -0.35; recent 5 -0.24; says sir to other sex -0.11; says sir to own sex
-0.38; some 0.38; tag1 he is another sex -0.93; tag1 he may be it 1.75; tag1 he not i -1.64; tag1 he of unknown sex
0.82; tag1 is another -1.95; tag1 is it 2.94; tag1 kin is another sex -1.47; tag1 kin may be it 0.59; tag1 kin of
unknown sex 0.87; tag1 noun is another sex -2.15; tag1 noun may be it 1.15; tag2 he is another sex -1.43; tag2 he may
be it 1.21; tag2 he not i -0.49; tag2 he of unknown sex 0.71; tag2 is another -0.97; tag2 is it 0.75; tag2 kin is
another sex -1.39; tag2 kin may be it 0.79; tag2 kin of unknown sex 0.61; tag2 noun is another sex -0.61; tag2 noun
may be it 0.83; tagged 1 after -0.66; tagged 1 before -0.71; tagged 10 after 0.03; tagged 10 before 0.24; tagged 2
after 0.15; tagged 2 before -0.36; tagged 3 after 0.44; tagged 3 before 0.22; tagged 4 after 0.15; tagged 4 before
0.06; tagged 6 after 0.04; tagged 6 before 0.10; tagged not after -0.15; tagged not before 0.45; tags near 0 -0.36;
tags near 1 0.12; tags near 2 0.10; tags near 3 0.05; tags near 4 0.10; talking narrator 1.31; two before 1 talk
-0.16; two before 2 answer 1.17; two before 2 ask 1.10; two before 2 talk 0.94; two before 3 answer 0.73; two before 3
ask 0.95; two before 3 talk 0.87; two before 4 answer 0.71; two before 4 ask 0.35; two before 4 talk 0.09; two before
5 answer 0.13; two before 5 ask -0.47; two before 5 talk 0.09; two before 6 answer -0.05; two before 6 talk -0.43; two
before bare 1.94; two before directly directly acts 0.73; two before directly directly acts bare 0.40; two before
directly directly acts named -0.64; two before directly directly bare 1.91; two before directly directly bare acts
-0.70; two before directly directly bare bare 0.81; two before directly directly bare he acts -0.24; two before
directly directly bare kin -0.09; two before directly directly bare named -0.27; two before directly directly bare
noun -0.43; two before directly directly he 0.94; two before directly directly he acts 0.48; two before directly
directly he acts bare 1.42; two before directly directly he acts he 0.12; two before directly directly he acts named
0.54; two before directly directly he bare 1.08; two before directly directly he he 0.04; two before directly directly
he he acts 0.03; two before directly directly he named 0.09; two before directly directly he noun -0.68; two before
directly directly kin 0.20; two before directly directly kin named -0.50; two before directly directly named 0.04; two
before directly directly named acts -0.04; two before directly directly named bare -0.04; two before directly directly
named he -0.25; two before directly directly named he acts -0.48; two before directly directly named named -0.16; two
before directly directly named noun -0.19; two before directly directly noun 0.95; two before directly directly noun
acts 1.37; two before directly directly noun he -0.11; two before directly directly noun named 0.83; two before
directly later acts 0.25; two before directly later acts he 0.37; two before directly later bare 0.84; two before
directly later bare acts -0.07; two before directly later bare bare 0.51; two before directly later bare he acts 0.04;
two before directly later bare named -0.48; two before directly later he 0.63; two before directly later he acts 0.20;
two before directly later he he -0.40; two before directly later he he acts 0.05; two before directly later he named
0.13; two before directly later named -0.25; two before directly later named acts -0.67; two before directly later
named bare -0.40; two before directly later named he 0.45; two before directly later named he acts 0.17; two before
directly later named named -0.48; two before directly later noun 0.45; two before directly later noun he 1.01; two
before he 0.82; two before later directly acts -0.08; two before later directly acts bare -0.04; two before later
directly acts he 0.38; two before later directly acts named -0.03; two before later directly bare 0.81; two before
later directly bare bare 0.05; two before later directly bare named -0.16; two before later directly he 0.69; two
before later directly he acts 0.44; two before later directly he acts bare 0.19; two before later directly he acts he
-0.41; two before later directly he acts named -0.05; two before later directly he bare -0.04; two before later
directly he he -0.11; two before later directly he named -0.69; two before later directly he noun -0.05; two before
later directly named 0.11; two before later directly named he -0.18; two before later directly named named 0.05; two
before later directly noun 0.42; two before later directly noun acts 0.05; two before later later acts 0.62; two
before later later acts he 0.07; two before later later acts named 0.13; two before later later bare 0.92; two before
later later he 0.41; two before later later he acts 0.76; two before later later he acts he 0.15; two before later
later he acts named 0.26; two before later later he bare -0.24; two before later later he he 0.58; two before later
later he he acts -0.13; two before later later he named 0.22; two before later later named 0.28; two before later
later named acts 0.60; two before later later named he -0.41; two before later later named he acts 0.17; two before
later later named named -0.28; two before later later noun 0.23; two before named 0.43; two before says sir, does not
fit -0.05; two next says sir, does not fit -0.08; two next says sir, fits -0.14
"""

_ENTRIES = (" ".join(entry.split()).rpartition(" ") for entry in _TABLE.split(";"))

WEIGHTS = {name: float(value) for name, _, value in _ENTRIES}

# fmt: off
CALIBRATION = (
(0.0, 0.243), (0.3, 0.252), (0.4, 0.373), (0.5, 0.483), (0.6, 0.515), (0.7, 0.611), (0.8, 0.725), (0.85, 0.748),
(0.9, 0.81), (0.94, 0.868), (0.97, 0.899), (0.985, 0.933), (0.993, 0.957), (0.997, 0.963), (0.999, 0.979), (1.0,
0.983),
)
# fmt: on
"""Probabilities of the chain, and how often they were right on novels that the weights did not know."""
