"""Pairs of a cause and its effect, in a village and at home; the fields are those of `words.fill`."""

# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table

VILLAGE = table("""
The road to {T} was covered with ice.|Several cars slid into the ditch near {T}.
Heavy rain fell on {T} for three days.|The river at {T} rose over its banks.
The bridge at {T} was closed for repairs.|Drivers had to take the long way round {T}.
The school bus to {T} broke down on {D}.|The children of {T} came home late on {D}.
{A} trained every day for the race in {T}.|{A} won the race in {T}.
The mayor of {T} opened a new swimming pool.|Many families in {T} learned to swim.
A storm tore the roof off {A}'s barn.|{A} had to build a new roof.
The shop in {T} raised the price of bread.|Customers in {T} went to another bakery.
{A} planted clover beside the field.|Many bees came to {A}'s field.
The last train to {T} was cancelled on {D}.|Passengers to {T} took a taxi on {D}.
The well in {T} dried up in August.|People in {T} carried water from the lake.
{A} left the gate of the field open.|{A}'s sheep walked onto the road.
The wind in {T} dropped on {D}.|The boat race in {T} was put off on {D}.
A famous singer came to {T} on {D}.|All seats in the hall of {T} were sold out on {D}.
The factory in {T} closed its doors.|Two hundred people in {T} lost their jobs.
The council of {T} planted trees along the main street.|The main street of {T} became cooler in summer.
{A} found a purse and took it to the police.|The owner of the purse thanked {A}.
Thick fog lay over the airport of {T} on {D}.|Flights from {T} were delayed on {D}.
Wild pigs dug up {A}'s potatoes.|{A} put a strong fence around the potatoes.
The library in {T} began to open on {D}.|More pupils borrowed books from the library in {T} on {D}.
{A} spoke at the meeting about the noisy road.|The council lowered the speed limit on {A}'s street.
A late frost came to {T} in May.|The apple trees of {T} bore little fruit.
The clock tower in {T} was struck by lightning.|The clock in {T} stopped.
{A} sold fresh lemonade on the hottest {D} of the year.|{A} ran out of lemons by noon on {D}.
Tourists discovered the beach of {T}.|Three new hotels were built in {T}.
The ferry to {T} lost its anchor.|The ferry to {T} drifted onto a sandbank.
The dam above {T} broke.|The lower streets of {T} were under water.
A new cinema opened in {T}.|Young people from the whole valley came to {T} at the weekend.
{A}, the baker of {T}, won a prize.|On {D} people queued outside {A}'s bakery.
Snow blocked the pass to {T}.|No bus reached {T} for two days.
The council of {T} closed a street to cars.|Children in {T} began to play football on the asphalt.
The traffic light in {T} went out.|Two cyclists collided at the crossing in {T}.
{A} rang the fire bell of {T} in the night.|Everybody in {T} ran out of the houses.
A lorry lost its load on the hill of {T}.|Apples rolled through the lanes of {T}.
The school of {T} was given a grand piano.|Many pupils in {T} asked for music lessons.
The canal at {T} froze over in January.|People in {T} skated to work.
A film crew came to {T} on {D}.|Half of {T} stood in the square to watch on {D}.
The only mechanic of {T} fell ill.|Broken tractors stood idle in the yards of {T}.
The price of wool went up.|The shepherds of {T} bought new carts.
A swarm of bees settled on the town hall of {T}.|The meeting of the councillors of {T} was moved to the school.
The well-known cook {A} took over the inn of {T}.|The tables of {A}'s inn were full every evening.
A squirrel got into the power station of {T}.|{T} sat in the dark for an hour.
The ice cream van broke down outside {T} on {D}.|The children of {T} waited in vain for ice cream on {D}.
Somebody left {A}'s henhouse unlocked.|A fox carried off three of {A}'s hens.
{A} painted a huge whale on the wall of the station.|Travellers took pictures of {A}'s whale.
The night bus from {T} was given up.|Students from {T} bought bicycles.
A clinic was built in {T}.|Sick people from {T} no longer travelled to the city.
The church bell of {T} cracked.|On {D} only a dull sound came from the church of {T}.
Somebody poured soap into the fountain of {T}.|White foam covered the square of {T}.
Strong gusts knocked down the stalls in {T}.|The market of {T} was called off on {D}.
A rumour about gold spread through {T}.|Dozens of strangers dug holes along the stream near {T}.
{A} taught half of {T} to dance.|The spring ball of {T} lasted until dawn.
The mill wheel of {T} broke.|The bakers of {T} had no flour.
A landslide covered the railway at {T}.|Trains turned round one station before {T}.
The reservoir of {T} ran low in the dry summer.|Households in {T} were asked not to water their lawns.
{A} left four thousand books to the library of {T}.|The library of {T} ran out of shelves.
The lighthouse keeper of {T} fell asleep.|A large ship ran aground outside {T}.
A stork built its nest on the school chimney in {T}.|The stove in the school of {T} stayed cold until autumn.
{A} put up a scarecrow in the wheat.|The crows left {A}'s wheat alone.
A traffic jam held up the orchestra on the way to {T}.|The concert in {T} began an hour late on {D}.
A tax on windows was raised in {T}.|House owners in {T} bricked up some of their windows.
""")

HOUSEHOLD = table("""
{A} forgot to water the plants for a month.|{A}'s plants dried out.
{A} left the ice cream on the table.|{A}'s ice cream melted.
{A} stayed up reading until three in the morning.|{A} was very tired the next day.
{A} put too much salt into the soup.|Nobody wanted to eat {A}'s soup.
{A} washed a red sock with the white shirts.|{A}'s white shirts turned pink.
{A} did not set the alarm clock on {D}.|{A} overslept on {D}.
{A}'s phone battery was empty.|{A} could not call home.
{A} left the window open during the storm.|Rain soaked {A}'s carpet.
{A} cut {his} finger with a knife.|{A} put a plaster on {his} finger.
{A} forgot the cake in the oven.|{A}'s kitchen was full of smoke.
{A} saved some money every month.|{A} was able to buy a new bicycle.
{A} ran to the station without stopping.|{A} was out of breath at the station.
{A} lost the key to the flat on {D}.|{A} had to call a locksmith on {D}.
{A}'s cat climbed a very tall tree.|{A} fetched a long ladder for the cat.
{A} dropped the laptop on the floor.|The screen of {A}'s laptop cracked.
{A} drank a strong coffee late on {D}.|{A} lay awake until midnight on {D}.
{A} heard a very funny joke.|{A} laughed out loud.
The neighbours played loud music on {D}.|{A} could not concentrate on {his} homework on {D}.
{A} walked through the mud in {his} new shoes.|{A} had to clean {his} shoes.
{A} forgot to put a stamp on the letter.|{A}'s letter came back.
{A} turned off the heating in January.|{A}'s rooms became cold.
{A} studied hard for the exam on {D}.|{A} got full marks in the exam on {D}.
{A} touched the hot iron.|{A} burned {his} hand.
{A} left {his} umbrella at home on {D}.|{A} got wet in the rain on {D}.
{A} watered the garden every evening.|{A}'s tomatoes grew large.
A bicycle tyre of {A}'s went flat on {D}.|{A} pushed the bicycle home on {D}.
{A} forgot to close the fridge overnight.|The milk in {A}'s fridge turned sour.
{A} practised the trumpet at midnight.|Somebody knocked angrily on {A}'s wall.
{A} planted mint in the flower bed.|Mint spread between {A}'s roses.
{A} wore thin socks on the long hike.|{A} had blisters on both feet.
{A} mistook the salt for sugar.|{A}'s cake tasted awful.
{A} pulled out the plug of the computer too early.|{A} lost the letter {he} had just typed.
{A} left the tap of the bathtub running.|Water dripped through the ceiling below {A}'s bathroom.
{A} put winter tyres on the car.|{A}'s car did not slide on the snow.
{A} hung out the washing before a shower.|{A}'s washing had to be dried a second time.
{A} did not tie {his} shoelaces.|{A} tripped on the stairs.
{A} put a hot pan on the plastic table cloth.|A hole melted in {A}'s table cloth.
{A} gave the dog a bath.|Wet paw prints covered {A}'s floor.
{A} booked the holiday a year early.|{A} got the room with the best view.
{A} stood in the sun without a hat on {D}.|{A} had a red nose on {D}.
{A} sharpened the kitchen knives.|{A} could slice the tomatoes very thinly.
{A} parked in front of the fire station.|A policeman fined {A}.
{A} cheered at the top of {his} voice on {D}.|{A} was hoarse after {D}.
{A} fed the pigeons on the balcony.|A whole flock of pigeons moved onto {A}'s balcony.
{A} bought bread for ten, but only three guests came.|{A} ate old bread all week.
{A} glued the broken cup together.|{A} could use the cup again.
{A} let a candle burn near the curtain.|{A}'s curtain caught fire.
{A} wrote the wrong house number on the parcel.|{A}'s parcel went to a stranger.
{A} slept on a very soft mattress.|{A} woke up with a sore back.
{A} pruned the old pear tree.|{A}'s pear tree bore more fruit than ever.
{A} dropped an egg in the hallway.|{A} fetched a cloth to wipe the hallway floor.
{A} packed a torch for the camping trip.|{A} had light in the tent.
{A} fixed a bell to the cat's collar.|The birds in {A}'s garden heard the cat coming.
{A} chopped a big bag of onions.|Tears ran down {A}'s face.
{A} kept the greenhouse shut on the hottest day.|The seedlings in {A}'s greenhouse withered.
{A} entered the wrong code three times.|{A}'s bank card was blocked.
{A} read the recipe without {his} glasses.|{A} used ten eggs instead of one.
{A} repaired the squeaking door on {D}.|{A}'s door opened without a sound after {D}.
{A} spilled ink on the homework.|{A} had to write the homework again.
""")
