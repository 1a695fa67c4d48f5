"""Test tasks of the cross-lingual track: German, Spanish, French and Italian, each of another category."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import Pair, TaskSpec, turn, two
from data.sample_generator.words import couple, table

# text|statement that follows|statement that does not; {A} {B} are people, {C} {O} cities, {D} {E} weekdays, {x} a thing
_GERMAN = table("""
{A} hat am {D} {x} von {B} gekauft.|{B} hat {x} verkauft.|{B} hat {x} gekauft.
{A} wohnt in {C}, aber {B} wohnt in {O}.|{B} wohnt in {O}.|{B} wohnt in {C}.
{A} fährt am {D} mit dem Zug nach {C}.|{A} reist nach {C}.|{A} bleibt am {D} zu Hause.
Das Museum in {C} ist nur am {D} geschlossen.|Das Museum in {C} hat am {E} geöffnet.|Das Museum in {C} hat am {D} geöffnet.
{A} ist älter als {B}.|{B} ist jünger als {A}.|{B} ist älter als {A}.
Niemand außer {A} kannte den Weg nach {C}.|{A} kannte den Weg nach {C}.|Alle kannten den Weg nach {C}.
{A} hat {B} am {D} {x} geschenkt.|{B} hat {x} von {A} bekommen.|{A} hat {x} von {B} bekommen.
In {C} regnet es seit {D}.|In {C} ist es nass.|In {C} scheint seit {D} nur die Sonne.
{A} hat drei Katzen und sonst keine Tiere.|{A} hat keinen Hund.|{A} hat einen Hund.
Der Kurs in {C} beginnt um neun und endet um elf Uhr.|Der Kurs in {C} dauert zwei Stunden.|Der Kurs in {C} endet am Abend.
{A} isst kein Fleisch.|{A} isst keinen Schinken.|{A} isst gern Schinken.
Alle Schüler aus {C} haben die Prüfung bestanden.|Kein Schüler aus {C} ist durchgefallen.|Zwei Schüler aus {C} sind durchgefallen.
{A} kam vor {B} ins Ziel.|{A} war schneller als {B}.|{B} war schneller als {A}.
Die Brücke in {C} ist für Lastwagen gesperrt.|Lastwagen dürfen nicht über die Brücke in {C} fahren.|Die Brücke in {C} ist nur für Lastwagen da.
{A} hat den Brief an {B} noch nicht abgeschickt.|Der Brief an {B} ist noch nicht angekommen.|{B} hat den Brief schon gelesen.
{A} arbeitet von Montag bis Freitag in {C}.|{A} arbeitet am Mittwoch in {C}.|{A} arbeitet in {C} nur am Wochenende.
Der Turm in {C} ist höher als der Turm in {O}.|Der Turm in {O} ist niedriger als der in {C}.|Die Türme in {C} und {O} sind gleich hoch.
{A} und {B} sind Geschwister.|{A} ist mit {B} verwandt.|{A} und {B} sind nicht verwandt.
{A} hat vergessen, {B} einzuladen.|{B} wurde von {A} nicht eingeladen.|{A} hat {B} eingeladen.
Das Hotel in {C} hat kein einziges Zimmer mehr frei.|Das Hotel in {C} ist ausgebucht.|Im Hotel in {C} kann man noch ein Zimmer bekommen.
{A} spricht Deutsch und Polnisch, aber kein Französisch.|{A} spricht mehr als eine Sprache.|{A} spricht Französisch.
Jeder Bus nach {C} hält in {O}.|Der nächste Bus nach {C} hält in {O}.|Die Busse nach {C} fahren an {O} vorbei, ohne zu halten.
Früher lebte {A} in {C}, jetzt lebt {A} in {O}.|{A} lebt nicht mehr in {C}.|{A} lebt noch in {C}.
Im Garten von {B} stehen nur Apfelbäume.|Bei {B} im Garten steht kein Kirschbaum.|Im Garten von {B} steht ein Kirschbaum.
{A} musste am {D} um fünf Uhr aufstehen.|{A} war am {D} früh wach.|{A} hat am {D} bis zehn geschlafen.
""")
_DE_THINGS = [
    "ein Fahrrad",
    "einen Tisch",
    "eine Lampe",
    "ein Buch",
    "einen Mantel",
    "eine Gitarre",
    "ein Zelt",
]
_DE_CITIES = ("Berlin", "Hamburg", "Wien", "Bern", "Köln", "Dresden", "Graz", "Basel")
_DE_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")


def _german(rng: Random, index: int) -> Pair | None:
    a, b = couple(rng)
    (city, other), (day, later) = two(rng, _DE_CITIES), two(rng, _DE_DAYS)
    values = {"A": a, "B": b, "C": city, "O": other, "D": day, "E": later, "x": rng.choice(_DE_THINGS)}
    text, right, wrong = (part.format(**values) for part in turn(_GERMAN, index, 2))
    return f"Text: {text} Aussage: {wrong if index % 2 else right}", ["nein" if index % 2 else "ja"]


# cause|effect; {A} is a person, {T} a city
_SPANISH = table("""
Llovió toda la semana en {T}.|El río de {T} se desbordó.
{A} olvidó el paraguas en casa.|{A} llegó con la ropa mojada.
El panadero de {T} puso demasiada sal en la masa.|Nadie en {T} quiso comprar el pan.
{A} dejó la ventana abierta durante la tormenta.|La alfombra de {A} se empapó.
Se rompió el motor del autobús de {T}.|Los viajeros de {T} tuvieron que caminar.
{A} estudió todas las tardes.|{A} sacó la mejor nota en el examen.
Un rayo cayó sobre la torre de {T}.|El reloj de la torre de {T} se paró.
El gato de {A} tiró el jarrón.|El suelo de {A} se llenó de agua y flores.
La fábrica de {T} cerró.|Muchos vecinos de {T} perdieron su trabajo.
{A} no puso el despertador.|{A} llegó tarde a la oficina.
En {T} abrieron una piscina nueva.|Muchos niños de {T} aprendieron a nadar.
{A} regó el jardín todos los días.|Los tomates de {A} crecieron mucho.
Nevó mucho en las montañas de {T}.|La carretera de {T} quedó cerrada.
{A} perdió las llaves.|{A} tuvo que llamar a un cerrajero.
Un camión derramó aceite en una calle de {T}.|Varias motos resbalaron en {T}.
{A} lavó una camisa roja con la ropa blanca.|La ropa blanca de {A} se volvió rosa.
Una cantante famosa vino a {T}.|Se agotaron las entradas para el concierto de {T}.
{A} comió demasiados helados.|A {A} le dolió el estómago.
El pozo de {T} se secó en agosto.|La gente de {T} trajo agua del lago.
{A} se acostó a las tres de la madrugada.|{A} bostezó durante toda la reunión.
Subió el precio de la gasolina en {T}.|Más gente de {T} fue al trabajo en bicicleta.
{A} tocó la trompeta a medianoche.|Los vecinos de {A} protestaron.
Hubo un apagón en {T}.|La gente de {T} encendió velas.
{A} se cortó con un cuchillo.|{A} se puso una tirita.
Los jabalíes entraron en el huerto de {A}.|{A} puso una valla alrededor del huerto.
La maestra de {T} se puso enferma.|Los alumnos de {T} no tuvieron clase.
{A} olvidó la tarta en el horno.|La cocina de {A} se llenó de humo.
Una helada tardía llegó a {T} en mayo.|Los manzanos de {T} dieron poca fruta.
{A} encontró una cartera y la llevó a la policía.|El dueño de la cartera dio las gracias a {A}.
Un árbol cayó sobre la vía cerca de {T}.|El tren de {T} llegó con dos horas de retraso.
{A} ahorró dinero cada mes.|{A} pudo comprar una bicicleta.
El barco de {T} perdió el ancla.|El barco de {T} acabó en un banco de arena.
{A} dejó la leche al sol.|La leche de {A} se agrió.
El ayuntamiento de {T} plantó árboles en la plaza.|La plaza de {T} tiene más sombra en verano.
{A} caminó diez horas con zapatos nuevos.|A {A} le salieron ampollas en los pies.
Un equipo de cine llegó a {T}.|Los hoteles de {T} se llenaron.
Alguien pintó por la mañana los bancos de {T}.|Un paseante de {T} se manchó el abrigo.
La niebla cubrió el aeropuerto de {T}.|Los vuelos de {T} salieron más tarde.
{A} dio de comer a las palomas.|El balcón de {A} se llenó de palomas.
El puente de {T} estaba en obras.|Los coches de {T} dieron un rodeo.
{A} gritó durante todo el partido.|{A} se quedó sin voz.
""")
_ES_PEOPLE = ("Marta", "Pablo", "Elena", "Diego", "Lucía", "Jorge", "Carmen", "Andrés")
_ES_CITIES = ("Gijón", "Bilbao", "Cádiz", "Santander", "Valencia", "Vigo", "Málaga", "Almería")


def _spanish(rng: Random, index: int) -> Pair | None:
    values = {"A": rng.choice(_ES_PEOPLE), "T": rng.choice(_ES_CITIES)}
    cause, effect = (part.format(**values) for part in turn(_SPANISH, index, 2))
    first, second = (effect, cause) if index % 2 else (cause, effect)
    return f"Oración 1: {first} Oración 2: {second}", ["efecto" if index % 2 else "causa"]


# {c} is the indirect question
_FRENCH_FRAMES = (
    "Je voudrais savoir {c}.", "Peux-tu me dire {c} ?", "J'aimerais bien savoir {c}.", "Demande à {M} {c}.",
    "{M} se demande {c}.", "Personne ne sait {c}.", "Sais-tu {c} ?", "Je ne me rappelle plus {c}.",
    "Dites-moi {c}, s'il vous plaît.", "On m'a demandé {c}.", "Le guide n'a pas dit {c}.",
)  # fmt: skip
# indirect question|direct question|another form; {N} is a person, {V} and {W} are cities
_FRENCH = table("""
où se trouve la gare de {V}|Où se trouve la gare de {V} ?
quand commence le concert|Quand commence le concert ?
combien coûte un billet pour {V}|Combien coûte un billet pour {V} ?
si le musée de {V} est ouvert le lundi|Est-ce que le musée de {V} est ouvert le lundi ?|Le musée de {V} est-il ouvert le lundi ?
à quelle heure part le dernier train pour {V}|À quelle heure part le dernier train pour {V} ?
qui a écrit cette lettre|Qui a écrit cette lettre ?
pourquoi la bibliothèque de {V} est fermée|Pourquoi est-ce que la bibliothèque de {V} est fermée ?|Pourquoi la bibliothèque de {V} est-elle fermée ?
ce que {N} a acheté à {V}|Qu'est-ce que {N} a acheté à {V} ?|Qu'a acheté {N} à {V} ?
comment on va de {V} à {W}|Comment va-t-on de {V} à {W} ?|Comment est-ce qu'on va de {V} à {W} ?
depuis quand {N} habite à {V}|Depuis quand est-ce que {N} habite à {V} ?
quel âge a le pont de {V}|Quel âge a le pont de {V} ?
combien de temps dure le film|Combien de temps dure le film ?
si {N} viendra dimanche|Est-ce que {N} viendra dimanche ?
quelle est la couleur de la porte|Quelle est la couleur de la porte ?
où {N} a caché la clé|Où est-ce que {N} a caché la clé ?
à qui appartient ce vélo|À qui appartient ce vélo ?
ce qui se passe sur la place|Qu'est-ce qui se passe sur la place ?|Que se passe-t-il sur la place ?
avec qui {N} joue aux échecs|Avec qui est-ce que {N} joue aux échecs ?
combien d'élèves apprennent l'italien à {V}|Combien d'élèves apprennent l'italien à {V} ?
quel bus va à {V}|Quel bus va à {V} ?
s'il y a une pharmacie près d'ici|Est-ce qu'il y a une pharmacie près d'ici ?|Y a-t-il une pharmacie près d'ici ?
pourquoi {N} apprend le portugais|Pourquoi est-ce que {N} apprend le portugais ?
quand sera réparé le toit de l'école|Quand sera réparé le toit de l'école ?
qui dirige le théâtre de {V}|Qui dirige le théâtre de {V} ?
de quoi parle ce livre|De quoi parle ce livre ?
où mène ce chemin|Où mène ce chemin ?
si l'on peut nager dans ce lac|Est-ce qu'on peut nager dans ce lac ?|Peut-on nager dans ce lac ?
combien pèse cette valise|Combien pèse cette valise ?
quelle langue parle {N}|Quelle langue parle {N} ?
d'où vient ce bruit|D'où vient ce bruit ?
pour qui sont ces fleurs|Pour qui sont ces fleurs ?
ce que {N} pense de {V}|Qu'est-ce que {N} pense de {V} ?|Que pense {N} de {V} ?
à quel étage habite {N}|À quel étage habite {N} ?
si {N} a reçu ma carte|Est-ce que {N} a reçu ma carte ?
comment s'appelle le chat de {N}|Comment s'appelle le chat de {N} ?
quand ferme le marché de {V}|Quand ferme le marché de {V} ?
combien de ponts il y a à {V}|Combien de ponts est-ce qu'il y a à {V} ?|Combien de ponts y a-t-il à {V} ?
""")
_FR_PEOPLE = ("Camille", "Lucie", "Pierre", "Julien", "Manon", "Thomas", "Benoît", "Sophie")
_FR_CITIES = ("Lyon", "Nantes", "Lille", "Nice", "Dijon", "Brest", "Rouen", "Metz")


def _french(rng: Random, index: int) -> Pair | None:
    (name, other), (city, goal) = two(rng, _FR_PEOPLE), two(rng, _FR_CITIES)
    values = {"N": name, "M": other, "V": city, "W": goal}
    clause, *direct = (part.format(**values) for part in turn(_FRENCH, index))
    return turn(_FRENCH_FRAMES, index).format(c=clause, M=other), direct


# right|wrong; {F} is a woman, {G} a man, {T} a city
_ITALIAN = table("""
Ho comprato lo zaino a {T}.|Ho comprato il zaino a {T}.
Siamo andati a {T} in treno.|Abbiamo andati a {T} in treno.
La casa di {F} è molto bella.|La casa di {F} è molto bello.
{F} ha due fratelli.|{F} ha due fratello.
I miei amici abitano a {T}.|I miei amici abita a {T}.
{G} va al mercato ogni sabato.|{G} va a il mercato ogni sabato.
Gli studenti di {T} sono stanchi.|I studenti di {T} sono stanchi.
A {F} piacciono le fragole.|A {F} piace le fragole.
L'acqua del lago di {G} è fredda.|L'acqua del lago di {G} è freddo.
{F} è arrivata ieri sera.|{F} è arrivato ieri sera.
{G} è partito per {T}.|{G} ha partito per {T}.
Le finestre della scuola di {T} erano aperte.|Le finestre della scuola di {T} erano aperti.
Ieri {G} ha mangiato una mela.|Ieri {G} ha mangiato un mela.
{F} vorrebbe un bicchiere d'acqua.|{F} vorrebbe una bicchiere d'acqua.
La mano di {F} è fredda.|Il mano di {F} è fredda.
Il problema di {G} è difficile.|La problema di {G} è difficile.
{F} lavora a {T} da tre anni.|{F} lavora a {T} da tre anno.
Domani andremo in Spagna con {F}.|Domani andremo a Spagna con {F}.
{G} abita in Francia.|{G} abita a Francia.
Le uova di {F} sono sul tavolo.|Le uova di {F} sono su il tavolo.
{F} non ha visto nessuno a {T}.|{F} ha visto nessuno a {T}.
{G} e {F} sono in giardino.|{G} e {F} è in giardino.
Se avessi tempo, verrei a {T}.|Se avrei tempo, verrei a {T}.
{G} ha letto tutti i libri di {F}.|{G} ha letto tutto i libri di {F}.
Questi pantaloni sono troppo lunghi per {G}.|Questi pantaloni sono troppo lungo per {G}.
{F} suona molto bene il pianoforte.|{F} suona molto buono il pianoforte.
Il treno per {T} parte alle otto.|Il treno per {T} parte a le otto.
{G} ha dimenticato le chiavi a casa.|{G} è dimenticato le chiavi a casa.
Ci sono tre gatti nel cortile di {F}.|C'è tre gatti nel cortile di {F}.
Lo zio di {G} è medico.|Il zio di {G} è medico.
{F} ha scritto una lunga lettera.|{F} ha scritta una lunga lettera.
I ponti di {T} sono antichi.|I ponti di {T} sono antico.
Noi mangiamo spesso da {G}.|Noi mangiate spesso da {G}.
Voi conoscete bene {T}.|Voi conosciamo bene {T}.
{F} si è svegliata presto.|{F} si ha svegliata presto.
Le amiche di {G} parlano tedesco.|Le amiche di {G} parla tedesco.
{G} deve comprare il latte.|{G} deve compra il latte.
Quest'anno {F} studia a {T}.|Quest'anno {F} studio a {T}.
La settimana scorsa siamo stati a {T}.|La settimana scorsa abbiamo stati a {T}.
{F} ha paura del buio.|{F} ha paura dal buio.
Il film di {G} è cominciato alle nove.|Il film di {G} ha cominciato alle nove.
Molte persone vanno a {T} in agosto.|Molti persone vanno a {T} in agosto.
{G} porta gli occhiali.|{G} porta i occhiali.
{F} guarda la televisione tutte le sere.|{F} guarda la televisione tutti le sere.
Le strade di {T} erano piene di gente.|Le strade di {T} erano pieni di gente.
""")
_IT_WOMEN = ("Giulia", "Chiara", "Silvia", "Marta", "Paola", "Bianca")
_IT_MEN = ("Marco", "Luca", "Pietro", "Davide", "Matteo", "Franco")
_IT_CITIES = ("Torino", "Verona", "Siena", "Lecce", "Trento", "Genova", "Parma", "Udine")


def _italian(rng: Random, index: int) -> Pair | None:
    values = {"F": rng.choice(_IT_WOMEN), "G": rng.choice(_IT_MEN), "T": rng.choice(_IT_CITIES)}
    right, wrong = (part.format(**values) for part in turn(_ITALIAN, index))
    return wrong, [right]


GERMAN = [
    TaskSpec(
        name="german_statement_follows", categories=["Textual Entailment"], source="nightjar_german_statements",
        definition="You are given a short text and a statement, both in German. Answer 'ja' if the statement follows "
        "from the text. Answer 'nein' if the text says something else.",
        make=_german, size=60, reasoning=["Textual Entailment"], input_language=["German"], output_language=["German"],
        positive=[
            ("Text: Lukas hat zwei Schwestern und keinen Bruder. Aussage: Lukas hat Schwestern.", "ja",
             "The text says that Lukas has two sisters, so the statement follows."),
            ("Text: Der Laden schließt am Samstag um 14 Uhr. Aussage: Der Laden ist am Samstagabend offen.", "nein",
             "The shop closes at 14:00 on Saturday, so it is not open in the evening."),
        ],
        negative=[
            ("Text: Eva trinkt gern Tee, aber keinen Kaffee. Aussage: Eva mag Tee.", "nein",
             "Eva likes to drink tea, so the statement follows and the answer is 'ja'."),
        ],
    ),
]  # fmt: skip
LATER = [
    TaskSpec(
        name="spanish_cause_or_effect", categories=["Cause Effect Classification"], source="nightjar_spanish_events",
        definition="You are given two Spanish sentences about the same event, one of which is the cause of the other. "
        "Answer 'causa' if Oración 1 is the cause of Oración 2, and 'efecto' if Oración 1 is its result.",
        make=_spanish, size=60, reasoning=["Causal Reasoning", "Commonsense Reasoning"], domains=["Commonsense"],
        input_language=["Spanish"], output_language=["Spanish"],
        positive=[
            ("Oración 1: Rosa dejó la jaula abierta. Oración 2: El canario de Rosa se escapó.", "causa",
             "The bird could escape because the cage was open, so the first sentence is the cause."),
            ("Oración 1: La calle se quedó a oscuras. Oración 2: Un árbol rompió el cable de la luz.", "efecto",
             "The street was dark because the cable broke, so the first sentence is the result."),
        ],
        negative=[
            ("Oración 1: El vaso se rompió. Oración 2: Rosa dejó caer el vaso.", "causa",
             "The glass broke because it was dropped; the first sentence is the result: 'efecto'."),
        ],
    ),
    TaskSpec(
        name="french_direct_question", categories=["Question Rewriting"], source="nightjar_french_letters",
        definition="The French sentence contains an indirect question. Rewrite it in French as a direct question that ends "
        "with a question mark. Keep the names as they are and do not answer the question.",
        make=_french, size=60, input_language=["French"], output_language=["French"],
        positive=[
            ("Paul veut savoir où se trouve la poste.", "Où se trouve la poste ?",
             "The subordinate clause has become a question of its own."),
            ("Je me demande si Paul aime les champignons.", "Est-ce que Paul aime les champignons ?",
             "A question introduced by 'si' becomes a question with 'est-ce que'."),
        ],
        negative=[
            ("Dis-moi qui a ouvert la fenêtre.", "Dis-moi ?", "The question is lost; it should be 'Qui a ouvert la fenêtre ?'"),
        ],
    ),
    TaskSpec(
        name="italian_one_mistake_correction", categories=["Grammar Error Correction"], source="nightjar_italian_notebook",
        definition="The Italian sentence was written by a learner and has one grammatical mistake. Write the whole sentence "
        "again in Italian with the mistake corrected, and change nothing else.",
        make=_italian, size=60, reasoning=["Grammatical Reasoning"], input_language=["Italian"], output_language=["Italian"],
        positive=[
            ("La mia sorella minore è alto.", "La mia sorella minore è alta.", "The adjective must agree with 'sorella'."),
            ("Loro ha una macchina rossa.", "Loro hanno una macchina rossa.", "With 'loro' the verb is 'hanno'."),
        ],
        negative=[
            ("Ho visto un film bella.", "Ho visto una bella signora.",
             "Too much was changed. Only the adjective is wrong: 'Ho visto un film bello.'"),
        ],
    ),
]  # fmt: skip
