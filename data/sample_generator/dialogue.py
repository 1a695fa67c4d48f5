"""What people say to one another, and what notices and town guides tell; the fields are those of `words.fill`."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table


def _lines(block: str) -> list[str]:
    return block.strip().splitlines()


ACTS = {
    "question": _lines("""
Where did you put the {x}?
What time does the train to {T} leave?
Have you seen {A} today?
How far is it to {T}?
Who painted the picture over the {x}?
Is the {x} still broken?
Why was {A} late on {D}?
Does {A} know about the {x}?
Which bus goes to {T}?
Did {A} leave a message?
How much did the {x} cost?
When will {A} be back?
Whose {x} is this?
Is it true that {A} sold the house?
What did they serve in {T}?
Can one swim near {T} in {M}?
How does this {x} work?
"""),
    "request": _lines("""
Please bring the {x} to {T} on {D}.
Pass me the {x}, please.
Call {A} before noon, please.
Please send the parcel to {T} by {D}.
Bring the {x} back before {D}, please.
Please wait for {A} at the gate.
Put the {x} on the table, please.
Please tell {A} that I called.
Please turn the {x} off.
Send me a card from {T}, please.
Please do not touch the {x}.
Hand this letter to {A}, please.
Please speak more slowly, {A}.
Keep an eye on the {x}, please.
Please water the plants on {D}.
Let me know by {D}, please.
Ask {A} to come in, please.
"""),
    "apology": _lines("""
I am sorry that I broke the {x}.
Sorry, I forgot to call {A}.
I apologise for being late on {D}.
I am so sorry about what I said to {A}.
Sorry that the {x} got wet.
I apologise for the mistake in the letter to {A}.
Sorry, I missed the train to {T} again.
Forgive me, I took the wrong {x}.
I am sorry to wake you so early, {A}.
Please excuse the noise on {D}.
It was my fault that {A} got lost.
I regret that I shouted at {A}.
Sorry for the mess around the {x}.
My apologies, I mixed up {D} and {E}.
Excuse me for stepping in front of you, {A}.
I feel terrible about losing your {x}.
"""),
    "thanks": _lines("""
Thank you for lending me the {x}.
Many thanks for the lovely evening in {T}.
Thanks for the {x}, {A}.
Thank you, {A}, that was very kind.
Thanks for waiting on {D}.
Thank you so much for driving {A} to {T}.
Many thanks for your help with the {x}.
How kind of you to repair the {x}!
I am grateful for your letter from {T}.
Thanks a lot for feeding the cat on {D}.
We owe you a great deal, {A}, thank you.
Thank you for the flowers, {A}.
Many thanks to you and {A} for the ride.
I cannot thank you enough for finding my {x}.
Thanks, that {x} was just what I needed.
Thank you for your patience, {A}.
"""),
    "offer": _lines("""
I could carry the {x} for you.
Shall I drive you to {T} on {D}?
Let me help you with the {x}.
I can pick up {A} from the station.
If you like, I will repair the {x} on {D}.
Shall I bring you the {x}?
Let me show you the way to {T}.
Would you like me to call {A}?
I will gladly water your plants in {M}.
You can sleep at our house in {T}.
Let me pay for the {x}.
Shall I make you some tea, {A}?
I would be happy to translate the letter from {T} for you.
Take my {x}, I do not need it.
If you wish, I can wait here with {A}.
May I take your coat, {A}?
"""),
    "statement": _lines("""
The {x} is on the top shelf.
{A} moved to {T} in {M}.
The market in {T} is held on {D}.
We bought the {x} from {A}.
It rained in {T} on {D}.
{A} has two sisters.
The {x} costs {n} dollars.
My uncle used to live in {T}.
The bus was half empty on {D}.
{A} is allergic to nuts.
The river near {T} is very cold.
Our {x} is older than I am.
There are three bakeries in {T}.
{A} works at night.
I saw a heron near {T}.
The shop closes early in {M}.
My brother taught {A} to skate.
"""),
}  # fmt: skip

PLANS = _lines("""
come to {T} with me on {D}
help me to paint the kitchen on {D}
join us for dinner on {D}
look after my cat in {M}
sing in the choir in {M}
play chess on {D} evening
share a taxi to {T}
give a talk about {T} in {M}
swap shifts with me on {D}
go and see the new film on {D}
water my tomatoes in {M}
drive to the sea on {D}
try the new bakery in {T} with me
learn some Italian with me
help me to carry a sofa on {D}
watch the match at my place on {D}
go mushroom picking near {T}
be the judge at our pie contest
lend a hand at the flea market in {T}
take a dance class in {M}
feed my hens on {D}
rent a boat in {T} with us
bake something for the feast on {D}
walk to the lighthouse on {D}
teach my son to ride a bicycle
have tea with me on {D}
write a song for the feast of {T}
join the book club in {M}
travel to {T} by night train
""")
REPLIES = {
    "accept": _lines("""
Yes, with pleasure.
Of course, count me in.
Sure, I would love to.
Gladly, I am free then.
That sounds great, yes.
Good idea, I will be there.
Why not, it will be fun.
I was hoping you would ask.
Certainly, you can rely on me.
Fine with me.
Oh yes, please.
It would be an honour.
Agreed, and I will bring biscuits.
"""),
    "decline": _lines("""
I am afraid I cannot.
No, I have to work then.
Sorry, I already have other plans.
Unfortunately not, I will be away.
I would rather not, but thank you.
Not this time, I fear.
My doctor has told me to rest.
I am sorry, but that is not for me.
Thanks, but I prefer to stay at home.
No, my sister is visiting me.
That will not be possible, I regret to say.
I have promised my mother to help her instead.
Count me out, please.
"""),
    "ask back": _lines("""
When exactly would that be?
How long would it take?
Who else is going to be there?
What would I have to bring?
Where should we meet?
Is there anything to pay?
Would I be back before dark?
Do I need special shoes for that?
May I bring my dog?
How far is it from here?
What does your brother say to it?
Which of us would drive?
How many people have you asked?
"""),
}  # fmt: skip

# question|a statement that answers it|another; {P} and {Q} are full names, {R} a river, {x} goods, {w} a sight
TOWN_FACTS = table("""
How many people live in {T}?|{T} has {n}00 inhabitants.|About {n}00 people live in {T}.
On which river does {T} lie?|{T} lies on the river {R}.|The river {R} flows through {T}.
Who is the mayor of {T}?|The mayor of {T} is called {P}.|{P} has been mayor of {T} since last year.
On which day is the market of {T} held?|The market of {T} is held on {D}.|Every {D} there is a market in {T}.
When did the school of {T} open?|The school of {T} opened in {y}.|In {y} the school of {T} was opened.
How many bridges does {T} have?|There are {k} bridges in {T}.|{T} has {k} bridges.
What is made in the factory of {T}?|The factory of {T} makes {x}.|In {T} there is a factory for {x}.
What is the church of {T} famous for?|The church of {T} is famous for its {w}.|Visitors come for the {w} of the church of {T}.
How long does the train from {T} to the capital take?|The train from {T} to the capital takes {m} minutes.|By train the capital is {m} minutes from {T}.
Which animal is on the coat of arms of {T}?|The coat of arms of {T} shows a heron.|A badger is on the coat of arms of {T}.
Who designed the town hall of {T}?|The town hall of {T} was designed by {Q}.|{Q} drew the plans for the town hall of {T}.
What do people in {T} eat at the harvest feast?|At the harvest feast people in {T} eat plum dumplings.|In {T} the dish of the harvest feast is roast goose.
How high is the tower of {T}?|The tower of {T} is {m} metres high.|With its {m} metres the tower of {T} can be seen from afar.
What is the oldest building of {T}?|The oldest building of {T} is a salt barn.|No building in {T} is older than the inn by the gate.
When was the great fire of {T}?|The great fire of {T} was in {y}.|In {y} a great fire destroyed half of {T}.
Where can one swim in {T}?|In {T} one can swim in the old harbour basin.|A small lake in the north of {T} is good for swimming.
""")
TOWN_GOODS = ["paper", "chairs", "cheese", "bricks", "soap", "lamps", "buttons", "rope"]
TOWN_SIGHTS = ["blue windows", "tall organ", "crooked spire", "painted ceiling", "carved doors"]

# question|a statement that answers it|another; {e} is the event, {q} the same with its article
NOTICE_FACTS = table("""
When does the {e} begin?|The {e} begins at {h}:{t}.|We start at {h}:{t}.
How much does a ticket for the {e} cost?|A ticket costs {k} dollars.|You pay {k} dollars at the door.
Where does the {e} take place?|The place is {v} in {T}.|Come to {v} in {T}.
Who organises the {e}?|It is organised by {A}'s club.|{A} and {B} are the organisers.
How long does the {e} last?|It lasts {k} hours.|After {k} hours it will be over.
On which day is the {e}?|The day is {D}.|It takes place on {D}.
What should one bring to the {e}?|Please bring {b}.|Everybody should bring {b}.
What can one eat at the {e}?|There will be {f}.|We serve {f}.
Who may take part in the {e}?|It is open to {w}.|We have planned it for {w}.
How can one register for the {e}?|To register, write to {A}.|Ring {A} to register.
What happens to the {e} if it rains?|If it rains, we move to a barn.|It will be cancelled if it rains.
""")
EVENTS = [
    "concert",
    "flea market",
    "book fair",
    "puppet show",
    "cooking course",
    "lecture",
    "guided walk",
    "chess evening",
    "bicycle tour",
    "poetry night",
    "plant swap",
    "film evening",
    "sewing class",
    "garden party",
    "radio play",
    "treasure hunt",
    "dance course",
    "craft fair",
    "pie contest",
]
NOTICES = (
    "{q} is planned.",
    "There will be {q}.",
    "You are invited to {q}.",
    "Our next event is {q}.",
    "We are preparing {q}.",
)
VENUES = [
    "the old school",
    "the boathouse",
    "the fire station",
    "the town park",
    "the mill",
    "the reading room",
]
TO_BRING = ["a warm coat", "scissors and paper", "a torch", "an old shirt", "a cushion", "pen and paper"]
FOODS = ["pea soup", "apple cake", "grilled sausages", "cheese rolls", "pancakes with jam"]
GUESTS = ["children over six", "all members", "beginners only", "everybody", "families"]

# the one who is meant|sentence about two people of one gender, so that only the sense tells who it is
WHO = table("""
A|{A} thanked {B} {time} because {he} had received so much help with the {x}.
B|{A} thanked {B} {time} because {he} had found the lost {x}.
B|{A} phoned {B} {time} to ask whether {he} could lend out a {x}.
A|{A} apologised to {B} {place} because {he} had broken the {x} by accident.
B|{A} forgave {B} {place} after {he} had apologised for losing the {x}.
A|{A} asked {B} for the {x} {place} because {he} had forgotten to bring one.
B|{A} praised {B} {place} because {he} had repaired the {x} so well.
A|{A} promised {B} {time} that {he} would return the {x} soon.
B|{A} visited {B} in hospital {time} because {he} had broken a leg.
A|{A} borrowed a {x} from {B} {time} because {he} did not own one.
B|{A} paid {B} for the {x} {place} because {he} had sold it at a fair price.
A|{A} hid the {x} from {B} {place} because {he} wanted it to be a surprise.
B|{A} taught {B} to use the {x} {place} because {he} had never tried it before.
A|{A} taught {B} to use the {x} {place} because {he} was an experienced teacher.
B|{A} waited for {B} {place} because {he} was late again.
A|{A} told {B} {place} that {he} was sorry about the broken {x}.
B|{A} scolded {B} {place} because {he} had left the {x} out in the rain.
A|{A} wrote to {B} {time} because {he} needed advice about a {x}.
A|{A} called out to {B} {place} because {he} needed help with the {x}.
B|{A} gave {B} the {x} {place} because {he} had asked for it.
B|{A} carried the {x} for {B} {time} because {he} had hurt a shoulder.
A|{A} lied to {B} {place} because {he} did not want to be found out.
B|{A} trusted {B} with the {x} {place} because {he} had always been careful.
B|{A} woke {B} {time} because {he} had overslept.
A|{A} ran after {B} {time} because {he} wanted to return the {x}.
B|{A} envied {B} {time} because {he} owned such a fine {x}.
A|{A} avoided {B} {place} because {he} had still not returned the {x}.
B|{A} congratulated {B} {place} because {he} had won a {x}.
A|{A} admitted to {B} {time} that {he} had lost the {x}.
B|{A} hired {B} {time} because {he} knew how to mend a {x}.
A|{A} showed {B} the new {x} {place} because {he} was so proud of it.
B|{A} warned {B} {place} that {he} might fall over the {x}.
A|{A} returned the {x} to {B} {time} because {he} had no more use for it.
B|{A} cooked for {B} {time} because {he} was ill in bed.
A|{A} asked {B} {place} whether {he} might use the {x}.
B|{A} reminded {B} {time} that {he} had promised to bring the {x}.
""")
THINGS = [
    "camera",
    "ladder",
    "tent",
    "guitar",
    "lamp",
    "kettle",
    "drill",
    "telescope",
    "typewriter",
    "suitcase",
    "radio",
    "printer",
    "microscope",
    "stove",
    "canoe",
]

# sentence about {a} and {b}|endings, each with the one that it speaks of|words for {a}|words for {b}
WHAT = table("""
The {a} did not fit into the {b} because it was too|big=a,small=b,wide=a,narrow=b|piano sofa wardrobe bookcase mattress|lift van hallway trailer doorway
{A} poured the {a} into the {b} until it was|full=b|water milk juice soup|jug pot bowl bottle
The {a} crashed through the {b} because it was made of|steel=a,paper=b,thin wood=b,solid iron=a|ball hammer trolley barrow|screen partition door
The {a} could not cross the {b} because it was too|heavy=a,weak=b,fragile=b|lorry crane tractor bus|bridge dam causeway pier
The {a} overtook the {b} on the hill because it was so|fast=a,slow=b,powerful=a,heavily loaded=b|motorbike coach tram|cart lorry wagon
{A} moved the {a} away from the {b} because it could be|burned=a,damaged by the heat=a|chair carpet basket|stove fire oven
The {a} fell off the {b} because it was not|balanced well=a,level=b|vase clock lamp|shelf table desk
{A} could not lift the {a} onto the {b} because it was too|heavy=a,high=b|trunk barrel anvil cupboard|cart platform stage truck
{A} needed a {a} to reach the {b} because it hung too|high=b,far up=b|ladder stool pole|lamp picture birdcage
In {T} {A} cut the {a} with the {b} because it was so|sharp=b,tough=a|rope cable hose|knife saw axe
The {a} scratched the {b} because it was so|rough=a,soft=b|brush chain grater|leather wax linoleum
{A} wrapped the {a} in the {b} because it was|fragile=a,made of soft wool=b|vase mirror lamp|blanket scarf shawl
In {T} the {a} can be seen above the {b} because it is so|tall=a,low=b|steeple crane poplar chimney|wall hedge shed
The {a} rolled down the {b} because it was so|round=a,steep=b|barrel ball wheel cheese|hill slope ramp
{A} could not hear the {a} over the {b} because it was too|quiet=a,loud=b|radio violin clock|drill engine mower fan
The {a} fitted easily into the {b} because it was so|small=a,roomy=b|kitten camera purse loaf|backpack drawer chest cupboard
{A} watered the {a} next to the {b} because it was|withering=a,planted only yesterday=a|rose fern lilac|bench fountain statue
{A} read the {a} instead of the {b} because it was|shorter=a,missing some pages=b|poem letter story|novel report atlas
{A} gave away the {a} and kept the {b} because it was|no longer of any use=a,a gift from a friend=b|boat car piano|caravan violin ring
On {D} the {a} could not catch the {b} because it was too|slow=a,quick=b|cat dog fox|mouse hare rabbit
{A} could not see the {a} behind the {b} because it was too|small=a,big=b|mouse stone candle|pot box stove
{A} liked the {a} better than the {b} because it was|prettier=a,uglier=b|hat tie mug scarf|cap belt glass shawl
{A} left the {a} and took the {b} because it was|more comfortable=b,out of order=a|bicycle tram lift|taxi bus escalator
In {T} the {a} was built beside the {b} because it needed|shelter from the wind=a|barn mill hut|cliff forest church
""")
