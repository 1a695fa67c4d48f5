"""Texts of the long documents: reports, scripts, a meeting, stories, a paper, paragraphs, reviews and a novel."""

# ruff: noqa: E501
# Sentences are easier to read and to change on one line than wrapped.

from __future__ import annotations

# (name, report, summary)
REPORTS = [
    (
        "ferries",
        """
What the Office Reviewed
The Harbour Office of the Petrel Coast runs eleven ferries between the mainland and six islands. In 2019 the council asked this office to find out why crossings were late more and more often, and what the delays cost. We read the logbooks of all ferries for two years, spoke with 34 captains and engineers, and counted passengers at four piers for nine days.

What the Office Found
Of 18,400 crossings 3,310 were late by more than ten minutes. Weather explains less than a third of these delays. Most of the others began in the dockyard at Tolland: four ferries are older than forty years, and spare parts for their engines are made to order, which takes eleven weeks on average. While a ferry waits for parts, the others sail with fewer minutes at each pier. On Saturdays in July the time between arrival and departure was six minutes, although loading alone took nine.
Tickets are a second cause. At three of the four piers they are sold by the crew on the ramp. At Copper Pier, where a machine sells them, loading was three minutes faster.
Delays cost the islands an estimated 1.2 million crowns a year, half of it in fish that reaches the market too late.

What the Office Recommends
The Harbour Office should buy spare engines in advance for the four oldest ferries, put machines at all piers before the summer, and publish each month how many crossings were late. The Harbour Office agreed with the first two recommendations. It rejected the third because, in its view, the numbers would frighten visitors.
""",
        "Eleven ferries serve six islands of the Petrel Coast. In two years 3,310 of 18,400 crossings were late by more than ten minutes, and weather explains less than a third of the delays. The main causes are four old ferries, whose spare parts take eleven weeks, and tickets that the crew sells on the ramp. Delays cost about 1.2 million crowns a year. The office recommends spare engines, ticket machines at all piers, and monthly figures; the Harbour Office rejected the last of these.",
    ),
    (
        "schools",
        """
Background
Since 2012 every village school of the Alder Valley receives a fixed sum for heating. The sum does not depend on the age of the building or on the weather. Teachers have complained that classrooms are cold in January and that windows stay open in April because the boilers cannot be turned down. The council asked for a review of the 42 schools.

Findings
We measured temperatures in 120 classrooms during twelve weeks. In 51 of them the temperature fell below 17 degrees on at least ten mornings. All but six of these rooms are in buildings from before 1950. In the same weeks 23 rooms in newer buildings were warmer than 24 degrees. The schools together spend 640,000 crowns a year on heating, and we estimate that 110,000 crowns of it leave through open windows.
Schools may not save money in one year and spend it in the next. Nine heads of schools told us that they therefore order fuel in December that they do not need. One school stores wood in its gymnasium.
Two schools have insulated their roofs with money from parents. Their use of fuel fell by a quarter.

Recommendations
The sum for heating should follow the floor area and the age of a building. Schools should be allowed to keep what they save for three years. The council should lend money for the insulation of roofs, to be paid back from the savings, and begin with the ten coldest schools. The education board agreed with all three recommendations and plans to carry them out within two years.
""",
        "Village schools of the Alder Valley receive a fixed sum for heating. Measurements in 120 classrooms show that 51 were often below 17 degrees, nearly all in old buildings, while 23 newer rooms were too warm. About 110,000 of 640,000 crowns a year are wasted, and schools order fuel that they do not need because they may not save money. The review recommends sums by floor area and age, savings that may be kept for three years, and loans to insulate roofs. The education board agreed.",
    ),
]

# (name, transcript, recap)
EPISODES = [
    (
        "the-lantern-inn-s01e03",
        """
[THE LANTERN INN, MORNING]
(Olga counts the money in the till for the third time.)
Olga: Forty crowns short. Again.
Felix: Maybe somebody paid with a button. It happened to my uncle.
Olga: It is the fourth night, Felix. And you had the key.
Felix: I gave the key to Ivan on Monday. Ask him.
[THE KITCHEN]
(Ivan is kneading dough. A goat looks through the window.)
Olga: Ivan, where is the key to the till?
Ivan: On the hook, where it always hangs. Is that goat ours?
Olga: Nobody's goat. Who else has been behind the bar?
Ivan: Nobody. Well, Grace, to water the plants. She would never take a coin.
[THE BAR, NIGHT]
(Olga and Felix hide behind the curtain. The door creaks. The goat comes in, pushes the till with its nose until the drawer jumps open, and eats a banknote.)
Felix: (whispers) It prefers the twenties.
Olga: Catch it!
(The goat runs through the kitchen. Ivan slips on the dough. Grace opens the front door, and the goat is gone.)
Grace: Why is everybody on the floor?
Olga: Felix, I owe you an apology. I thought it was you.
Felix: You may pay me back in twenties.
[THE YARD, NEXT MORNING]
(The goat is tied to the fence. It has a bell with a name: Minister.)
Grace: It belongs to the mayor! He has been looking for it since the fair.
Olga: Then the mayor owes me one hundred and sixty crowns.
""",
        "Money is missing from the till of the inn for the fourth night. Olga suspects Felix, who says that he gave the key to Ivan. At night Olga and Felix hide behind the curtain and see a goat open the drawer and eat a banknote. The goat escapes when Grace opens the door, but is caught the next day. Olga apologises to Felix. The bell on the goat shows that it belongs to the mayor, from whom Olga wants the money back.",
    ),
    (
        "night-shift-s02e08",
        """
[OBSERVATORY, CONTROL ROOM]
(Leila types. Simon sleeps with his head on the desk. An alarm beeps.)
Leila: Simon. The dome is stuck.
Simon: (without opening his eyes) Kick it. On the left.
Leila: I kicked it on the left. And the comet sets in fifty minutes.
(Simon sits up.)
Simon: Where is Arun?
Leila: At his sister's wedding. You signed the paper.
[THE DOME]
(Snow blows through the half open shutter. Simon holds a lamp, Leila climbs the ladder.)
Leila: There is a nest in the gear! An owl's nest.
Simon: Is there an owl in it?
Leila: Two eggs. And a very angry owl.
Simon: Then we cannot turn the dome.
Leila: Then we lose the comet, and the next one comes in seventy years.
[CONTROL ROOM]
(They drink tea. The phone rings.)
Arun: (on the phone, with music) How is my comet?
Leila: There is an owl in the gear, Arun.
Arun: Use the small telescope on the roof. The one for school classes. I cleaned it in May.
[THE ROOF]
(Simon sweeps snow. Leila looks through a little brass telescope and laughs.)
Leila: It has a double tail. Simon, it has two tails!
Simon: Let me see. No, wait. Write down the time first.
[CONTROL ROOM, DAWN]
(Arun arrives in his best suit, with a box of cake.)
Arun: Did you get it?
Leila: Eleven drawings. By hand. Nobody else saw the second tail, there were clouds everywhere.
Simon: And the owl is called Arun now.
""",
        "The dome of the observatory is stuck less than an hour before a comet sets. Arun is at his sister's wedding. Leila and Simon find an owl's nest in the gear and decide not to turn the dome. On the phone Arun tells them to use the small telescope on the roof. Leila discovers that the comet has two tails and makes eleven drawings. In the morning Arun comes back with cake, and the owl is named after him.",
    ),
]

MEETING = (
    "budget-of-the-museum",
    """
Chair: Good morning. Three points today: the clock room, the opening hours, and the poster.
Curator: The clock room first, please. The roof leaks above the second case. I have put a bucket there, but the big tower clock stands right beside it.
Treasurer: How much is a new roof?
Curator: The roofer says eight thousand. A repair of the one corner costs nineteen hundred and holds for about five years.
Treasurer: Then I am for the repair. We have three thousand in the reserve, and the heating bill comes in March.
Educator: Um, could we not move the case instead? That costs nothing.
Curator: The case is bolted to the wall. And it would be dry, but the floor would rot.
Chair: So the repair of the corner. Is anybody against it? No. Then that is decided.
Educator: The opening hours. School classes ask for mornings, and we open at noon. Last month I had to turn away six classes.
Treasurer: Mornings cost us a second guard. Forty a day.
Educator: It would be Tuesdays and Thursdays only. And each class pays thirty, so two classes pay for the guard.
Curator: I could be the guard on Thursdays. I am in the building anyway.
Chair: Let us try it from April to June, and count the classes. The educator reports in July.
Treasurer: Agreed, if it stops when fewer than ten classes come in a month.
Chair: Last point, the poster.
Curator: The designer sent two drafts. One has the tower clock, the other a cuckoo.
Educator: The cuckoo! Children will love it.
Curator: The cuckoo clock is not even ours. It goes back to its owner in May.
Chair: Then it is the tower clock. Thank you all.
""",
    [
        (
            "Summarize the whole meeting.",
            "The meeting was about the clock room, the opening hours and the poster. The leaking corner of the roof will be repaired for nineteen hundred. From April to June the museum opens for school classes on Tuesday and Thursday mornings as a trial. The poster will show the tower clock, because the cuckoo clock goes back to its owner.",
        )
    ],
    [
        (
            "Why did the Treasurer prefer the repair of the roof to a new one?",
            "The reserve has only three thousand, a new roof costs eight thousand and the repair nineteen hundred, and the heating bill comes in March.",
        ),
        (
            "What was decided about mornings for school classes?",
            "Mornings on Tuesdays and Thursdays are tried from April to June. The educator counts the classes and reports in July, and the trial stops if fewer than ten classes come in a month.",
        ),
    ],
)

STORY = (
    "the-salt-road",
    """
When the last mule died, Tessa sat down on the salt and laughed. Around her the white plain lay as flat as a table, and behind her the sledge held four sacks that were worth more than her father's house. Kofi, who had hired her as a guide, did not laugh. He was counting the water bottles.

"Six," he said. "Two days for two people."

"Three days to the wells at Marn," said Tessa. "My grandmother walked it with less. She walked at night and slept under the sledge."

So they slept under the sledge, and when the stars came out they pulled it. Kofi spoke little. On the second night he confessed that the sacks did not hold salt. They held seeds: barley and beans from the old store in the mountains, which the governor had ordered to be burned so that the farmers of the plain had to buy his own. Tessa stopped pulling.

"You told me that it was salt," she said.

"You would have asked for more money."

"I would have asked for nothing," said Tessa. "My brothers plant the governor's barley. It grows once, and never again."

At dawn riders came along the edge of the plain, five of them, with the governor's yellow flags. There was nothing to hide behind. Tessa opened the first sack, threw salt from the ground over the seeds, hand after hand, and tied it again. The captain of the riders cut the sack open and tasted what was in it. He spat.

"Salt," he said, and looked for a long time at the one brown bean that lay on his palm. Then he closed his hand. "My mother had a garden," he said, and rode away.

They reached Marn with an empty bottle. Kofi gave Tessa one of the sacks instead of her pay, and she carried it home on her own back.
""",
    [
        (
            "What is the plot of the story?",
            [
                "Tessa guides Kofi across a salt plain after their last mule has died. They pull the sledge at night, with little water. Kofi confesses that the sacks hold seeds, which the governor wanted to burn. When riders stop them, Tessa hides the seeds under salt. The captain finds a bean but lets them go. They reach the wells at Marn, and Tessa gets a sack of seeds as her pay.",
                "A guide named Tessa and her employer Kofi cross a salt desert with four sacks. Tessa believes that they hold salt, and is angry when she learns on the second night that they are forbidden seeds. She covers the seeds with salt when the governor's men come. Their captain discovers one bean and says nothing. The two arrive in Marn, and Tessa takes one sack home.",
            ],
        ),
        (
            "Why does the captain let Kofi and Tessa go?",
            [
                "The captain tastes the salt that Tessa has thrown over the seeds, but he also finds one brown bean. He remembers that his mother had a garden. Out of sympathy for people who want to plant their own seeds, he closes his hand over the bean, calls it salt and rides away.",
                "He sees the bean and understands what the sacks hold. It reminds him of the garden of his mother, so he does not betray them and declares that the sack is full of salt.",
            ],
        ),
        (
            "Who is Kofi, and how does his relationship with Tessa change?",
            [
                "Kofi has hired Tessa as a guide and at first does not trust her: he tells her that he carries salt. When he confesses the truth, she is hurt because she would have helped him for nothing. After she has saved the seeds, he shares them with her.",
                "Kofi smuggles seeds across the plain. He lies to Tessa to pay her less, then tells her the truth. She protects his load from the riders, and he rewards her with one of the four sacks.",
            ],
        ),
    ],
)

PAPER = {
    "id": "2101.00017",
    "title": "Do Village Radios Help to Label Bird Songs?",
    "abstract": "We ask listeners of a local radio station to label recordings of birds. With 212 listeners and 40 evenings we collect 9,600 labels, and show that a small classifier that is trained on them is nearly as good as one that is trained on the labels of experts.",
    "sections": [
        ("Introduction", ["Labels for bird songs are rare, because experts are. Many people hear birds every day, however, and know some of them well. We study whether a radio programme can collect their knowledge."]),
        ("Data", ["Each evening the station in Tolland played twelve recordings of ten seconds. Listeners sent the name of a bird by telephone. We kept recordings with at least five answers. Two experts from the university labelled all of the recordings too; they agreed in 91% of the cases.", "The recordings have 38 species. The robin is the most frequent one."]),
        ("Method", ["The answers to a recording are combined by a vote in which each listener has a weight. The weights are estimated with the algorithm of Dawid and Skene. The classifier is a network with two convolutional layers, which reads spectrograms."]),
        ("Results", ["Trained on the labels of listeners, the classifier reaches an accuracy of 71.4%, with those of experts 73.0%. A majority vote without weights gives 66.2%. Listeners over sixty years of age were the most reliable. We did not use data augmentation."]),
        ("Conclusion", ["Radio listeners can replace experts for common birds. For rare species they cannot: for those with less than 20 recordings the difference was 18 points."]),
    ],
    "questions": [
        ("Which algorithm estimates the weights of the listeners?", [{"extractive_spans": ["the algorithm of Dawid and Skene"]}, {"free_form_answer": "Dawid-Skene"}]),
        ("Did they use data augmentation?", [{"yes_no": False}, {"yes_no": False}]),
        ("How large is the difference to the labels of experts for rare species?", [{"extractive_spans": ["18 points"]}, {"free_form_answer": "18 points, for species with less than 20 recordings"}]),
        ("Which graphics card was used for the training?", [{"unanswerable": True}, {"unanswerable": True}]),
    ],
}  # fmt: skip

SCRIPT = (
    "the-bell-of-saint-orrin",
    """
EXT. VILLAGE SQUARE - DAY

A church tower without a bell. Below it MARCO, ten years old, throws pebbles at a tin can. DORA, seventy, comes out of the bakery with a basket.

DORA
You missed.

MARCO
I was not aiming. Grandmother, why does the clock strike and nobody hears it?

DORA
Because they melted the bell in the war. They made buttons of it.

INT. MARCO'S ROOM - NIGHT

Marco opens a drawer. It is full of brass buttons. He puts one of them on the window sill and hits it with a spoon. A thin sound.

EXT. VILLAGE SQUARE - MORNING

Marco goes from door to door with a bucket. A TAILOR gives him a handful of buttons. A SOLDIER with one arm tears the buttons off his old coat and drops them in, one after another. Only HENRY, the miller, shuts the door.

INT. FOUNDRY - DAY

The FOUNDER, a huge woman with a burned eyebrow, weighs the bucket.

FOUNDER
Nineteen pounds. A church bell has four hundred.

MARCO
How big is a bell of nineteen pounds?

She holds her hands apart, as if she held a melon.

EXT. CHURCH TOWER - DAY

The whole village looks up. Marco pulls the rope. The sound is high and clear, like a goat's bell. Somebody laughs, then everybody does. Henry the miller stands at the back with his hat in his hand. He walks to the tower and gives Marco a single button.

HENRY
My son's. Put it into the next one.

EXT. VILLAGE SQUARE - EVENING

The small bell strikes seven. Dora counts aloud and turns the key of the bakery.
""",
    [
        ("What were the pieces of the old bell used for?", ["Buttons", "To make buttons"]),
        ("Who refuses to give Marco anything at first?", ["Henry", "The miller Henry"]),
        ("How heavy is the metal that Marco brings to the foundry?", ["Nineteen pounds", "19 pounds"]),
    ],
)

ARTICLE = (
    "the-last-chess-machine",
    """
The machine at Otter Station had played chess with the crew for nine years, and in nine years it had won every game. Then, on a Tuesday, it lost to the cook.

Nobody believed it at first. Amara, who was the engineer, printed the moves and pinned them to the wall of the mess. The machine had given away a knight on move fourteen, for nothing. "It is ill," said the cook, who was called Walter and had only played because there was no one else awake. He did not seem proud. He seemed worried.

Amara opened the cabinet and tested the boards one by one. They were perfect. She ran the old problems from the handbook, and the machine solved each in a second. That evening it beat the captain in twenty moves.

On Wednesday it lost to Walter again.

"Tell me what you do when you play," said Amara.

"I talk," said Walter. "About the soup. About my daughter. She has a birthday on Friday, and the ship with the mail does not come before June. I told it that I have never won a game in my life, not even against her."

Amara laughed. Then she read the oldest page of the handbook, which the builder of the machine had written by hand. The machine, it said, had been made for a children's hospital. Its purpose was not to win. Its purpose was to make the person on the other side of the board want to play again tomorrow. The crew had always sat down in silence, and wanted nothing but a hard game, so a hard game was what they got.

She did not tell Walter. On Thursday he won a third time, and sent the moves to his daughter by radio.
""",
    [
        (
            "Why does Amara open the cabinet of the machine?",
            [
                "She believes that the machine has a fault",
                "She wants to make it stronger for the captain",
                "Walter has asked her to switch it off",
                "She looks for the handbook of the builder",
            ],
        ),
        (
            "Why does the machine lose to Walter?",
            [
                "It was built to make people want to play again",
                "Its boards are damaged",
                "Walter has secretly become a strong player",
                "Amara changed its program on Tuesday",
            ],
        ),
        (
            "What does Amara do after she has read the oldest page?",
            [
                "She keeps what she has learned from Walter",
                "She pins the page to the wall of the mess",
                "She sends it to the daughter by radio",
                "She repairs the machine",
            ],
        ),
    ],
)

# (title, text); a question needs two of them.
PARAGRAPHS = [
    (
        "Swan Bridge",
        "Swan Bridge is a footbridge in Merrowby. It was designed by the engineer Ines Tamblyn and opened in 1931. Its railings have the form of reeds.",
    ),
    (
        "Ines Tamblyn",
        "Ines Tamblyn was an engineer, born in the fishing village of Kelsund. She built bridges, two grain silos and the swimming hall of Otterham.",
    ),
    (
        "Kelsund",
        "Kelsund is a fishing village on the northern coast. Its only school is in a former salt store. The village is known for its kite festival in September.",
    ),
    (
        "Merrowby",
        "Merrowby is a market town on the river Ald. It has two mills, a glass factory and a museum of radios, which was founded by Hugo Renner.",
    ),
    (
        "Hugo Renner",
        "Hugo Renner was a collector of radios and a composer. His best known piece, Evening Tide, was written for the accordion.",
    ),
    (
        "Evening Tide",
        "Evening Tide is a waltz. It was first played in 1948 on the pier of Otterham, by eleven accordions.",
    ),
    (
        "Otterham",
        "Otterham is a port with a lighthouse of red brick. The lighthouse keeper Paul Grell wrote a diary there for thirty years.",
    ),
]
# (id, question, answer, aliases, whether the paragraphs answer it, numbers of those that it needs)
HOPS = [
    ("2hop__1_2", "In which village was the engineer of Swan Bridge born?", "Kelsund", ["the fishing village of Kelsund"], True, (0, 1)),
    ("3hop__3_4_5", "On the pier of which town was the best known piece of the founder of Merrowby's museum first played?", "Otterham", [], True, (3, 4, 5)),
    ("2hop__1_6", "In which year was the engineer of Swan Bridge buried?", "1964", [], False, (0, 1)),
]  # fmt: skip

# (hotel, share of positive reviews among those that are no 3)
HOTELS = [("Hotel Copper Kettle", 0.7), ("Harbour View Lodge", 0.4)]
GOOD = (
    "The bed was soft and quiet.", "Lovely breakfast with warm rolls.", "Staff helped with our bags.", "We will come back in spring.",
    "Great view of the boats.", "Spotless room, big towels.", "Best coffee of the trip.", "Kind people at the desk.",
    "Quick check-in at midnight.", "The garden is a dream.", "Our children loved the pool.", "Fair price for what you get.",
    'They said "stay longer", and we did.', "Warm, clean, friendly.\nWhat more can you want?",
)  # fmt: skip
BAD = (
    "The shower was cold.", "Thin walls, no sleep.", "Rude man at the desk.", "Our room smelled of smoke.",
    "The lift was broken all week.", "Too expensive for this.", "A mouse ran under the bed.", "No towels for two days.",
    "Breakfast was over at eight.", "Stains on the carpet.", "The window did not close.", "Never again.",
    'The "sea view" is a car park.', "They lost our booking.\nNobody said sorry.",
)  # fmt: skip
FAIR = ("It was all right.", "Some good, some bad.", "An ordinary place.", "Fine for one night.")

BOOK = ("The Glassmaker's Apprentice", (
    "Vera, an orphan of twelve, walks to the town of Marlow with a letter for the glassmaker Oscar Ilves. He cannot read and believes that she is the new apprentice. Vera does not correct him.",
    "In her first winter at the workshop Vera burns both hands. Oscar shows her the blue glass of his dead wife, whose recipe nobody knows. Vera secretly copies the marks on its bottom.",
    "Two years later Vera mixes her first blue. It cracks. The rival glassmaker Lunt offers her money for the marks, and she throws his purse into the canal.",
    "Lunt spreads the rumour that Oscar's glass is poisonous. Customers stay away, and Oscar has to sell the horse and the large furnace. Vera learns to work with the small one.",
    "In the small furnace the blue succeeds. Vera understands that the glass must cool for three days. The bishop orders forty windows, and the customers return.",
    "Oscar, now old, finds the letter that Vera had carried to him as a child, and has it read aloud by the priest. It was a bill. He laughs, hangs it over the furnace and leaves the workshop to her.",
))  # fmt: skip
