"""What each sign of a speaker is worth, in logarithms of odds. Made by `training.dialogue.learn`.

Learnt from 18 novels of the Project Dialogism Novel Corpus (`benchmarks/speech/speakers.py` names the other ten): a
chain of turns as a conditional random field, by L-BFGS with a quadratic penalty. Names are those of `signs`.
"""

from __future__ import annotations

_TABLE = """
acted 0 0.06; acted 1 0.26; acted 2 0.13; acted 3 0.09; acted 4 -0.26; acted 5 -0.28; acted before -0.18; action1 he
is another sex -0.80; action1 he may be it 0.61; action1 he of unknown sex 0.09; action1 is another -1.38; action1 is
it 1.42; action1 noun may be it 0.11; action2 he is another sex -0.57; action2 he may be it 0.62; action2 he of
unknown sex 0.08; action2 is another -0.52; action2 is it 0.64; action2 noun is another sex -0.22; action2 noun may be
it 0.10; acts: acted 0 -0.26; acts: acted 1 -0.10; acts: acted 2 0.12; acts: acted 3 0.16; acts: acted 4 0.03; acts:
acted 5 0.04; acts: acted before 0.20; acts: another acted before -0.20; acts: beside 0.72; acts: called before -0.60;
acts: called here -0.46; acts: called next -0.12; acts: called two before -0.04; acts: called two next 0.10; acts:
mentioned before 0.11; acts: mentioned here -0.46; acts: mentioned two before 0.08; acts: mentioned two next -0.18;
acts: named 1 ago 0.14; acts: named 1 ago last 0.20; acts: named 12 ago last -0.04; acts: named 2 ago last -0.31;
acts: named 4 ago -0.12; acts: named 4 ago last -0.06; acts: named 8 ago 0.16; acts: named 8 ago last 0.07; acts:
never tagged -0.19; acts: not named before -0.09; acts: noun -0.17; acts: often -0.05; acts: rank of tags 0 of 1
-0.54; acts: rank of tags 0 of 2 0.13; acts: rank of tags 0 of 3 0.11; acts: rank of tags 1 of 2 0.55; acts: rank of
tags 1 of 3 -0.25; acts: rank of tags 1 of 4 -0.30; acts: rank of tags 2 of 3 0.15; acts: rank of tags 2 of 4 0.19;
acts: rare 0.12; acts: recent 0 0.04; acts: recent 1 0.12; acts: recent 2 -0.26; acts: recent 4 -0.10; acts: recent 5
0.18; acts: some 0.10; acts: tagged 1 after 0.22; acts: tagged 1 before 0.16; acts: tagged 10 after 0.11; acts: tagged
2 after 0.35; acts: tagged 2 before 0.05; acts: tagged 3 after -0.05; acts: tagged 3 before 0.20; acts: tagged 4 after
-0.38; acts: tagged 4 before 0.10; acts: tagged 6 after -0.22; acts: tagged 6 before -0.23; acts: tagged not after
-0.04; acts: tagged not before -0.28; acts: tags near 0 0.22; acts: tags near 2 -0.12; acts: tags near 4 -0.06; acts:
wording even -0.31; acts: wording rather 0.25; acts: wording rather unlike 0.08; acts: wording unknown -0.14; acts:
wording unlike 0.18; acts: wording very unlike -0.14; again 1 -0.51; again 2 1.01; again 3 0.33; again 4 -0.22; again
5 0.24; again 6 0.19; again 7 -0.20; again directly acts -0.05; again directly acts acts -0.11; again directly acts
bare 0.12; again directly acts he 0.11; again directly acts named -0.27; again directly answer -0.70; again directly
ask 0.31; again directly bare -0.65; again directly bare acts -0.63; again directly bare bare -0.75; again directly
bare he acts -0.48; again directly bare named 0.20; again directly bare noun 0.86; again directly bare noun acts
-0.12; again directly he 0.60; again directly he acts -0.23; again directly he acts bare 0.15; again directly he acts
he 0.71; again directly he acts named -0.27; again directly he bare 0.22; again directly he he 0.78; again directly he
he acts -0.20; again directly he named 0.06; again directly he noun 0.57; again directly kin -0.33; again directly kin
named -0.11; again directly named -0.61; again directly named acts -0.31; again directly named bare -0.46; again
directly named he -0.15; again directly named he acts -0.38; again directly named kin -0.07; again directly named
named 0.55; again directly named noun 0.14; again directly noun -0.24; again directly noun acts -0.22; again directly
noun bare -0.17; again directly noun he -0.44; again directly noun named 0.04; again directly talk -0.13; again later
acts -0.25; again later acts acts 0.29; again later acts bare 0.25; again later acts he -0.51; again later acts he
acts -0.25; again later acts named 0.33; again later answer 0.60; again later ask 0.30; again later bare 0.30; again
later bare he -0.43; again later bare named 0.39; again later he -0.28; again later he acts 0.20; again later he acts
bare 0.49; again later he acts he 0.19; again later he acts he acts -0.21; again later he acts named -0.31; again
later he bare 0.31; again later he he -0.15; again later he he acts -0.30; again later he noun 0.04; again later named
-0.12; again later named acts 0.32; again later named bare 0.46; again later named he -0.09; again later named he acts
0.22; again later named named -0.57; again later named noun -0.24; again later noun 0.23; again later noun acts 0.56;
again later talk 0.43; again same paragraph 0.92; again same paragraph he 0.92; again same paragraph named 0.14;
another acted before 0.18; bare: acted 0 0.09; bare: acted 1 -0.15; bare: acted 2 -0.05; bare: acted 3 -0.07; bare:
acted 4 0.13; bare: acted 5 0.04; bare: acted before 0.05; bare: another acted before -0.05; bare: before says sir,
does not fit -0.28; bare: before says sir, fits 0.35; bare: beside 0.70; bare: called before 1.53; bare: called here
-0.87; bare: called next 0.35; bare: called two before 0.33; bare: called two next 0.41; bare: mentioned before -0.43;
bare: mentioned here -0.17; bare: mentioned two before -0.34; bare: mentioned two next -0.09; bare: most 0.26; bare:
named 1 ago 0.29; bare: named 1 ago last 0.21; bare: named 12 ago last -0.29; bare: named 2 ago 0.16; bare: named 2
ago last 0.25; bare: named 4 ago -0.03; bare: named 8 ago -0.21; bare: named 8 ago last -0.20; bare: never tagged
0.26; bare: next says sir, does not fit -0.08; bare: next says sir, fits -0.20; bare: not named before -0.16; bare:
noun -0.47; bare: often -0.04; bare: rank of tags 0 of 1 0.08; bare: rank of tags 0 of 2 -0.13; bare: rank of tags 0
of 3 0.06; bare: rank of tags 0 of 4 -0.31; bare: rank of tags 1 of 2 -0.19; bare: rank of tags 1 of 3 0.18; bare:
rank of tags 1 of 4 0.15; bare: rank of tags 2 of 3 0.12; bare: rank of tags 3 of 4 0.28; bare: rank of tags 4 of 4
0.05; bare: rare -0.26; bare: recent 0 -0.14; bare: recent 1 -0.15; bare: recent 2 0.09; bare: recent 3 0.25; bare:
recent 5 -0.05; bare: says sir to own sex -0.79; bare: some -0.22; bare: tagged 1 after -0.43; bare: tagged 1 before
-0.80; bare: tagged 10 after 0.07; bare: tagged 10 before 0.13; bare: tagged 2 after 0.10; bare: tagged 2 before
-0.03; bare: tagged 3 after -0.05; bare: tagged 3 before 0.37; bare: tagged 4 after -0.11; bare: tagged 4 before 0.07;
bare: tagged 6 after 0.21; bare: tagged 6 before 0.10; bare: tagged not after 0.20; bare: tagged not before 0.16;
bare: tags near 0 -0.32; bare: tags near 1 -0.22; bare: tags near 2 0.10; bare: tags near 3 0.24; bare: tags near 4
0.20; bare: talking narrator 0.72; bare: two before says sir, does not fit -0.18; bare: two before says sir, fits
0.06; bare: two next says sir, does not fit 0.08; bare: two next says sir, fits 0.14; bare: wording even -0.12; bare:
wording like 0.55; bare: wording unknown -0.21; bare: wording unlike -0.08; bare: wording very like -0.08; bare:
wording very unlike -0.05; before says sir, does not fit -0.22; before says sir, fits 0.22; beside 1.45; called before
1.22; called here -2.80; called next 0.59; called two before 0.50; called two next 0.49; he acted before 0.12; he
acts: acted 0 0.27; he acts: acted 1 -0.06; he acts: acted 2 0.14; he acts: acted 3 -0.41; he acts: acted 4 -0.05; he
acts: acted 5 0.11; he acts: beside -0.11; he acts: called here -0.47; he acts: called next 0.11; he acts: called two
before 0.32; he acts: called two next -0.25; he acts: he acted before -0.13; he acts: he another acted before 0.13; he
acts: he last of sex 0.03; he acts: he named 1 ago 0.05; he acts: he named 1 ago last 0.09; he acts: he named 12 ago
-0.22; he acts: he named 12 ago last -0.04; he acts: he named 2 ago 0.22; he acts: he named 4 ago 0.26; he acts: he
named 8 ago -0.16; he acts: he not named before -0.20; he acts: mentioned before -0.16; he acts: mentioned here -0.60;
he acts: mentioned next -0.22; he acts: mentioned two before -0.06; he acts: mentioned two next 0.57; he acts: most
0.22; he acts: never tagged -0.12; he acts: noun -0.31; he acts: often -0.06; he acts: rank of tags 0 of 1 0.22; he
acts: rank of tags 0 of 2 0.22; he acts: rank of tags 1 of 2 0.07; he acts: rank of tags 1 of 3 0.06; he acts: rank of
tags 1 of 4 -0.21; he acts: rank of tags 2 of 3 -0.14; he acts: rank of tags 2 of 4 -0.12; he acts: rank of tags 3 of
4 0.03; he acts: rare -0.17; he acts: recent 0 0.19; he acts: recent 1 -0.07; he acts: recent 2 -0.12; he acts: recent
3 -0.27; he acts: recent 5 0.29; he acts: some 0.12; he acts: tagged 1 after -0.25; he acts: tagged 1 before 0.10; he
acts: tagged 10 after -0.14; he acts: tagged 10 before -0.04; he acts: tagged 2 before -0.13; he acts: tagged 3 after
0.08; he acts: tagged 3 before -0.12; he acts: tagged 4 after 0.13; he acts: tagged 4 before -0.21; he acts: tagged 6
after 0.04; he acts: tagged 6 before 0.41; he acts: tagged not after 0.12; he acts: tags near 0 -0.18; he acts: tags
near 1 -0.04; he acts: tags near 2 0.04; he acts: tags near 3 0.21; he acts: tags near 4 -0.04; he acts: wording even
0.16; he acts: wording rather unlike 0.11; he acts: wording unknown -0.41; he acts: wording unlike 0.13; he another
acted before -0.12; he first of sex 0.18; he last of sex -0.05; he named 1 ago 0.31; he named 1 ago last 0.45; he
named 12 ago -0.20; he named 12 ago last -0.11; he named 2 ago 0.12; he named 2 ago last -0.05; he named 4 ago 0.08;
he named 4 ago last -0.07; he named 8 ago -0.21; he named 8 ago last -0.09; he not named before -0.25; he: acted 0
0.50; he: acted 1 0.04; he: acted 2 0.10; he: acted 3 -0.36; he: acted 4 -0.29; he: before says sir, does not fit
0.06; he: before says sir, fits 0.14; he: beside 0.06; he: called before 0.61; he: called here -0.54; he: called next
0.43; he: called two before 0.17; he: called two next 0.10; he: he acted before 0.25; he: he another acted before
-0.25; he: he first of sex 0.20; he: he last of sex -0.08; he: he named 1 ago 0.27; he: he named 1 ago last 0.36; he:
he named 12 ago last -0.07; he: he named 2 ago -0.09; he: he named 2 ago last -0.08; he: he named 4 ago -0.18; he: he
named 4 ago last -0.07; he: he named 8 ago -0.05; he: he named 8 ago last -0.08; he: he not named before -0.04; he:
mentioned before 0.34; he: mentioned here -0.25; he: mentioned next -0.27; he: mentioned two next -0.17; he: most
0.31; he: never tagged -0.18; he: next says sir, does not fit 0.35; he: next says sir, fits 0.03; he: noun 0.41; he:
often -0.03; he: rank of tags 0 of 1 0.13; he: rank of tags 0 of 2 0.14; he: rank of tags 0 of 3 0.27; he: rank of
tags 0 of 4 -0.31; he: rank of tags 1 of 2 0.23; he: rank of tags 1 of 3 0.07; he: rank of tags 1 of 4 -0.03; he: rank
of tags 2 of 3 -0.21; he: rank of tags 2 of 4 -0.05; he: rank of tags 3 of 4 -0.29; he: rank of tags 4 of 4 -0.08; he:
recent 0 0.05; he: recent 1 -0.11; he: recent 2 -0.08; he: recent 3 0.13; he: recent 4 0.10; he: recent 5 -0.09; he:
says sir to other sex -0.23; he: says sir to own sex 0.23; he: some -0.09; he: tagged 1 after -0.25; he: tagged 1
before -0.14; he: tagged 10 after 0.05; he: tagged 10 before -0.12; he: tagged 2 after 0.09; he: tagged 2 before
-0.03; he: tagged 3 after 0.04; he: tagged 3 before 0.28; he: tagged 4 after 0.07; he: tagged 4 before 0.05; he:
tagged not before -0.04; he: tags near 0 0.13; he: tags near 1 0.21; he: tags near 2 -0.12; he: tags near 3 -0.13; he:
tags near 4 -0.09; he: talking narrator -0.36; he: two before says sir, does not fit -0.33; he: two before says sir,
fits 0.33; he: two next says sir, does not fit -0.46; he: two next says sir, fits 0.41; he: wording even 0.06; he:
wording like -0.27; he: wording rather -0.06; he: wording unknown 0.07; he: wording unlike 0.27; he: wording very
unlike 0.09; kin acted before -0.03; kin another acted before 0.03; kin first of sex 0.40; kin last of sex -0.05; kin
named 1 ago -0.06; kin named 1 ago last -0.44; kin named 12 ago 0.28; kin named 12 ago last 0.12; kin named 2 ago
0.16; kin named 2 ago last 0.19; kin named 4 ago 0.13; kin named 4 ago last -0.28; kin named 8 ago 0.17; kin named 8
ago last 0.10; kin not named before -0.37; kin role has -0.12; kin role has most 0.34; kin role has most often -0.10;
kin role has most once 0.44; kin role has not 0.04; kin role has not once 0.04; kin role has once -0.09; kin role none
have 0.05; kin role none have once 0.05; kin: acted 0 0.20; kin: acted 1 0.22; kin: acted 2 -0.22; kin: acted 3 0.23;
kin: acted 5 -0.31; kin: called two before -0.39; kin: kin first of sex -0.20; kin: kin last of sex -0.09; kin: kin
named 1 ago -0.15; kin: kin named 1 ago last -0.43; kin: kin named 12 ago 0.04; kin: kin named 12 ago last 0.24; kin:
kin named 2 ago last -0.06; kin: kin named 4 ago last -0.06; kin: kin named 8 ago 0.17; kin: kin named 8 ago last
0.29; kin: kin not named before -0.03; kin: most -0.29; kin: never tagged -0.53; kin: noun -0.13; kin: often 0.33;
kin: rank of tags 0 of 3 -0.04; kin: rank of tags 0 of 4 -0.03; kin: rank of tags 1 of 3 -0.43; kin: rank of tags 1 of
4 -0.21; kin: rare 0.47; kin: recent 0 0.13; kin: recent 1 0.25; kin: recent 2 0.26; kin: recent 3 -0.29; kin: recent
4 -0.11; kin: recent 5 -0.24; kin: tagged 1 after -0.17; kin: tagged 10 after 0.07; kin: tagged 10 before 0.10; kin:
tagged 2 after -0.28; kin: tagged 2 before -0.16; kin: tagged 3 after 0.14; kin: tagged 4 after 0.45; kin: tagged 6
after -0.09; kin: tagged 6 before 0.27; kin: tagged not after -0.14; kin: tagged not before 0.06; kin: tags near 0
-0.29; kin: tags near 1 0.15; kin: tags near 2 0.12; kin: tags near 3 -0.14; kin: tags near 4 0.16; kin: wording
rather unlike 0.18; kin: wording unknown -0.35; kin: wording very unlike -0.27; lead_in1 he is another sex 0.43;
lead_in1 he may be it 0.29; lead_in1 he of unknown sex -0.74; lead_in1 is another -0.24; lead_in1 is it 0.64; lead_in1
noun may be it -0.18; lead_in2 he is another sex 0.14; lead_in2 he may be it 0.29; lead_in2 he of unknown sex -0.43;
lead_in2 is another -0.09; lead_in2 is it 0.08; mentioned before -0.19; mentioned here -1.96; mentioned next -0.35;
mentioned two before -0.09; mentioned two next -0.14; most -0.06; named 1 ago 0.41; named 1 ago last 0.28; named 12
ago -0.31; named 4 ago -0.03; named 8 ago -0.07; named 8 ago last 0.09; named: acted 0 -0.04; named: acted 1 -0.35;
named: acted 2 0.04; named: acted 3 -0.07; named: acted 4 0.24; named: acted 5 0.17; named: acted before -0.49; named:
another acted before 0.49; named: before says sir, does not fit 0.07; named: before says sir, fits -0.05; named:
beside 0.36; named: called before -0.27; named: called here -0.04; named: called next -0.62; named: called two before
-0.28; named: called two next -0.12; named: mentioned before -0.27; named: mentioned here -0.36; named: mentioned next
0.33; named: mentioned two before 0.14; named: mentioned two next 0.23; named: most -0.11; named: named 1 ago -0.23;
named: named 1 ago last -0.24; named: named 12 ago -0.16; named: named 12 ago last -0.06; named: named 2 ago 0.37;
named: named 2 ago last -0.11; named: named 4 ago 0.15; named: named 8 ago 0.11; named: named 8 ago last 0.14; named:
never tagged 0.18; named: next says sir, fits 0.11; named: not named before 0.03; named: noun 0.45; named: often
-0.05; named: rank of tags 0 of 2 -0.36; named: rank of tags 0 of 3 0.23; named: rank of tags 0 of 4 0.33; named: rank
of tags 1 of 2 -0.16; named: rank of tags 1 of 3 0.14; named: rank of tags 1 of 4 0.04; named: rank of tags 2 of 3
-0.18; named: rank of tags 2 of 4 -0.20; named: rank of tags 3 of 4 0.15; named: rank of tags 4 of 4 -0.16; named:
rare -0.05; named: recent 0 -0.11; named: recent 1 0.10; named: recent 2 -0.16; named: recent 3 0.15; named: recent 4
-0.04; named: recent 5 0.05; named: says sir to other sex 0.31; named: says sir to own sex -0.05; named: some 0.03;
named: tagged 1 after 0.13; named: tagged 1 before 0.28; named: tagged 10 after -0.22; named: tagged 2 after -0.11;
named: tagged 2 before 0.10; named: tagged 3 after 0.34; named: tagged 3 before -0.20; named: tagged 4 before 0.15;
named: tagged 6 after -0.12; named: tagged 6 before -0.17; named: tagged not before -0.18; named: tags near 0 0.17;
named: tags near 1 0.06; named: tags near 2 -0.06; named: tags near 3 0.03; named: tags near 4 -0.20; named: talking
narrator 0.08; named: two before says sir, does not fit 0.44; named: two before says sir, fits -0.59; named: two next
says sir, does not fit -0.17; named: wording even 0.05; named: wording like -0.14; named: wording rather -0.27; named:
wording rather unlike 0.12; named: wording unknown 0.06; named: wording unlike -0.08; named: wording very like 0.28;
never tagged -0.46; next says sir, does not fit -0.34; next says sir, fits 0.55; not named before -0.28; noun 0.24;
noun acts: acted 0 -0.52; noun acts: acted 1 0.30; noun acts: acted 2 -0.17; noun acts: acted 3 0.13; noun acts: acted
5 0.27; noun acts: acted before 0.19; noun acts: another acted before -0.19; noun acts: named 1 ago last 0.13; noun
acts: named 12 ago -0.16; noun acts: named 4 ago -0.10; noun acts: named 4 ago last -0.28; noun acts: named 8 ago last
0.09; noun acts: never tagged -0.20; noun acts: not named before 0.27; noun acts: noun 0.40; noun acts: often -0.13;
noun acts: rank of tags 0 of 4 0.70; noun acts: rank of tags 1 of 4 -0.04; noun acts: rare 0.23; noun acts: recent 0
0.22; noun acts: recent 1 -0.21; noun acts: recent 2 0.15; noun acts: recent 3 0.05; noun acts: recent 4 -0.14; noun
acts: recent 5 -0.07; noun acts: some 0.12; noun acts: tagged 1 after -0.07; noun acts: tagged 1 before -0.25; noun
acts: tagged 10 after 0.12; noun acts: tagged 10 before 0.39; noun acts: tagged 2 before -0.30; noun acts: tagged 6
before -0.34; noun acts: tagged not after -0.21; noun acts: tagged not before 0.38; noun acts: tags near 0 0.16; noun
acts: tags near 1 -0.26; noun acts: tags near 2 0.11; noun acts: tags near 3 0.06; noun acts: tags near 4 -0.08; noun
acts: wording unknown 0.13; noun acts: wording very unlike -0.25; noun girl -0.51; noun girl has a name 0.51; noun
lady -0.59; noun lady has a name 0.59; noun man -0.13; noun man has a name 0.13; noun other -0.47; noun other has a
name 0.47; noun role has 0.17; noun role has most 0.26; noun role has most often 0.43; noun role has most once -0.17;
noun role has not -0.20; noun role has not once -0.20; noun role none have -0.19; noun role none have once -0.19; noun
used 1 0.13; noun used 4 0.06; noun used often -0.54; noun voice -0.51; noun voice has a name 0.43; noun: acted 0
-0.22; noun: acted 1 0.12; noun: acted 2 0.06; noun: acted 3 0.31; noun: acted 4 -0.18; noun: acted 5 -0.09; noun:
acted before -0.13; noun: another acted before 0.13; noun: beside -0.35; noun: called before 0.62; noun: called here
-0.25; noun: called next 0.18; noun: called two before 0.06; noun: called two next -0.13; noun: mentioned before 0.43;
noun: mentioned here 0.21; noun: mentioned next 0.18; noun: mentioned two before 0.29; noun: most -0.40; noun: named 1
ago 0.31; noun: named 2 ago -0.24; noun: named 4 ago 0.08; noun: named 4 ago last 0.36; noun: named 8 ago -0.10; noun:
never tagged 0.45; noun: not named before -0.34; noun: noun 0.06; noun: often 0.09; noun: rank of tags 0 of 1 -0.09;
noun: rank of tags 0 of 2 -0.09; noun: rank of tags 0 of 3 -0.16; noun: rank of tags 0 of 4 -0.19; noun: rank of tags
1 of 3 0.38; noun: rank of tags 1 of 4 0.43; noun: rank of tags 2 of 3 -0.19; noun: rank of tags 2 of 4 0.16; noun:
rank of tags 3 of 4 -0.11; noun: rare 0.07; noun: recent 0 0.12; noun: recent 1 -0.37; noun: recent 2 0.06; noun:
recent 3 -0.37; noun: recent 4 0.06; noun: recent 5 0.51; noun: some -0.21; noun: tagged 1 after 0.28; noun: tagged 1
before 0.04; noun: tagged 10 after -0.21; noun: tagged 10 before -0.25; noun: tagged 2 after -0.07; noun: tagged 2
before 0.19; noun: tagged 4 after -0.13; noun: tagged 4 before -0.15; noun: tagged 6 after 0.05; noun: tagged 6 before
-0.08; noun: tagged not after 0.08; noun: tagged not before 0.24; noun: tags near 0 -0.26; noun: tags near 1 -0.22;
noun: tags near 2 0.19; noun: tags near 3 -0.12; noun: tags near 4 0.41; noun: talking narrator -0.18; noun: wording
even 0.20; noun: wording rather unlike -0.79; noun: wording unknown 0.42; noun: wording unlike -0.32; noun: wording
very unlike -0.05; often 0.12; rank of tags 0 of 2 0.06; rank of tags 0 of 3 -0.07; rank of tags 1 of 2 0.17; rank of
tags 1 of 3 0.10; rank of tags 1 of 4 -0.03; rank of tags 2 of 3 0.29; rank of tags 3 of 4 -0.14; rank of tags 4 of 4
-0.06; rare 0.14; recent 0 0.43; recent 1 0.30; recent 2 -0.04; recent 3 -0.31; recent 4 -0.27; recent 5 -0.11; says
sir to other sex 0.06; says sir to own sex -0.23; some 0.26; tag1 he is another sex -1.06; tag1 he may be it 1.13;
tag1 he not i -0.36; tag1 he of unknown sex 0.29; tag1 is another -2.23; tag1 is it 2.46; tag1 kin is another sex
-0.69; tag1 kin may be it 0.47; tag1 kin of unknown sex 0.22; tag1 noun is another sex -1.18; tag1 noun may be it
0.95; tag2 he is another sex -1.31; tag2 he may be it 1.08; tag2 he not i -0.15; tag2 he of unknown sex 0.39; tag2 is
another -0.81; tag2 is it 0.51; tag2 kin is another sex -0.70; tag2 kin may be it 0.43; tag2 kin of unknown sex 0.26;
tag2 noun is another sex -0.28; tag2 noun may be it 0.58; tagged 1 after -0.56; tagged 1 before -0.65; tagged 10
before 0.21; tagged 2 after 0.14; tagged 2 before -0.30; tagged 3 after 0.36; tagged 3 before 0.14; tagged 4 after
0.15; tagged 4 before 0.08; tagged 6 after 0.04; tagged 6 before 0.08; tagged not after -0.11; tagged not before 0.44;
tags near 0 -0.38; tags near 1 0.09; tags near 2 0.07; tags near 3 0.06; tags near 4 0.16; talking narrator 0.53; two
before 1 talk 0.38; two before 2 answer 1.53; two before 2 ask 1.46; two before 2 talk 1.32; two before 3 answer 0.80;
two before 3 ask 0.81; two before 3 talk 0.91; two before 4 answer 0.64; two before 4 ask 0.48; two before 4 talk
0.31; two before 5 answer 0.20; two before 5 ask -0.21; two before 5 talk 0.35; two before 6 answer 0.20; two before 6
ask 0.22; two before 6 talk -0.22; two before directly directly acts 0.28; two before directly directly acts bare
0.31; two before directly directly acts named -0.61; two before directly directly bare 1.18; two before directly
directly bare acts -0.22; two before directly directly bare bare 1.02; two before directly directly bare he 0.14; two
before directly directly bare he acts -0.09; two before directly directly bare kin 0.19; two before directly directly
bare named -0.05; two before directly directly bare noun -0.04; two before directly directly he 0.36; two before
directly directly he acts 0.11; two before directly directly he acts bare 1.08; two before directly directly he acts
he 0.13; two before directly directly he acts named 0.32; two before directly directly he bare 1.08; two before
directly directly he he 0.10; two before directly directly he he acts 0.21; two before directly directly he named
0.15; two before directly directly he noun -0.22; two before directly directly kin -0.12; two before directly directly
kin named -0.45; two before directly directly named -0.39; two before directly directly named acts 0.16; two before
directly directly named bare -0.05; two before directly directly named he -0.18; two before directly directly named he
acts -0.35; two before directly directly named named -0.05; two before directly directly named noun -0.05; two before
directly directly noun 0.63; two before directly directly noun acts 1.04; two before directly directly noun bare
-0.14; two before directly directly noun he -0.13; two before directly directly noun named 0.46; two before directly
later acts he 0.12; two before directly later bare 0.56; two before directly later bare bare 0.34; two before directly
later bare he 0.22; two before directly later bare he acts 0.08; two before directly later bare named -0.17; two
before directly later he 0.28; two before directly later he acts 0.08; two before directly later he he -0.12; two
before directly later he he acts 0.08; two before directly later he named 0.20; two before directly later named -0.41;
two before directly later named acts -0.40; two before directly later named bare -0.41; two before directly later
named he 0.43; two before directly later named he acts 0.14; two before directly later named named -0.27; two before
directly later noun 0.19; two before directly later noun he 0.73; two before he 0.43; two before later directly acts
-0.27; two before later directly acts bare 0.03; two before later directly acts he 0.11; two before later directly
acts named 0.06; two before later directly bare 0.44; two before later directly bare bare 0.23; two before later
directly bare named 0.29; two before later directly he 0.45; two before later directly he acts 0.31; two before later
directly he acts bare 0.17; two before later directly he acts he -0.53; two before later directly he acts named 0.06;
two before later directly he he -0.09; two before later directly he named -0.38; two before later directly he noun
-0.07; two before later directly named -0.06; two before later directly named bare -0.03; two before later directly
named named 0.15; two before later directly noun 0.08; two before later later acts 0.45; two before later later acts
he -0.07; two before later later acts named -0.06; two before later later bare 0.49; two before later later he 0.34;
two before later later he acts 0.53; two before later later he acts named 0.06; two before later later he bare -0.13;
two before later later he he 0.36; two before later later he he acts 0.04; two before later later he named 0.20; two
before later later named 0.06; two before later later named acts 0.71; two before later later named he -0.32; two
before later later named he acts 0.11; two before later later named named -0.23; two before later later noun 0.09; two
before says sir, does not fit -0.09; two before says sir, fits 0.07; two next says sir, does not fit -0.15; two next
says sir, fits -0.10; wording even 0.15; wording like 0.42; wording rather 0.30; wording rather unlike -0.16; wording
unknown -0.58; wording unlike -0.26; wording very like 0.63; wording very unlike -0.50
"""

_ENTRIES = (" ".join(entry.split()).rpartition(" ") for entry in _TABLE.split(";"))

WEIGHTS = {name: float(value) for name, _, value in _ENTRIES}

# fmt: off
CALIBRATION = (
(0.0, 0.196), (0.3, 0.29), (0.4, 0.362), (0.5, 0.464), (0.6, 0.549), (0.7, 0.647), (0.8, 0.73), (0.85, 0.777),
(0.9, 0.83), (0.94, 0.876), (0.97, 0.93), (0.985, 0.95), (0.993, 0.974), (0.997, 0.982), (0.999, 0.994), (1.0,
0.994),
)
# fmt: on
"""Probabilities of the chain, and how often they were right on novels that the weights did not know."""
