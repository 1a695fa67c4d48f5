"""Sentences for the classification tasks, by their label; the fields are those of `words.fill` and {x}, a thing."""

# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table


def _lines(block: str) -> list[str]:
    return block.strip().splitlines()


# pleased|not pleased
REVIEWS = table("""
I would buy the {x} again at once.|I want my money back for the {x}.
The {x} was even better than I had hoped.|The {x} was a great disappointment.
What a wonderful {x}!|What a dreadful {x}!
Everybody in my family loved the {x}.|Nobody in my family liked the {x}.
The {x} is worth every cent.|The {x} is not worth a cent.
{A} recommended the {x}, and rightly so.|{A} warned me of the {x}, and rightly so.
The {x} in {T} made our week.|The {x} in {T} spoiled our week.
I have told all my friends about this excellent {x}.|I have never seen such a poor {x}.
Never before have I been so pleased with a {x}.|Never before have I been so cross about a {x}.
The {x} did more than the advertisement had promised.|The {x} did not do half of what the advertisement had promised.
Our {x} was a real bargain, {A} says.|Our {x} was far too dear, {A} says.
If you can, go for this {x}; you will not regret it.|Keep away from this {x}; you will only regret it.
I chose the {x} for {A} and got a hug.|I chose the {x} for {A} and was ashamed.
Thanks to the {x} we had a perfect {D} in {T}.|Because of the {x} our {D} in {T} was ruined.
Even {A}, who complains about everything, praised the {x}.|Even {A}, who never complains, was furious about the {x}.
Five stars for the {x}, without a moment of doubt.|One star for the {x}, and that is one too many.
The {x} is a pleasure from beginning to end.|The {x} is a nuisance from beginning to end.
I could go on praising the {x} for hours.|I could not wait to get rid of the {x}.
The last {x} was good, but this one is a dream.|The last {x} was poor, but this one is worse.
We would travel to {T} again just for the {x}.|We left {T} a day early on account of the {x}.
{A} and I laughed with joy about our {x}.|{A} and I quarrelled all evening about our awful {x}.
Careful work and a fair price: a {x} as it should be.|Sloppy work and a shameless price: forget this {x}.
The {x} has made my {M} brighter.|The {x} has made my {M} a misery.
It is hard to find a fault with the {x}.|It is hard to find anything good about the {x}.
In {T} they really know what a good {x} is.|In {T} they have no idea what a good {x} is.
""")
REVIEWED = [
    "hotel", "restaurant", "film", "lamp", "novel", "printer", "backpack", "concert", "café", "tour", "phone",
    "headset", "play", "bicycle", "tent", "camera", "kettle", "museum", "boat trip", "radio",
]  # fmt: skip
MORE_REVIEW = table("""
Everything worked from the first day.|Nothing worked from the first day.
The people were kind and quick.|The people were rude and slow.
I smiled all the way home.|I was angry all the way home.
Well done!|What a waste of time.
We felt welcome at once.|We felt cheated.
It was money well spent.|Nobody answered my letters.
The next visit is already planned.|I have asked for a refund.
Full marks from me.|Never again.
""")

TOPICS = {
    "sport": _lines("""
{A} scored twice for {T} in the last minute.
The swimmers of {T} won four medals on {D}.
After the marathon on {D}, {A} could hardly walk.
{T} and {U} play in the cup final on {D}.
The coach in {T} says that {A} will not play on {D}.
{A} jumped over two metres in {T}.
The referee sent two players of {T} off the field.
The rowing crew of {T} trains before sunrise.
With a new serve {A} won the tennis match in {T}.
Twelve teams from {T} and {U} take part in the handball cup.
{A} broke the record over 400 metres on {D}.
The skiers of {T} hope for a medal.
A goal in extra time took {T} into the final.
{A} has trained for the triathlon since {M}.
The boxing match between {A} and {B} ended in a draw.
The volleyball players of {U} lost all three sets.
On {D} the cyclists race from {T} to {U}.
"""),
    "weather": _lines("""
Rain and strong wind are expected in {T} on {D}.
{M} was the driest month in {T} for years.
A thick fog covers the hills between {T} and {U}.
The first snow fell on {T} on {D}.
On {D} the temperature in {T} will rise to 29 degrees.
Hail as big as cherries fell on {T}.
The heat wave in {T} will end on {D}.
Clouds will gather over {U} in the afternoon.
There were gusts of a hundred kilometres an hour at {T}.
Frost is expected in the valleys around {T}.
After weeks of drizzle the sun came out in {T}.
A thunderstorm is moving from {T} towards {U}.
It has not rained in {T} since {M}.
The barometer in {T} has been falling since {D}.
Black ice made the pavements of {T} slippery.
A rainbow stood over {T} after the shower.
"""),
    "food": _lines("""
{A} adds a little lemon to the fish soup.
The new bakery in {T} sells rye bread on {D}s.
In {T} people eat dumplings with plum sauce in {M}.
For this cake {A} needs four eggs and some butter.
The cook in {T} fries the mushrooms with garlic, as {A} likes them.
A pinch of salt is missing in the stew, says {A}.
{A} fills the pancakes with cherries and cream.
The cheese from {T} has to ripen for a year.
Our reader {A} sends a recipe for potato salad.
In {M} the people of {T} pickle cucumbers.
{A} roasts chestnuts over the fire.
The inn of {T} serves trout with almonds on {D}s.
You need ripe tomatoes for {A}'s sauce.
A jar of plum jam from {T} won the first prize.
The dough must rest overnight, {A} explains.
In {U} they eat their porridge with honey.
"""),
    "travel": _lines("""
The night train from {T} to {U} leaves at ten.
{A} packs a small suitcase for the trip to {T}.
In {M} the ferry takes tourists from {T} to the islands.
Hotels in {T} are fully booked on {D}.
{A} missed the connection to {U} on {D}.
The new guide book describes the walks around {T}.
Because of a strike, no planes leave {T} on {D}.
{A} shows us the cheapest way from {T} to {U}.
A cabin on the ship to {U} costs less in {M}.
Tourists queue for the cable car at {T}.
{A} hitchhiked from {T} to the coast.
You need a passport for the crossing to {U}.
{A} lost a suitcase at the airport of {T}.
The campsite near {T} opens in {M}.
A rail pass takes you from {T} to {U} and back.
{A} spent the honeymoon on an island off {T}.
"""),
    "music": _lines("""
The choir in {T} sings old songs on {D}.
{A} bought a second-hand violin in {T}.
The band from {U} plays in {T} in {M}.
{A} practises the piano every {D}.
On {D} the orchestra of {T} gives a free concert.
The brass band of {T} has a new conductor.
{A} sang three songs as an encore.
A string quartet from {U} plays in the church of {T}.
The drummer {A} has broken a stick again.
The organ of {T} has been tuned for {D}.
{A} wrote a melody for two flutes.
Singers are wanted for the opera in {T}.
The jazz club in {T} opens again in {M}.
{A} learned to play the accordion in {U}.
A rare guitar was sold in {T} on {D}.
{A} hums the tune that won the song contest of {T}.
"""),
}  # fmt: skip

# attacks somebody|does not
COMMENTS = table("""
Shut up, {A}, nobody asked you.|I do not agree with {A}, but the point is interesting.
Only an idiot like {A} would go to {T}.|{A}, could you explain this again, please?
{A}, you are completely useless.|Thank you, {A}, that was new to me.
The people of {T} are all stupid liars.|The people of {T} have had a hard year.
Get lost, {A}, and take your ugly {x} with you.|I would leave the {x} at home, {A}.
What a moron, this {A} from {T}.|I found the film about {T} too long.
Your {x} is garbage, {A}, just like you.|Sadly, the {x} from {T} did not work for me.
I hope {A} falls into the river.|We should ask {A} before we decide.
{A} is too thick to understand a bus timetable.|{A} is wrong about {T}, I think.
Nobody in {T} would miss a fool like you, {A}.|In my view the {x} costs too much for what it does.
Typical of {T}: lazy, greedy and proud of it.|Perhaps {A} has not seen the latest figures from {T}.
Hey {A}, even my goat has better manners than you.|I expected more from the {x}, to be honest.
People who like this {x} have no brain at all.|I must disagree: the {x} was never that cheap.
You disgust me, {A}.|{T} needs more trains and fewer car parks.
{A} lies with every word, the little rat.|{A} makes a fair point about the {x}.
Only cowards live in {T}.|Could somebody from {T} confirm this?
Go back to {T}, you clown.|The article leaves out what {A} said on {D}.
{A} smells as bad as {he} writes.|As a teacher in {T} I see it differently.
What a bunch of losers you are in {T}.|It would help if {A} named a source.
Anyone who trusts {A} must be brain-dead.|Sorry, {A}, I misread your comment.
You talk rubbish, {A}, and you look like it too.|The old {x} was better, I find.
{A} should be ashamed to show that ugly face in {T}.|My experience in {T} was quite the opposite.
The council of {T} is a pack of thieves and morons.|Let us wait for the report before we blame {A}.
Your mother must be embarrassed, {A}.|I was in {T} on {D} and saw no such thing.
Somebody should lock up {A}, that ape.|The prices in {T} have risen since {M}, as {A} says.
""")
COMMENTED = ["camera", "hat", "guitar", "bicycle", "umbrella", "radio", "coat", "car"]

INTENTS = {
    "book": _lines("""
I need a table for {k} in {T} on {D}.
Reserve a room in {T} for {k} nights, please.
Can I have {k} seats on the {D} train to {T}?
Get me {k} tickets for the show in {T}.
Please put {k} of us down for the boat tour in {T}.
We would like a double room in {T} from {D} on.
Hold {k} places in the pottery course for {A}'s family, please.
I want to order {k} boxes of tea to {T}.
Could you keep a window table for {k} on {D}?
One return ticket to {T} for {D}, please.
Sign me up for the {D} class in {T}.
We will take the flat in {T} for {k} weeks.
Send {k} copies of the calendar to {A} in {T}.
"""),
    "cancel": _lines("""
I cannot come on {D} after all, so please delete my booking in {T}.
Please take back my order for {k} tickets to {T}.
We no longer need the {k} rooms in {T}.
My trip to {T} on {D} is off; remove me from the list.
Please strike {A} off the list for {D}.
I have to call off our table for {k} on {D}.
Do not send the {k} chairs to {T}; we have changed our minds.
We are ill and will not use the tickets for {T}.
Kindly cancel the taxi to {T} on {D}.
Forget my order of {D}, please.
Give our room in {T} to somebody else.
I would like to step back from the contract for the flat in {T}.
{A} cannot take part in the course in {T}; please free the place.
"""),
    "complain": _lines("""
We waited in {T} for {k} hours and nobody came!
The room in {T} was dirty for {k} days.
Your driver in {T} was very unfriendly on {D}.
I paid for {k} meals in {T} and got only one!
The soup in your inn in {T} was cold on {D}.
My parcel from {T} arrived {k} weeks late and wet.
For {k} days nobody in {T} has answered my calls!
Your bus drove past our stop in {T} again.
The heating in our room in {T} never worked.
In {T} you charged me for {k} nights instead of one.
The guide on the {D} tour of {T} did not know the way.
The bicycle I rented in {T} had no brakes!
Half of the {k} cups you sent to {T} were broken.
"""),
    "ask": _lines("""
Which bus goes to {T} on {D}?
How much are {k} tickets to {T}?
Is the office in {T} open on {D}?
Do the {k} rooms in {T} have a balcony?
When does the last boat leave {T} on {D}?
Are dogs allowed in your house in {T}?
What is included in the price of {k} nights?
Where can I park near your shop in {T}?
Is there a lift in the hotel in {T}?
How long does the trip to {T} take?
Until what time can one eat in {T} on {D}?
Does the course in {T} need any experience?
Do you deliver to {T} in {M}?
"""),
}  # fmt: skip

# sentence|fillers that make sense|fillers that do not
SENSE = table("""
{A} put the milk into the {x}.|fridge cup bowl pan|keyhole newspaper candle envelope
{A} wrote a letter with a {x}.|pen pencil typewriter|spoon pillow carrot
{A} travelled to {T} by {x}.|train bus car ship|soup table pencil music
In the garden {A} grows {x}.|beans roses carrots tulips|spoons clocks windows shoes
{A} cut the bread with a {x}.|knife breadknife|blanket feather balloon
For breakfast {A} ate a {x}.|roll pear banana pancake|ladder sofa bicycle hammer
{A} wore a {x} because of the cold.|coat scarf jumper|teapot window bridge
The {x} barked when {A} came home to {T}.|dog puppy|goldfish teapot sofa
To see the stars, {A} uses a {x}.|telescope|toaster sponge trumpet
{A} paid the taxi in {T} with {x}.|cash coins|sand leaves clouds
{A} hung the picture on the {x}.|wall|soup rain
The {x} flew over the roofs of {T}.|swallow plane kite|piano cow carpet
{A} read the {x} on the train to {T}.|newspaper novel letter|onion doorknob broom
At night {A} lay down on the {x}.|bed sofa mattress|ceiling chimney
{A} filled the kettle with {x}.|water|gravel feathers nails
The teacher of {T} wrote the sum on the {x}.|blackboard|fog breeze
{A} dried the dishes with a {x}.|cloth towel|hammer candle
On {D} {A} rowed the {x} across the lake.|boat|bus wardrobe
{A} sliced the {x} for the salad.|cucumber tomato radish|brick lightbulb blanket
The {x} laid an egg in {A}'s barn.|hen goose duck|horse cat sheep
{A} climbed the {x} to pick the cherries.|ladder tree|sandwich puddle
In January {A} skated on the frozen {x}.|lake pond|thunder pillow
{A} locked the door with a {x}.|key|banana sponge
{A} milked the {x} before breakfast.|cow goat|snake tractor
The choir of {T} sang a {x}.|song carol|bucket shoelace
{A} posted the letter in the {x}.|letterbox postbox|oven aquarium
{A} swept the kitchen with a {x}.|broom|violin lettuce
The dentist of {T} looked at {A}'s {x}.|teeth|curtains bicycle
{A} planted the seeds in the {x}.|soil garden|mirror envelope
For the birthday {A} baked a {x}.|cake tart|staircase raincloud
{A} tied up the parcel with {x}.|string|smoke yoghurt
""")
