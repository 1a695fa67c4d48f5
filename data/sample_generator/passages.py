"""Short texts with what can be said or asked about them; the fields are those of `words.fill`."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table

# passage|question|answer|question|answer ...
READ = table("""
{A} works as a nurse in {T}. Every {D} {A} takes the bus to {U} to see {B}.|What is {A}'s job?|nurse|Where does {B} live?|{U}|When does {A} visit {B}?|every {D}|Where does {A} work?|{T}
{A} and {B} moved from {T} to {U} {n} years ago. They share their house with two goats.|Where do {A} and {B} live now?|{U}|When did {A} and {B} move?|{n} years ago|Which animals live with {A} and {B}?|two goats|Where did {A} live before?|{T}
On {D} the carpenter {A} met {B} {place}. They talked for {n} minutes about a trip to {U}.|Where did {A} meet {B}?|{place}|How long did they talk?|{n} minutes|On which day did {A} meet {B}?|{D}|What did they talk about?|a trip to {U}
The old ferry of {T} carries cars and sheep across the lake. Its captain, {A}, has not missed a day since {M}.|Who is the captain of the ferry?|{A}|What does the ferry carry?|cars and sheep|Since when has the captain not missed a day?|since {M}|Where does the ferry go?|across the lake
While digging in the garden, {A} found a silver spoon. {B} thinks that it once belonged to a sailor from {T}.|What did {A} find?|a silver spoon|Where did {A} find it?|in the garden|Whose was it, in {B}'s opinion?|a sailor from {T}|What was {A} doing at the time?|digging
The children of {T} sang in the old church on {D}. {n} parents listened, and {A} played the organ.|Where did the children sing?|in the old church|Who played the organ?|{A}|How many parents listened?|{n} parents|When did the children sing?|on {D}
{A} repairs clocks behind the station of {T}. A small clock takes {n} minutes, a tower clock a whole week.|What does {A} repair?|clocks|Where does {A} work?|behind the station|How long does a small clock take?|{n} minutes|How long does a tower clock take?|a whole week
On the way to {U}, {A}'s car stopped in a tunnel. A shepherd pushed it out and wanted no money for it.|Where did the car stop?|in a tunnel|Who pushed the car?|a shepherd|Where was {A} going?|to {U}|What did the shepherd not want?|money
{B} bakes {n} loaves every night. Most of them go to the hospital of {T}, and the corner shop takes the rest.|Where do most loaves go?|to the hospital|How many loaves does {B} bake?|{n} loaves|When does {B} bake?|every night|Who takes the rest?|the corner shop
The storm of last {M} blew the roof off {A}'s barn. The cows slept in the town hall of {T} until it was mended.|What did the storm blow off?|the roof|Where did the cows sleep?|in the town hall|When was the storm?|last {M}|Who is the owner of the barn?|{A}
{A} wrote to the paper that the new benches in {T} are too low. {B}, who built them, promised higher ones by {D}.|What is wrong with the benches?|too low|Who built the benches?|{B}|When will there be higher ones?|by {D}|To whom did {A} write?|to the paper
In the lighthouse near {U} lives a retired teacher with a parrot. On {D}s he shows visitors the lamp and the view.|Who lives in the lighthouse?|a retired teacher|Where is the lighthouse?|near {U}|When may visitors come?|on {D}s|What do visitors see?|the lamp and the view
The neighbours' dog barked until four o'clock. In the morning {A} slept through the alarm and missed the bus to {T}.|Whose dog barked?|the neighbours'|Until when did it bark?|until four o'clock|What did {A} miss?|the bus to {T}|Who slept through the alarm?|{A}
For the feast of {T}, {A} and {B} built a dragon of paper and wire. It burned down on {D} because of a cigarette.|What was the dragon made of?|paper and wire|Why did the dragon burn?|because of a cigarette|When did the dragon burn?|on {D}|For what was the dragon built?|the feast of {T}
""")

# evidence|claim that it supports|claim that it refutes|claim of which it says nothing
CLAIMS = table("""
The harbour of {T} was built in {y}. It has room for {n} boats.|{n} boats fit into the harbour of {T}.|The harbour of {T} has room for {m} boats only.|{A} keeps a boat in the harbour of {T}.
{A} painted the door red. {B} painted the window frames blue.|The door is red.|{B} painted the door.|{A} is a better painter than {B}.
The train from {T} to {U} takes {n} minutes and runs twice a day.|There are two trains a day from {T} to {U}.|The train from {T} takes {m} minutes to {U}.|The train to {U} is cheap.
{A} grew up in {T} but has lived in {U} since {y}.|{A} spent the childhood in {T}.|{A} has never lived in {U}.|{A} likes {U} better than {T}.
{A} came first in the race and {B} came third.|{A} was faster than {B}.|{B} won the race.|{B} had won the race in {y}.
The library of {T} lends books for four weeks and films for one.|A book may be kept longer than a film.|A film may be kept for four weeks.|The library of {T} lends more films than books.
{A} works in the bakery of {T} from Tuesday to Saturday.|{A} does not work on Mondays.|{A} bakes on Sundays.|{A} earns more than {B}.
All rooms of the inn in {U} look onto the lake.|There is a lake near the inn in {U}.|Some rooms of the inn in {U} look onto the street only.|The lake near {U} is good for swimming.
{A} has two cats, and {B} has none.|{A} owns more cats than {B}.|{B} has a cat.|{B} would like to have a cat.
The bridge at {T} carries trains only.|No cars cross the bridge at {T}.|Lorries use the bridge at {T}.|The bridge at {T} is older than the station.
{A} sold {n} paintings in {y}, all of them to a museum.|A museum bought paintings by {A}.|{A} sold {m} paintings in {y}.|The museum that bought {A}'s paintings is in {T}.
The club in {T} was founded by three women.|The club in {T} had more than one founder.|The club in {T} was founded by men.|{A} was one of the founders of the club in {T}.
The market of {T} sells fruit on {D} and fish on {E}.|One can buy fruit in {T} on {D}.|The market of {T} sells fish on {D} only.|The fruit in {T} comes from {U}.
{A} speaks Greek and Polish but no Spanish.|{A} speaks at least two languages.|{A} speaks Spanish.|{A} learned Greek from {B}.
It has rained in {T} every day since {D}.|It rained in {T} on the day after {D}.|There was a dry day in {T} after {D}.|The river at {T} has risen.
The hotel in {U} has {n} rooms, only some of them with a bath.|There are rooms without a bath in {U}.|All rooms of the hotel in {U} have a bath.|In {U} a room with a bath is dearer.
{A}'s flat is on the fourth floor, and the house has no lift.|{A} climbs stairs to get home.|{A} takes the lift to the flat.|{A} wants to move out.
""")

# text|the same in other words|something else
SAME = table("""
{A} {past} {thing} {place}.|{place}, {thing} was {done} by {A}.|{elsewhere}, {thing} was {done} by {A}.
{A} gave {B} {n} postcards.|{B} got {n} postcards from {A}.|{A} got {n} postcards from {B}.
It takes {n} minutes to walk from {T} to {U}.|The walk from {T} to {U} takes {n} minutes.|The walk from {T} to {U} takes {m} minutes.
{A} is the cousin of {B}'s teacher.|{B}'s teacher has a cousin called {A}.|{A}'s teacher has a cousin called {B}.
Only {A} knew the way to {T}.|Nobody except {A} knew the way to {T}.|Everybody except {A} knew the way to {T}.
{A} arrived before {B}.|{B} arrived after {A}.|{A} arrived after {B}.
{A} is too short to reach the shelf.|{A} is not tall enough to reach the shelf.|{A} is tall enough to reach the shelf.
The mayor of {T} rejected the plan.|The plan was turned down by the mayor of {T}.|The plan was welcomed by the mayor of {T}.
{A} forgot to invite {B}.|{A} did not remember to invite {B}.|{B} forgot to invite {A}.
At least {n} people came to {T}.|No fewer than {n} people came to {T}.|At most {n} people came to {T}.
{A} sold the boat to {B}.|{B} bought the boat from {A}.|{B} sold the boat to {A}.
There was hardly any snow in {T}.|{T} had very little snow.|{T} had a great deal of snow.
{A} has lived in {T} for {n} years.|It is {n} years since {A} moved to {T}.|It is {n} years since {A} left {T}.
{A} did not leave until {B} came.|{A} left only when {B} came.|{A} left long before {B} came.
The road to {T} is closed to lorries.|Lorries may not use the road to {T}.|Only lorries may use the road to {T}.
{A} would rather walk than take the bus.|{A} prefers walking to taking the bus.|{A} would rather take the bus than walk.
{B} persuaded {A} to stay in {T}.|{A} stayed in {T} because {B} talked {him} into it.|{A} persuaded {B} to stay in {T}.
{A} has run out of sugar.|There is no sugar left in {A}'s kitchen.|There is plenty of sugar left in {A}'s kitchen.
It was {A} who broke the window.|{A} was the one that broke the window.|It was not {A} who broke the window.
{A} came home later than usual.|Most of the time {A} comes home earlier.|{A} came home earlier than usual.
The film about {T} made {B} cry.|{B} cried because of the film about {T}.|{B} laughed about the film about {T}.
{A} failed the test on {D}.|{A} did not pass the test on {D}.|{A} passed the test on {D}.
Twice as many guests came on {D} as on {E}.|Half as many guests came on {E} as on {D}.|Half as many guests came on {D} as on {E}.
The soup was so salty that {A} could not eat it.|The soup was too salty for {A} to eat.|The soup was salty, but {A} ate it all.
{A} used to work in {T}.|{A} worked in {T} in former times.|{A} has begun to work in {T}.
{A} is not as old as {B}.|{A} is younger than {B}.|{A} is older than {B}.
Neither {A} nor {B} speaks French.|{A} and {B} do not speak French.|Both {A} and {B} speak French.
""")

# text|question|right answer|wrong answer
QUIZ = table("""
{A} moved to {T} on {D}.|Where did {A} move?|{T}|{U}
{A} {past} {thing} for {B}.|Who {past} {thing}?|{A}|{B}
The meeting in {T} is on {D} and not on {E}.|When is the meeting?|{D}|{E}
{A} waited in {T} while {B} drove to {U}.|Where did {A} wait?|{T}|{U}
First {A} spoke, then {B}.|Who spoke last?|{B}|{A}
{A} is taller than {B}.|Who is shorter?|{B}|{A}
The red house has {n} windows, the white one {m}.|How many windows does the white house have?|{m}|{n}
{A} ordered tea, and {B} ordered cocoa.|What did {B} order?|cocoa|tea
The baker of {T} closes at noon, the butcher at six.|When does the butcher close?|at six|at noon
{A} borrowed the ladder from {B}.|Who owns the ladder?|{B}|{A}
From {T} one sees the sea, from {U} the mountains.|What does one see from {U}?|the mountains|the sea
{A} wanted a drum but came home with a flute.|What did {A} buy?|a flute|a drum
The bus stops in {T} before it reaches {U}.|Which town does the bus reach first?|{T}|{U}
{A} paid for the tickets, and {B} carried the bags.|Who paid?|{A}|{B}
It rained on {D} but stayed dry on {E}.|On which day did one need an umbrella?|{D}|{E}
{B} invited {A} to a concert in {T}.|Who was the guest?|{A}|{B}
{A} was born in {T} and grew up in {U}.|Where did {A} grow up?|{U}|{T}
The keys of {A} lay under the mat, the letter in the drawer.|Where was the letter?|in the drawer|under the mat
In {T} the bridge is made of stone, in {U} of wood.|What is the bridge in {T} made of?|stone|wood
{A} sold more tickets than {B}.|Who sold fewer tickets?|{B}|{A}
The lesson in {T} begins at nine and ends at ten.|When is the lesson over?|at ten|at nine
{A} likes pears better than plums.|Which fruit does {A} like less?|plums|pears
In {T} it snows in winter and is very dry in summer.|In which season should one expect snow?|winter|summer
The letter from {T} is for {A}, the parcel is for {B}.|What is {A} going to get?|a letter|a parcel
{A} went up by cable car and came down on foot.|How did {A} come down?|on foot|by cable car
The castle of {T} is open in the morning only.|When is the castle closed?|in the afternoon|in the morning
{A} plays the cello, and {B} sings.|Who needs an instrument?|{A}|{B}
The first prize was a goat, the second a bag of oats. {A} came second.|What did {A} win?|a bag of oats|a goat
For the soup {A} used leeks, because there were no onions.|What is in {A}'s soup?|leeks|onions
Long ago {T} had a king; now it has a mayor.|Who rules {T} today?|a mayor|a king
{A} thought the bird was a crow, but it was a raven.|What was the bird?|a raven|a crow
{A} has an appointment before lunch and {B} one after lunch.|Who comes earlier?|{A}|{B}
The bench is wet and the chair is dry, says {A}.|On what should one sit?|the chair|the bench
""")

# sentence|answer taken from it|question
ASKED = table("""
{A} {past} {thing} on {D}.|on {D}|When did {A} {base} {thing}?
{A} {past} {thing} for {B}.|{A}|Who {past} {thing} for {B}?
{A} moved to {T} with {B}.|{T}|Where did {A} move with {B}?
{A} has {n} cousins in {T}.|{n} cousins|How many cousins does {A} have in {T}?
{A} met {B} in {T} on {D}.|{B}|Who did {A} meet in {T} on {D}?
{A} {past} {thing} {place}.|{place}|Where did {A} {base} {thing}?
The train to {T} takes {n} minutes.|{n} minutes|How long does the train to {T} take?
{A} stayed at home because of the rain.|because of the rain|Why did {A} stay at home?
{B} lent {A} a tent for the trip to {T}.|a tent|What did {B} lend {A} for the trip to {T}?
{A} travelled from {T} to {U} by bicycle.|by bicycle|How did {A} travel from {T} to {U}?
The shop of {A} sells tea and spices.|tea and spices|What does the shop of {A} sell?
{A} paid {n} dollars for the old clock.|{n} dollars|How much did {A} pay for the old clock?
The key to the cellar belongs to {B}.|{B}|Who does the key to the cellar belong to?
{A} waters the roses twice a week.|twice a week|How often does {A} water the roses?
{A} wants to become a pilot.|a pilot|What does {A} want to become?
{A} learned to swim in {M}.|in {M}|When did {A} learn to swim?
The first prize went to {A} from {U}.|{A}|Who from {U} got the first prize?
{A} and {B} have been friends since {y}.|since {y}|Since when have {A} and {B} been friends?
{B} opened the window to let the cat out.|to let the cat out|Why did {B} open the window?
{A}'s favourite colour is green.|green|What is {A}'s favourite colour?
The bridge near {T} is {m} metres long.|{m} metres|How long is the bridge near {T}?
{A} hid the letter under the carpet.|under the carpet|Where did {A} hide the letter?
{A} and {B} are talking about a film.|a film|What are {A} and {B} talking about?
The museum of {T} shows old fire engines.|old fire engines|What does the museum of {T} show?
{A} takes the dog for a walk before breakfast.|before breakfast|When does {A} take the dog for a walk?
{B} gave the beggar a warm coat.|the beggar|To whom did {B} give a warm coat?
{A} keeps the spare key in a flower pot.|in a flower pot|Where does {A} keep the spare key?
The well in {T} is {n} metres deep.|{n} metres|How deep is the well in {T}?
{A} cut the rope with a bread knife.|a bread knife|What did {A} cut the rope with?
{A} missed the wedding because of a flat tyre.|because of a flat tyre|Why did {A} miss the wedding?
The lake near {T} is full of trout.|trout|What is the lake near {T} full of?
{B}'s grandmother was a ship's cook.|a ship's cook|What was {B}'s grandmother?
{A} has written {n} letters to the mayor.|{n} letters|How many letters has {A} written to the mayor?
{A} sleeps on the floor whenever guests come.|whenever guests come|When does {A} sleep on the floor?
The new teacher in {T} is called {C}.|{C}|What is the new teacher in {T} called?
{A} likes the blue hat best.|the blue hat|Which hat does {A} like best?
{B} opened the tin with a chisel.|with a chisel|How did {B} open the tin?
Mice ate half of {A}'s bread.|half of {A}'s bread|What did the mice eat?
The ferry to {T} leaves from the southern pier.|the southern pier|From where does the ferry to {T} leave?
""")

# facts|conclusion that follows|conclusion that does not
FOLLOWS = table("""
Every room on floor {n} has a desk. {A} has room number {m} on floor {n}.|Room number {m} has a desk.|There is no desk in room number {m}.
{A} arrived before {B}. {B} arrived before {C}.|{A} arrived before {C}.|{C} arrived before {A}.
If it rains, the match in {T} is cancelled. It rained in {T} on {D}.|The match in {T} was cancelled on {D}.|The match in {T} took place on {D}.
{A}'s passport is in the drawer. The drawer is in the hall.|{A}'s passport is in the hall.|{A}'s passport is in the attic.
{A} is older than {B}. {B} is older than {C}.|{A} is older than {C}.|{C} is older than {A}.
Only members may use the boats of {T}. {A} is not a member.|{A} may not use the boats of {T}.|{A} may use the boats of {T}.
No shop in {T} sells stamps. {A}'s bakery is a shop in {T}.|{A}'s bakery does not sell stamps.|One can buy stamps at {A}'s bakery.
Either {A} or {B} has the key. {A} does not have the key.|{B} has the key.|Neither {A} nor {B} has the key.
Every bus to {T} stops in {U}. {A} is on a bus to {T}.|The bus with {A} stops in {U}.|The bus with {A} drives through {U} without a stop.
All of {A}'s sisters are nurses. {B} is a sister of {A}.|{B} is a nurse.|{B} has never been a nurse.
{A} has read every book that {B} owns. {B} owns a book about {T}.|{A} has read a book about {T}.|{A} has never read a book about {T}.
Whoever comes after nine must wait. {A} came at ten on {D}.|{A} had to wait on {D}.|{A} could go in at once on {D}.
The towers of {T} and {U} are equally high. The tower of {U} is {n} metres high.|The tower of {T} is {n} metres high.|The tower of {T} is {m} metres high.
{A} and {B} left {T} together. {B} left at noon.|{A} left at noon.|{A} left in the evening.
Each of the {n} houses has a garden. The house of {A} is one of them.|The house of {A} has a garden.|The house of {A} has no garden.
If {A} sings, {B} dances. {B} is not dancing.|{A} is not singing.|{A} is singing.
All trains from {T} are late when it snows. It is snowing.|The trains from {T} are late.|The trains from {T} are on time.
Nobody in the choir of {T} is under twenty. {A} sings in this choir.|{A} is at least twenty.|{A} is fifteen years old.
The market of {T} is held on {D} and on no other day. Tomorrow is market day in {T}.|Tomorrow is {D}.|Tomorrow is {E}.
{A}'s goat eats everything that is green. {B}'s new hat is green.|{A}'s goat would eat {B}'s new hat.|{A}'s goat would not touch {B}'s new hat.
{T} is north of {U}. {A} lives in {T}, and {B} lives in {U}.|{A} lives north of {B}.|{A} lives south of {B}.
Every second child in {T} has a bicycle, and there are {n} pairs of twins.|Some children in {T} have a bicycle.|No child in {T} has a bicycle.
The cake is gone by noon or {A} is not at home. The cake is still there in the evening.|{A} is not at home.|{A} is at home.
A ticket to {T} costs more than {n} dollars. {A} has exactly {n} dollars.|{A} cannot pay for a ticket to {T}.|{A} has enough money for a ticket to {T}.
Only the baker of {T} has a red cart. {A} drives a red cart.|{A} is the baker of {T}.|{A} is the tailor of {T}.
All the fish in this pond are carp. {A} caught a fish in this pond.|{A} caught a carp.|{A} caught a pike.
No letter arrives in {T} on a {D}. {A} got a letter in {T}.|{A}'s letter did not arrive on a {D}.|{A}'s letter arrived on a {D}.
""")

# premise|hypothesis that is entailed|contradicted|neither
RELATED = table("""
{A} {past} {thing} {place} {time}.|{thing} was {done} {place}.|{A} has never {done} {thing}.|{A} was paid for {ing} {thing}.
{A} {past} {thing} {place} {time}.|{A} was {place}.|The only place where {A} {past} {thing} was {elsewhere}.|It was the third time that {A} {past} {thing}.
{A} has {n} hens and no other animals.|{A} has no goat.|{A} keeps a goat beside the hens.|{A} sells eggs in {T}.
The library in {T} is open until eight in the evening.|At six in the evening the library in {T} is open.|The library in {T} closes at noon.|Many pupils study in the library in {T}.
{A} missed the last train to {U}.|{A} did not take the last train to {U}.|{A} reached {U} with the last train.|{A} spent the night in a hotel.
The soup that {A} cooked has no meat in it.|There is no beef in {A}'s soup.|{A}'s soup is full of beef.|{B} liked the soup that {A} cooked.
{A} and {B} were born in the same year.|{A} and {B} are about the same age.|{A} is ten years older than {B}.|{A} and {B} went to the same school.
Nobody but {A} came to the meeting in {T}.|{B} did not come to the meeting in {T}.|{B} spoke at the meeting in {T}.|The meeting in {T} was short.
{B} has just returned {A}'s bicycle.|{B} had {A}'s bicycle for a while.|{B} has never used {A}'s bicycle.|{A}'s bicycle needs new tyres.
The ferry to {T} leaves every hour, day and night.|There is more than one ferry a day to {T}.|There is one ferry a day to {T}.|The ferry to {T} is often full.
The museum in {U} shows nothing but clocks.|There are clocks in the museum in {U}.|The museum in {U} has a hall of paintings.|The museum in {U} is free for children.
{A} would have won if {B} had not taken part.|{A} did not win.|{A} was the winner.|{A} and {B} are friends.
""")
