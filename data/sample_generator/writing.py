"""News with titles, records with sentences, and sentences with a mistake; the fields are those of `words.fill`."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table

# news|title|another title; {x} is a building, {X} the same in a title, {a} the same when it is new
NEWS = table("""
The {T} council decided on {D} to build {a}. Work will start in {M}.|{T} to Build {X}|{T} Council Decides to Build {X}
After a long debate, {a} was opened in {T} on {D}. Many people came to see it.|{X} Opens in {T}|{T} Opens {X}
A fire damaged {x} in {T} late on {D}. Nobody was hurt.|Fire Damages {X} in {T}|{T}: Fire Damages {X}
Because of the storm, {x} in {T} stays closed until {M}, said {A} on {D}.|Storm Closes {X} in {T}|{X} in {T} Closed after Storm
{A} from {T} gave a large sum of money for {a}. The town thanked the donor on {D}.|{A} Gives Money for {X}|{T} Resident Gives Money for {X}
Thieves broke into {x} in {T} on {D} and took a few coins.|Thieves Break into {X} in {T}|Break-In at {X} in {T}
Pupils in {T} have painted {x} in bright colours. The work took them until {M}.|Pupils Paint {X} in {T}|{T} Pupils Paint {X}
{A} has written a book about {x} of {T}. It will be on sale from {M}.|Book about {T} {X} by {A}|{A} Writes Book about {T} {X}
The lights of {x} in {T} went out on {D} when a mouse bit through a cable.|Mouse Puts Out Lights of {X} in {T}|Mouse Bites Cable at {T} {X}
A cat was rescued from the roof of {x} in {T} on {D}. It took the firemen two hours.|Cat Rescued from Roof of {X} in {T}|Firemen Rescue Cat in {T}
From {M} on, children may use {x} in {T} free of charge, the council said on {D}.|{X} in {T} Free for Children|Children Use {T} {X} Free of Charge
With a cake and a brass band {x} in {T} turned fifty on {D}. {A} cut the cake.|{X} in {T} Turns Fifty|{T} Celebrates Fifty Years of {X}
Workers who repaired {x} in {T} found a box of silver coins under the floor.|Silver Coins Found under {X} in {T}|Workers Find Silver Coins in {T}
A burst pipe flooded the cellar of {x} in {T}. It will take until {M} to dry it.|Burst Pipe Floods {X} in {T}|Cellar of {T} {X} under Water
{A} has been chosen to lead {x} in {T}. The new head starts in {M}.|{A} to Lead {X} in {T}|{T} {X} Gets New Head
Bees have settled above the door of {x} in {T}. Visitors must enter from the yard.|Bees Settle at {X} in {T}|Bees Block Door of {T} {X}
More people than ever came to {x} in {T} last {M}, {A} told us on {D}.|Record Number of Visitors at {X} in {T}|{T} {X} Draws More Visitors than Ever
The council of {T} wants to sell {x}. Three hundred people protested on {D}.|Protest against Sale of {X} in {T}|{T} Protests against Sale of {X}
On {D} an elk walked into {x} in {T} and stayed for an hour.|Elk Walks into {X} in {T}|Elk Visits {T} {X}
A clock that was stolen from {x} in {T} years ago came back by post on {D}.|Stolen Clock Returns to {X} in {T}|Stolen Clock Comes Back to {T}
Soon {x} in {T} will be painted yellow. {A} had hoped for blue.|{X} in {T} to Be Painted Yellow|Yellow Paint for {T} {X}
A choir of two hundred voices sang in {x} in {T} on {D}. {A} conducted.|Two Hundred Voices Sing in {X} in {T}|Large Choir Sings in {T}
""")

# record|sentence|another sentence; {n} is the name, {b} the year of birth, {t} the town, {p} the profession with
# its article, {q} without, {w} the work
RECORDS = table("""
name: {n} / born: {b} / place of birth: {t} / profession: {q}|{n} was {p} who was born in {t} in {b}.|{n}, born in {b} in {t}, was {p}.
name: {n} / profession: {q} / known for: {w}|{n} was {p} known for {w}.|The {q} {n} is known for {w}.
name: {n} / place of birth: {t} / known for: {w}|{n}, who was born in {t}, is known for {w}.|{n} was born in {t} and is known for {w}.
profession: {q} / name: {n} / year of birth: {b}|{n}, born in {b}, was {p}.|The {q} {n} was born in {b}.
name: {n} / born in: {t} / worked as: {q}|{n} from {t} worked as {p}.|{n} was born in {t} and worked as {p}.
year of birth: {b} / name: {n} / known for: {w}|{n}, who was born in {b}, is known for {w}.|Born in {b}, {n} is known for {w}.
name: {n} / dates: born {b} in {t}|{n} was born in {t} in {b}.|In {b} {n} was born in {t}.
known for: {w} / profession: {q} / name: {n} / home town: {t}|{n}, {p} from {t}, is known for {w}.|The {q} {n} from {t} is known for {w}.
""")

# right|wrong, in the form of a verb
VERBS = table("""
{A} and {B} were {place}.|{A} and {B} was {place}.
{A} has {done} {thing}.|{A} have {done} {thing}.
My friends are {ing} {thing} {place}.|My friends is {ing} {thing} {place}.
{A} does not {base} {thing} on {D}s.|{A} do not {base} {thing} on {D}s.
{A} {past} {thing} {time}.|{A} {base} {thing} {time}.
Did {B} {base} {thing} {place}?|Did {B} {past} {thing} {place}?
The children of {B} were not {place}.|The children of {B} was not {place}.
{A} wants to {base} {thing} {place}.|{A} want to {base} {thing} {place}.
There were {n} people {place}.|There was {n} people {place}.
{A} must {base} {thing} before {D}.|{A} must to {base} {thing} before {D}.
{A} is {ing} {thing} at the moment.|{A} are {ing} {thing} at the moment.
{A} had already {done} {thing} when {B} came.|{A} had already {base} {thing} when {B} came.
The letters from {T} have arrived.|The letters from {T} has arrived.
{A} enjoys {ing} {thing}.|{A} enjoys to {base} {thing}.
Everybody in {T} knows {A}.|Everybody in {T} know {A}.
{A} can {base} {thing} very fast.|{A} cans {base} {thing} very fast.
{B} has been {ing} {thing} since noon.|{B} has been {base} {thing} since noon.
If {A} had time, {he} would {base} {thing}.|If {A} had time, {he} would {past} {thing}.
My uncle and my aunt live in {T}.|My uncle and my aunt lives in {T}.
{A} let {B} {base} {thing}.|{A} let {B} to {base} {thing}.
Who has {done} {thing} {time}?|Who have {done} {thing} {time}?
""")

# right|wrong, in a small word; {p} is a noun with the right article, {w} with the wrong one
SMALL = table("""
{A} told us about {p} in {T}.|{A} told us about {w} in {T}.
There are {k} chairs in {A}'s room.|There are {k} chair in {A}'s room.
{A} arrived in {T} on {D}.|{A} arrived in {T} at {D}.
{A} has lived in {T} for {k} years.|{A} has lived in {T} since {k} years.
{A} is good at drawing maps of {T}.|{A} is good in drawing maps of {T}.
{A} was born in {M} in {T}.|{A} was born on {M} in {T}.
{A} went to {T} by train on {D}.|{A} went to {T} with train on {D}.
{A} bought {k} kilos of apples in {T}.|{A} bought {k} kilo of apples in {T}.
{A} is taller than the mayor of {T}.|{A} is more tall than the mayor of {T}.
{A} does not have any money left.|{A} does not have no money left.
{A} is interested in old maps.|{A} is interested for old maps.
We waited for {A} at the station of {T}.|We waited {A} at the station of {T}.
{A} listens to the radio every {D}.|{A} listens the radio every {D}.
{A} is married to a teacher from {T}.|{A} is married with a teacher from {T}.
The weather in {T} is better than in {U}.|The weather in {T} is more better than in {U}.
{A} has more luggage than {B}.|{A} has more luggages than {B}.
{A} gave me some good advice about {T}.|{A} gave me some good advices about {T}.
{A} looked at the picture of {T} for a long time.|{A} looked to the picture of {T} for a long time.
{A} is afraid of dogs.|{A} is afraid from dogs.
Our trip depends on the weather in {T}.|Our trip depends from the weather in {T}.
This is the most beautiful beach near {T}.|This is the beautifulest beach near {T}.
There are too many people in {T} in {M}.|There are too much people in {T} in {M}.
There is not much snow in {T} this {M}.|There is not many snow in {T} this {M}.
{A} visits {B} once a week.|{A} visits {B} once the week.
The women of {T} sang a song for {A}.|The womans of {T} sang a song for {A}.
{A} has two small children.|{A} has two small childs.
{A} bought a hat and a pair of shoes in {T}.|{A} bought a hat and a pair of shoe in {T}.
{A} thanked me for the postcard from {T}.|{A} thanked me on the postcard from {T}.
{A} spent the whole {D} in bed.|{A} spent the whole {D} on bed.
The boat to {T} leaves at noon.|The boat to {T} leaves in noon.
{A} is as tall as {B}.|{A} is as tall than {B}.
{A} took hundreds of photographs in {T}.|{A} took hundreds of photograph in {T}.
{A} is looking forward to the trip to {T}.|{A} is looking forward for the trip to {T}.
The sheep near {T} are white.|The sheeps near {T} are white.
The mice in {A}'s house are noisy.|The mouses in {A}'s house are noisy.
{A} is the worst cook I know.|{A} is the baddest cook I know.
{A} drove to {T} instead of walking.|{A} drove to {T} instead from walking.
We stayed with {A} because of the rain.|We stayed with {A} because from the rain.
{A} apologised to {B} for the noise.|{A} apologised to {B} of the noise.
{A} needs an hour to reach {T}.|{A} needs a hour to reach {T}.
There is a university in {T}.|There is an university in {T}.
{A} has been to {T} three times.|{A} has been to {T} three time.
{A} wrote {B} a letter of ten pages.|{A} wrote {B} a letter of ten page.
The price of bread in {T} has gone up by half.|The price from bread in {T} has gone up by half.
{A} lives on the second floor.|{A} lives in the second floor.
{A} goes to bed earlier than {B}.|{A} goes to bed more early than {B}.
""")
