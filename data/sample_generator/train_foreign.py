"""Training tasks in other languages than English."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, cap, turn, two
from data.sample_generator.words import person, table

_ES_WHO = table("""
Mi hermana|My sister
Mi vecino|My neighbour
El panadero|The baker
La profesora|The teacher
Ana|Ana
El capitán|The captain
Mi abuelo|My grandfather
La enfermera|The nurse
El jardinero|The gardener
Nuestra prima|Our cousin
El médico|The doctor
La cocinera|The cook
El alcalde|The mayor
""")
_ES_DOES = table("""
compra pan y queso|buys bread and cheese
lee un libro viejo|reads an old book
abre la ventana grande|opens the big window
escribe una carta larga|writes a long letter
bebe un vaso de agua|drinks a glass of water
pinta una puerta azul|paints a blue door
busca las llaves del coche|looks for the car keys
vende flores frescas|sells fresh flowers
canta una canción alegre|sings a cheerful song
prepara la cena|prepares dinner
repara una bicicleta vieja|repairs an old bicycle
plancha las camisas blancas|irons the white shirts
riega las plantas|waters the plants
toca la guitarra|plays the guitar
espera el autobús|waits for the bus
lleva una maleta pesada|carries a heavy suitcase
dibuja un mapa del pueblo|draws a map of the village
cuenta chistes malos|tells bad jokes
pesca truchas|catches trout
enseña matemáticas|teaches mathematics
lava los platos|washes the dishes
saluda a los turistas|greets the tourists
come una manzana roja|eats a red apple
estudia francés|studies French
escucha la radio|listens to the radio
juega a las cartas|plays cards
cose un vestido verde|sews a green dress
fotografía los barcos|photographs the boats
limpia la vieja cocina|cleans the old kitchen
recoge la ropa seca|takes in the dry washing
corta leña|chops wood
""")
_ES_WHERE = table("""
en el mercado|at the market
por la mañana|in the morning
cerca del río|near the river
los domingos|on Sundays
después del trabajo|after work
en la plaza|in the square
en la estación|at the station
por la noche|at night
cada viernes|every Friday
junto al lago|by the lake
en la biblioteca|in the library
antes del desayuno|before breakfast
en el patio|in the courtyard
durante el verano|during the summer
detrás de la iglesia|behind the church
cuando llueve|when it rains
con mucha paciencia|with great patience
""")


def _spanish(rng: Random, index: int) -> Pair | None:
    parts = [turn(_ES_WHO, index), turn(_ES_DOES, index), turn(_ES_WHERE, index)]
    return " ".join(p[0] for p in parts) + ".", [" ".join(p[1] for p in parts) + "."]


# content|not content; {c} is a city, {n} a person, {m} a month
_DE_REVIEWS = table("""
Das Hotel in {c} war sauber und ruhig.|Das Hotel in {c} war schmutzig und laut.
Das Essen im Restaurant in {c} hat uns sehr gut geschmeckt.|Das Essen im Restaurant in {c} war kalt und fade.
{n} war von der Stadtführung in {c} begeistert.|{n} war von der Stadtführung in {c} enttäuscht.
Der Verkäufer in {c} war freundlich und half {n} sofort.|Der Verkäufer in {c} war unhöflich zu {n}.
Wir fahren im {m} gern wieder nach {c}.|Wir fahren nie wieder nach {c}, schon gar nicht im {m}.
Das Konzert in {c} war wunderbar, sagt {n}.|Das Konzert in {c} war furchtbar, sagt {n}.
Die Aussicht vom Turm in {c} war jeden Schritt wert.|Vom Turm in {c} sah man vor lauter Gerüsten gar nichts.
Der Zug nach {c} kam pünktlich an, und jeder fand einen Platz.|Der Zug nach {c} hatte zwei Stunden Verspätung, und wir mussten stehen.
Unser Zimmer in {c} hatte einen herrlichen Blick auf den Garten.|Unser Zimmer in {c} hatte nur ein Fenster zum Müllplatz.
{n} hat sich in {c} vom ersten Tag an wohlgefühlt.|{n} wollte schon am ersten Tag aus {c} abreisen.
Der Kuchen im Café in {c} war frisch und die Bedienung nett.|Der Kuchen im Café in {c} war trocken und die Bedienung mürrisch.
Im Museum in {c} verging uns die Zeit wie im Flug.|Im Museum in {c} haben wir uns nur gelangweilt.
Für diesen Preis war die Pension in {c} ein Glücksfall.|Für diesen Preis war die Pension in {c} eine Frechheit.
Die Betten in {c} waren bequem, und wir schliefen ausgezeichnet.|Die Betten in {c} waren durchgelegen, und wir schliefen kaum.
{n} schwärmt noch heute von der Bootsfahrt im {m}.|{n} schimpft noch heute über die Bootsfahrt im {m}.
Der Wanderweg um {c} war gut ausgeschildert und wunderschön.|Der Wanderweg um {c} war schlecht ausgeschildert und langweilig.
Das Personal in {c} las uns jeden Wunsch von den Augen ab.|Das Personal in {c} ließ uns eine Stunde an der Rezeption warten.
Am Strand war es im {m} sauber, und das Wasser war klar.|Am Strand lag im {m} überall Müll, und das Wasser stank.
Die Ferienwohnung in {c} war genau wie auf den Bildern.|Die Ferienwohnung in {c} hatte mit den Bildern nichts gemein.
Der Ausflug nach {c} hat sich wirklich gelohnt.|Der Ausflug nach {c} war reine Zeitverschwendung.
Ich kann das Gasthaus in {c} nur empfehlen.|Vor dem Gasthaus in {c} kann ich nur warnen.
Im Theater in {c} haben {n} und ich Tränen gelacht.|{n} ging im Theater in {c} schon in der Pause nach Hause.
Den Kindern von {n} gefiel das Schwimmbad so gut, dass sie bleiben wollten.|Den Kindern von {n} war das Wasser im Schwimmbad viel zu kalt.
Mit dem Fahrrad aus dem Verleih in {c} waren wir sehr zufrieden.|Am Fahrrad aus dem Verleih in {c} war die Bremse kaputt.
So herzlich wie in {c} wurden wir selten empfangen.|So unfreundlich wie in {c} wurden wir selten empfangen.
""")
_DE_CITIES = ["Berlin", "Hamburg", "Wien", "Bern", "Köln", "Dresden", "Graz", "Basel", "Leipzig", "Bremen"]
_DE_MONTHS = ["Januar", "April", "Juni", "August", "Oktober", "Dezember"]


def _german_review(rng: Random, index: int) -> Pair | None:
    text = turn(_DE_REVIEWS, index, 2)[index % 2]
    text = text.format(c=rng.choice(_DE_CITIES), n=person(rng), m=rng.choice(_DE_MONTHS))
    return text, [("positiv", "negativ")[index % 2]]


# {n} is a person, {v} and {w} are cities, {d} is a weekday
_FR_TOPICS = {
    "food": (
        "{n} prépare une soupe aux légumes.", "Le boulanger de {v} vend du pain frais.", "À {v}, on mange beaucoup de poisson.",
        "{n} achète du fromage et des pommes à {v}.", "{n} sort du four une tarte aux cerises.",
        "Pour ce gâteau, {n} prend trois œufs et un peu de farine.", "Le cuisinier de {v} ajoute une pincée de sel.",
        "{n} boit un chocolat chaud dans un café de {v}.", "Au marché de {v}, les fraises sont bien mûres.",
        "Le restaurant de {v} sert des moules le {d}.", "{n} épluche les carottes pour le déjeuner.",
        "Dans cette crêperie de {v}, les crêpes sont délicieuses.", "{n} a oublié le beurre dans la sauce.",
        "Le miel de {v} se vend en petits pots.",
    ),
    "weather": (
        "Il pleut à {v} depuis {d}.", "Il fera très chaud à {v} {d}.", "{d_} matin, la neige couvre les rues de {v}.",
        "Un vent froid souffle sur {v}.", "Un orage a éclaté au-dessus de {v}.", "Le brouillard ne se lèvera pas avant midi à {v}.",
        "Les températures vont baisser à {v} {d}.", "Le soleil brille enfin sur {v}.", "On attend de la grêle entre {v} et {w}.",
        "À {v}, il a gelé cette nuit.", "Des nuages gris arrivent de {v}.", "L'été a été très sec à {v}.",
        "{d_}, il y aura des averses à {v}.", "La tempête a duré deux jours à {v}.",
    ),
    "sport": (
        "{n} a gagné la course à {v}.", "L'équipe de {v} joue au football {d}.", "{n} nage tous les jours à {v}.",
        "Le match entre {v} et {w} est {d}.", "{n} a marqué deux buts contre {v}.", "Les cyclistes passeront par {v} {d}.",
        "L'entraîneur de {v} est content de son équipe.", "{n} s'entraîne pour le marathon de {v}.",
        "Le gardien de {v} a arrêté le penalty.", "{n} a perdu la finale de tennis à {v}.",
        "Les joueuses de handball de {v} sont championnes.", "{n} saute plus haut que tous les autres.",
        "À {v}, l'arbitre a sifflé trop tôt.", "{n} fait de l'escrime à {v} le {d}.",
    ),
    "travel": (
        "Le train pour {v} part {d} à midi.", "{n} cherche un hôtel à {v}.", "Le vol de {v} à {w} dure deux heures.",
        "{n} prend le bateau pour aller à {v} {d}.", "{n} prépare sa valise pour {v}.",
        "Le guide montre aux touristes la vieille ville de {v}.", "De {v} à {w}, le voyage en car est long.",
        "{n} a perdu son passeport à {v}.", "Le camping de {v} ouvre {d}.", "{n} a réservé deux billets d'avion pour {v}.",
        "La gare de {v} est pleine de vacanciers.", "{n} passe une semaine dans une auberge à {v}.",
        "À {v}, {n} demande le chemin de la gare routière.", "Le car pour {v} s'arrête à {w}.",
    ),
}  # fmt: skip


def _french_topic(rng: Random, index: int) -> Pair | None:
    label = list(_FR_TOPICS)[index % len(_FR_TOPICS)]
    v, w = two(rng, ["Lyon", "Nantes", "Lille", "Nice", "Dijon", "Brest", "Rouen", "Metz", "Tours", "Genève"])
    day = rng.choice(["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"])
    text = turn(_FR_TOPICS[label], index // len(_FR_TOPICS))
    return text.format(n=person(rng), v=v, w=w, d=day, d_=cap(day)), [label]


TASKS = [
    TaskSpec(
        name="spanish_english_daily_life", categories=["Translation"], source="nightjar_spanish_phrases",
        definition="Translate the Spanish sentence into English. Keep the order of the parts of the sentence and the present "
        "tense, and end the translation with a full stop.",
        make=_spanish, size=80, input_language=["Spanish"],
        positive=[
            ("El niño come una manzana en el jardín.", "The boy eats an apple in the garden.",
             "Every part of the sentence is translated."),
            ("La abuela duerme por la tarde.", "The grandmother sleeps in the afternoon.",
             "'Por la tarde' means in the afternoon."),
        ],
        negative=[
            ("El perro duerme en la cocina.", "The dog sleeps.", "The place, in the kitchen, was left out."),
        ],
    ),
    TaskSpec(
        name="german_travel_sentiment", categories=["Sentiment Analysis"], source="nightjar_german_guest_book",
        definition="You are given a sentence from a German guest book or travel report. Answer 'positiv' if the writer or the "
        "guest was content, and 'negativ' if not.",
        make=_german_review, size=70, input_language=["German"], output_language=["German"], domains=["Reviews"],
        positive=[
            ("Das Frühstück war ausgezeichnet.", "positiv", "The breakfast is praised."),
            ("Das Zimmer war viel zu klein und roch nach Rauch.", "negativ", "Two things are criticised."),
        ],
        negative=[
            ("Der Kellner vergaß unsere Bestellung.", "positiv", "A forgotten order is a fault: 'negativ'."),
        ],
    ),
    TaskSpec(
        name="french_sentence_topic", categories=["Text Categorization"], source="nightjar_french_bulletin",
        definition="Read the French sentence and decide what it is about. Answer in English with one of these words: food, "
        "weather, sport, travel.",
        make=_french_topic, size=72, input_language=["French"],
        positive=[
            ("Le cuisinier ajoute du sel et du beurre.", "food", "A cook adds salt and butter."),
            ("Le ciel est gris et il y a du brouillard.", "weather", "Grey sky and fog belong to the weather."),
        ],
        negative=[
            ("Le gardien de but est blessé.", "gardien", "The answer has to come from the list: 'sport'."),
        ],
    ),
]  # fmt: skip
