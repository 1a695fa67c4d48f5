"""Wordings of the questions about the invented world; {S} {P} {F} {M} is what is asked about, {T} its town."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table


def _lines(block: str) -> list[str]:
    return block.strip().splitlines()


OPENED = _lines("""
In which year was the {S} opened?
When did the {S} in {T} open?
Since which year has the {S} been open?
What year is given for the opening of the {S}?
I am writing about the {S} in {T}. When was it opened?
Which year saw the opening of the {S}?
Could you tell me when the {S} was opened?
A sign at the {S} names the year of its opening. Which one?
{N} needs the opening year of the {S} for a crossword.
My guide book leaves out when the {S} opened. Do you know?
For a quiz in {T}: the {S} opened in what year?
On a stamp of the {S} the opening year is missing. What is it?
The people of {T} celebrated the opening of the {S}. In which year?
Opening year of the {S}?
From what year on was the {S} in use?
People in {T} argue about it: when did the {S} open?
Please give the year in which {T} opened the {S}.
{N} and I disagree about when the {S} was opened. Which year is right?
To which year does the opening of the {S} go back?
Name the year in which the {S} opened.
When were the first visitors let onto the {S}?
A speech was held when the {S} in {T} opened. What year was that?
The {S} of {T} was once brand new. In which year did it open?
{N} bets that nobody knows when the {S} opened. Do you?
""")
BEGUN = _lines("""
In which year did work on the {S} begin?
When was the first stone of the {S} laid?
When did they start to build the {S} in {T}?
What year did the building of the {S} start?
Workers came to {T} to build the {S}. In which year did they begin?
In which year were the builders of the {S} first at work?
Building began at the {S} in which year?
{N} asks when work on the {S} was begun.
Which year marks the beginning of work on the {S}?
For the school paper of {T}: when did the construction of the {S} begin?
Construction of the {S} in {T} started in what year?
Name the year in which the builders of the {S} set to work.
How early did work on the {S} begin? The year is enough.
The {S} took years to build. In which one did the work start?
Do you happen to know when {T} began to build the {S}?
{N} found an old picture of the building site of the {S}. When did work start there?
In what year did {T} see the first workers at the {S}?
""")
BORN_IN = _lines("""
In which town was {P} born?
Where was {P} born?
What is the birthplace of {P}?
Name the town in which {P} was born.
Which town can call itself the birthplace of {P}?
From which town did {P} come?
I would like to see the birthplace of {P}. Where do I have to go?
Where did {P} come into the world?
In what place did the life of {P} begin?
{P} was born in which town?
In which town did {P} first see the light of day?
""")
PROFESSION = _lines("""
What was the profession of {P}?
What did {P} do for a living?
What was {P} by profession?
By what work did {P} earn money?
In what line of work was {P}?
What was the occupation of {P}?
Which profession did {P} have?
What job did {P} choose?
As what did {P} become known?
How did {P} make a living?
Which profession should one put after the name of {P}?
""")
BORN = _lines("""
In which year was {P} born?
When was {P} born?
What is the year of birth of {P}?
Give the year in which {P} was born.
{P} was born in what year?
For a school essay I need the birth year of {P}.
In what year does the life of {P} begin?
Which year of birth is given for {P}?
In which year did {P} come into the world?
The parents of {P} had a child in which year?
Year of birth of {P}?
""")
WORK = _lines("""
What is {P} known for?
What is {P} best remembered for?
For what work is {P} known?
Why do people still remember {P}?
What did {P} leave behind?
What made the name of {P} known?
To what does {P} owe a place in the encyclopedia?
Which work is connected with the name of {P}?
What is thought of first when {P} is mentioned?
If you hear the name {P}, which work comes to mind?
Name the work of {P} that people remember.
""")
MAKES = _lines("""
What does {F} of {T} make?
What is made at {F}?
Which goods come from {F} in {T}?
{F} is a firm in {T}. What does it produce?
What can one buy from {F}?
For what product is {F} known?
What do the workers of {F} make all day?
Name the product of {F}.
I found a box marked {F}. What was probably in it?
What leaves the workshops of {F} of {T}?
A shop in {T} sells goods by {F}. Which goods are they?
""")
FIRM_FOUNDER = _lines("""
Who founded {F}?
By whom was {F} founded?
Who was the founder of {F} in {T}?
Who started the firm {F}?
Name the founder of {F}.
To whom does {F} owe its beginning?
Who set up {F} in {T}?
Which person founded {F}?
The firm {F} was founded by whom?
Who opened the first workshop of {F}?
With whom did the history of {F} begin?
""")
CLOSED = _lines("""
On which day of the week is the {M} closed?
When does the {M} stay closed?
Which day should I avoid for a visit to the {M}?
On what weekday does the {M} not open?
What is the day of rest of the {M}?
Which weekday is the closing day of the {M}?
The {M} opens on every day but one. Which one?
On which weekday would I find the doors of the {M} locked?
{N} wants to see the {M}. On which day is it shut?
Name the closing day of the {M}.
When do the guides of the {M} have their free day?
""")
MUSEUM_FOUNDER = _lines("""
Who founded the {M}?
By whom was the {M} founded?
Who was the founder of the {M}?
Whose idea was it to found the {M}?
Name the person who founded the {M}.
To whom do we owe the {M}?
Who brought the {M} into being?
Which person founded the {M}?
The {M} was founded by whom?
Whose portrait, as the founder's, might hang in the {M}?
With whom did the {M} begin?
""")

# direct question|the same as a clause|the same with a pronoun; {q} is "long" for a bridge, else "high"
STRUCTURE = table("""
When was the {S} opened?|when the {S} was opened|When was it opened?
Who designed the {S}?|who designed the {S}|Who designed it?
In which town is the {S}?|in which town the {S} is|In which town is it?
How {q} is the {S}?|how {q} the {S} is|How {q} is it?
What is the {S} made of?|what the {S} is made of|What is it made of?
When did work on the {S} begin?|when work on the {S} began|When did work on it begin?
Who paid for the {S}?|who paid for the {S}|Who paid for it?
How much did the {S} cost?|how much the {S} cost|How much did it cost?
Why was the {S} closed last winter?|why the {S} was closed last winter|Why was it closed last winter?
Who looks after the {S} now?|who looks after the {S} now|Who looks after it now?
How many people visit the {S} each year?|how many people visit the {S} each year|How many people visit it each year?
When was the {S} last painted?|when the {S} was last painted|When was it last painted?
Where can one buy a model of the {S}?|where one can buy a model of the {S}|Where can one buy a model of it?
Is the {S} open on Sundays?|whether the {S} is open on Sundays|Is it open on Sundays?
Can one see the {S} from the harbour?|whether one can see the {S} from the harbour|Can one see it from the harbour?
Does the {S} belong to the town?|whether the {S} belongs to the town|Does it belong to the town?
How did the {S} get its name?|how the {S} got its name|How did it get its name?
Which road leads to the {S}?|which road leads to the {S}|Which road leads to it?
Who took the first photograph of the {S}?|who took the first photograph of the {S}|Who took the first photograph of it?
Has the {S} ever been damaged by a storm?|whether the {S} has ever been damaged by a storm|Has it ever been damaged by a storm?
How old is the {S}?|how old the {S} is|How old is it?
What is the {S} used for today?|what the {S} is used for today|What is it used for today?
Will the {S} be repaired soon?|whether the {S} will be repaired soon|Will it be repaired soon?
""")
ASKING = _lines("""
I would like to know {c}.
Could you tell me {c}?
Please find out {c}.
A friend asked me {c}.
Nobody here remembers {c}.
{N} wants to know {c}.
Do you have any idea {c}?
I wonder {c}.
My teacher wants us to find out {c}.
It would be nice to know {c}.
The guide did not say {c}.
Does anyone know {c}?
Let me know {c}, please.
I forgot to ask {c}.
We still have to look up {c}.
Tell {N} {c}.
{N} has been wondering {c}.
The leaflet does not mention {c}.
It is not clear to me {c}.
""")
REMARKS = _lines("""
The {S} is in the north of the country.
We walked to the {S} this morning.
My sister likes the {S}.
There is a picture of the {S} in our kitchen.
The {S} is on the new stamp.
I have read about the {S}.
{N} sent us a postcard of the {S}.
The train passes the {S} after the tunnel.
The {S} was in the news again yesterday.
We had lunch next to the {S}.
An old film shows the {S} in a storm.
The {S} is on page four of the guide book.
{N} painted the {S} in watercolours.
The school trip on {D} goes to the {S}.
I could see the {S} from my hotel room.
A model of the {S} stands in the museum.
They are cleaning the {S} this week.
The bus stops right at the {S}.
{N} got lost on the way to the {S}.
A poem by {N} begins at the {S}.
Everybody takes pictures of the {S}.
""")
