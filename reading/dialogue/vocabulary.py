"""Words that tell who speaks: verbs of speech, titles, nouns of persons, first names. English.

The first names are common ones of English novels and censuses of the 19th and 20th centuries.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a list with spaces between them."""
    return frozenset(text.split())


SPEECH_VERBS = words(
    """
    said says say asked asks replied answered cried exclaimed whispered murmured muttered shouted called returned
    continued added remarked observed began went declared demanded inquired enquired repeated responded retorted
    rejoined protested suggested insisted admitted agreed announced explained ejaculated faltered gasped growled
    groaned grumbled interrupted interposed laughed moaned mused objected ordered persisted pleaded pronounced
    pursued put queried quoted read remonstrated resumed roared screamed shrieked sighed snapped sneered sobbed
    spoke speaks stammered told urged uttered ventured vociferated wailed warned whimpered yelled bawled bellowed
    boomed breathed chimed chuckled commanded commented complained concluded confessed confided corrected counselled
    croaked drawled echoed expostulated giggled greeted grinned grunted hissed hinted implored informed instructed
    intoned joked lied mumbled nodded noted panted piped pouted prayed proceeded promised proposed purred reasoned
    reassured reflected reiterated related reminded reported shrilled smiled snarled snorted soothed specified
    spluttered sputtered squeaked squealed stated stuttered swore tittered volunteered wept wondered barked begged
    blurted bragged coaxed comforted conceded countered crooned cut drawled finished followed opined remembered
    recited scoffed scolded sang shrugged taunted teased threatened thundered wheezed apologized apologised assented
    assured affirmed advised argued asserted challenged cautioned thought thinks replies answers cries whispers adds
    continues exclaims shouts murmurs mutters explains laughs
    """
)

MALE_TITLES = words(
    """
    mr sir lord master monsieur m mister herr signor señor don count baron duke prince king father brother uncle
    grandfather grandpa squire major colonel captain general admiral lieutenant sergeant corporal inspector
    constable reverend rev bishop rabbi judge commander papa dad esquire dr doctor professor prof
    """
)
FEMALE_TITLES = words(
    """
    mrs miss ms lady dame madame madam mme mlle mademoiselle fräulein frau signora signorina señora countess
    baroness duchess princess queen mother sister aunt auntie grandmother grandma granny nurse mama mamma mum
    mistress
    """
)
TITLES = MALE_TITLES | FEMALE_TITLES
SINGLE_TITLES = words(
    """
    mr mrs miss ms mme mlle m herr frau fräulein monsieur madame signor signora
    """
)
"""Before a family name. The others may stand before a first name as well."""

MALE_NOUNS = words(
    """
    man boy gentleman father brother uncle son husband king lad fellow grandfather nephew waiter footman butler
    policeman clergyman priest landlord lord widower coachman sailor soldier officer grandson constable squire monk
    footboy schoolmaster chap bloke papa count duke prince emperor sultan knight wizard fisherman hangman
    """
)
FEMALE_NOUNS = words(
    """
    woman girl lady mother sister aunt daughter wife queen maid grandmother niece waitress matron nurse landlady
    widow housekeeper governess hostess mistress lass barmaid schoolmistress nun mamma granddaughter housemaid
    parlourmaid seamstress countess duchess princess empress witch bride
    """
)
NEUTRAL_NOUNS = words(
    """
    child stranger doctor captain servant voice other cook clerk colonel teacher speaker visitor passenger driver
    porter guard detective inspector sergeant lawyer friend baby cousin master beadle jew surgeon magistrate
    gentleman's innkeeper host guest youth boatman conductor professor major general secretary reporter editor
    writer painter artist poet student pupil neighbour neighbor chairman president mayor judge barber tailor baker
    butcher shopkeeper farmer gardener groom messenger spokesman
    """
)
PERSON_NOUNS = MALE_NOUNS | FEMALE_NOUNS | NEUTRAL_NOUNS

MALE_NAMES = words(
    """
    adam adrian alan albert alec alexander alexis alfred algernon ambrose amos andrew anthony antony archibald
    archie arnold arthur augustus barnaby bartholomew basil ben benedict benjamin bernard bertie bertram bill billy
    bob bobby brian bruce bryan caleb cecil charles charley charlie christopher clarence claude clement clifford
    clive colin conrad cuthbert cyril daniel dan david denis dennis dick dominic donald dorian douglas ebenezer
    edgar edmund edward edwin eli elijah eric ernest eugene evan felix ferdinand francis frank franklin fred
    frederick gabriel geoffrey george gerald gilbert giles godfrey gordon graham gregory guy hal harold harry harvey
    hector henry herbert herman horace howard hubert hugh hugo humphrey isaac ivan jack jacob jake james jasper
    jeremy jerome jerry jim jimmy joe john johnny jonathan joseph josiah joshua julian julius keith kenneth lancelot
    laurence lawrence leo leon leonard leslie lewis lionel louis lucas luke malcolm mark marmaduke martin matthew
    maurice max michael mike miles montague mortimer nathaniel ned neil neville newland nicholas nigel noah noel
    norman oliver oscar oswald owen patrick paul percival percy perceval peter philip phillip quentin ralph randolph
    raymond reginald richard rob robert robin roderick rodney roger roland ronald rowland rufus rupert sam sammy
    samson samuel saul sebastian septimus seth sidney silas simon solomon stanley stephen steven sydney ted teddy
    terence theodore thomas tim timothy titus tobias toby tom tommy tony tristram valentine vernon victor vincent
    vivian wallace walter wilfred wilfrid will william willie willy jed ethan jean pierre jacques françois henri
    carlo giovanni pedro juan manuel aziz
    """
)
FEMALE_NAMES = words(
    """
    abigail ada adela adelaide agatha agnes alice alison althea amanda amelia amy angela ann anna anne annabel annie
    arabella augusta barbara beatrice becky belinda bella bertha bess bessie beth betsy betty biddy blanche brenda
    brett bridget caroline carrie catherine cathy cecilia cecily celia charlotte chloe christina christine clara
    clarissa clementina constance cora cordelia cynthia daisy daphne deborah delia diana dinah dora doris dorothea
    dorothy edith edna effie eileen elaine eleanor elinor eliza elizabeth ella ellen elsie emily emma enid estella
    esther ethel eugenia eunice eva eve evelyn fanny felicia flora florence frances freda georgiana georgina
    gertrude gladys grace gwendolen hannah harriet hazel helen helena henrietta hester hilda honoria hyacinth ida
    imogen irene iris isabel isabella isobel ivy jane janet jean jemima jennifer jenny jessica jessie joan joanna
    josephine joyce judith julia juliet june kate katharine katherine kathleen katie kitty laura lavinia leonora
    letitia letty lilian lilith lily linda lizzie lizzy lois lottie louisa louise lucilla lucinda lucy lydia mabel
    madeline madge maggie mamie marcella margaret margery maria marian marianne marie marilla marion marjorie martha
    mary matilda maud may melissa mercy mildred millicent milly minnie miranda miriam molly monica muriel nancy nell
    nellie nelly nora norah olive olivia ophelia pamela patience patty paula pauline penelope phoebe phyllis polly
    priscilla prudence rachel rebecca rhoda rosa rosalie rosalind rosamond rose rosie ruby ruth sally sarah selina
    sheila sibyl sophia sophie stella susan susanna sybil sylvia tabitha teresa theresa ursula vera veronica
    victoria viola violet virginia winifred zoe
    """
)

_SHORT = words(
    """
    lizzy=elizabeth lizzie=elizabeth eliza=elizabeth beth=elizabeth bess=elizabeth kitty=catherine kate=catherine
    cathy=catherine bill=william billy=william will=william willie=william tom=thomas tommy=thomas dick=richard
    bob=robert rob=robert jim=james jimmy=james jack=john johnny=john joe=joseph ned=edward ted=edward teddy=edward
    harry=henry hal=henry frank=francis fred=frederick sam=samuel ben=benjamin dan=daniel mike=michael nick=nicholas
    tony=anthony charley=charles charlie=charles archie=archibald maggie=margaret madge=margaret nelly=ellen
    molly=mary polly=mary fanny=frances sally=sarah harriot=harriet jake=jacob
    """
)
SHORT_NAMES = {short: whole for short, _, whole in (each.partition("=") for each in _SHORT)}
