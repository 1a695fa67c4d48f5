"""Reports that quote a sentence in Spanish, German, French or Portuguese, with English before and after it."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.words import TOWNS, person

COUNT = 28

_SPANISH = """
El tren de la mañana sale a las ocho y llega a mediodía.|The morning train leaves at eight and arrives at noon.
Mi abuela hacía el mejor pan de todo el pueblo.|My grandmother made the best bread in the whole village.
No hay camino tan largo que no tenga un final.|There is no road so long that it has no end.
Los niños juegan en la plaza hasta que se pone el sol.|The children play in the square until the sun goes down.
La llave de la puerta vieja está debajo de la piedra blanca.|The key of the old door is under the white stone.
Después de la lluvia, el jardín huele a tierra y a flores.|After the rain the garden smells of earth and flowers.
Quien canta en el trabajo termina el día con alegría.|Whoever sings at work ends the day with joy.
El barco azul vuelve al puerto cuando empieza la noche.|The blue boat returns to the harbour when the night begins.
Queremos una biblioteca nueva para todos los vecinos del barrio.|We want a new library for all people of the quarter.
Las campanas de la iglesia suenan cada domingo por la mañana.|The bells of the church ring every Sunday morning.
En esta casa vivió durante muchos años un pintor de barcos.|In this house lived for many years a painter of ships.
El agua de esta fuente es fría incluso en verano.|The water of this fountain is cold even in summer.
Por favor, cierren la puerta del jardín al salir de la casa.|Please close the garden gate when you leave the house.
"""
_GERMAN = """
Der alte Leuchtturm steht seit vielen Jahren am Rand der Insel.|The old lighthouse has stood at the edge of the island for many years.
Wer früh am Morgen aufsteht, sieht die Sonne über dem See.|Whoever gets up early in the morning sees the sun over the lake.
Die Kinder haben im Garten einen großen Schneemann gebaut.|The children have built a big snowman in the garden.
Bitte lassen Sie Ihre nassen Schuhe vor der Tür stehen.|Please leave your wet shoes in front of the door.
Mein Großvater hat dieses Boot mit seinen eigenen Händen gebaut.|My grandfather built this boat with his own hands.
Am Ende der Straße gibt es eine kleine Bäckerei mit gutem Brot.|At the end of the street there is a small bakery with good bread.
Das Museum ist heute wegen einer Feier leider geschlossen.|The museum is unfortunately closed today because of a celebration.
Im Herbst fallen die bunten Blätter auf den nassen Weg.|In autumn the coloured leaves fall on the wet path.
Wir suchen einen Lehrer, der gern mit den Kindern singt.|We are looking for a teacher who likes to sing with the children.
Hinter dem Wald beginnt ein Weg, den nur die Hirten kennen.|Behind the forest begins a path that only the shepherds know.
In diesem Haus wurde ein berühmter Uhrmacher geboren.|A famous clockmaker was born in this house.
Die Brücke darf bei starkem Wind nicht befahren werden.|The bridge must not be used by vehicles in strong wind.
Ein guter Nachbar ist besser als ein Bruder in der Ferne.|A good neighbour is better than a brother far away.
"""
_FRENCH = """
Le marché du village commence très tôt le samedi matin.|The village market begins very early on Saturday morning.
La vieille dame donne du pain aux oiseaux dans le parc.|The old lady gives bread to the birds in the park.
Il faut traverser le pont pour arriver à la gare du nord.|One has to cross the bridge to reach the northern station.
Les enfants du quartier chantent une chanson devant l'école.|The children of the quarter sing a song in front of the school.
Cette maison a été construite avec les pierres du château.|This house was built with the stones of the castle.
Nous avons mangé une soupe chaude au bord de la rivière.|We ate a hot soup on the bank of the river.
Le facteur apporte une lettre que personne n'attendait plus.|The postman brings a letter that nobody expected any more.
La neige couvre les toits et la ville devient silencieuse.|The snow covers the roofs and the town falls silent.
On ne voit bien la mer que du sommet de la tour.|One sees the sea well only from the top of the tower.
Mon frère a trouvé une pièce d'or dans le jardin.|My brother found a gold coin in the garden.
Prenez le petit chemin qui passe derrière le moulin rouge.|Take the small path that passes behind the red mill.
Dans cette rue, les boutiques ferment toujours à midi.|In this street the shops always close at noon.
Celui qui plante un arbre pense à ses petits-enfants.|Whoever plants a tree thinks of his grandchildren.
"""
_PORTUGUESE = """
O barco pequeno volta ao porto antes do começo da noite.|The small boat returns to the harbour before nightfall.
A minha avó conta histórias do mar quando está frio.|My grandmother tells stories of the sea when it is cold.
As crianças da aldeia aprendem a nadar no rio em julho.|The children of the village learn to swim in the river in July.
Quem espera junto da ponte vê passar todos os amigos.|Whoever waits by the bridge sees all friends pass.
O padeiro abre a loja quando ainda está escuro na rua.|The baker opens the shop when it is still dark in the street.
Esta casa amarela foi a primeira escola da nossa cidade.|This yellow house was the first school of our town.
Depois do almoço, os velhos jogam cartas debaixo da árvore.|After lunch the old men play cards under the tree.
A chuva de abril faz crescer as flores do jardim.|The rain of April makes the flowers of the garden grow.
O comboio para o norte parte da linha três ao meio-dia.|The train to the north leaves from platform three at noon.
Nesta praia ninguém pode pescar durante o mês de agosto.|On this beach nobody may fish during the month of August.
O livro que procuras está na mesa perto da janela.|The book you are looking for is on the table near the window.
Há um caminho antigo que liga a serra ao mar.|There is an old path that joins the mountains to the sea.
Não deites fora o pão que sobrou do jantar de ontem.|Do not throw away the bread left from yesterday's dinner.
"""
QUOTES = [
    (language, *line.split("|"))
    for language, block in (
        ("Spanish", _SPANISH), ("German", _GERMAN), ("French", _FRENCH), ("Portuguese", _PORTUGUESE)
    )
    for line in block.strip().splitlines()
]  # fmt: skip

_BEFORE = (
    "On an old wall in {T} workers found a line in {L} under the paint. It reads:",
    "{N} brought home a postcard from a journey last summer. On its back somebody has written in {L}:",
    "The film that was shown in {T} on the weekend begins with a voice that says in {L}:",
    "In the letters that {N} gave to the library of {T} there is one sentence in {L} that everybody likes:",
    "A visitor to {T} left a message in {L} in the guest book of the museum. It says:",
    "Every lesson of the {L} course in {T} starts with a sentence on the board. This week it was:",
)
_AFTER = (
    'In English this means: "{E}"', '{N} has translated it for our readers: "{E}"', 'That is to say: "{E}"',
    'The meaning is simple, says {N}: "{E}"',
)  # fmt: skip
_TITLES = ("A Line in {L} from {T}", "{L} Words in {T}", "What {N} Found in {T}", "A Sentence in {L}")


def reports(rng: Random) -> list[tuple[str, str]]:
    """(title, text), one report for each of COUNT quotations."""
    result = []
    for language, quote, meaning in rng.sample(QUOTES, COUNT):
        values = {"T": rng.choice(TOWNS), "N": person(rng), "L": language, "E": meaning}
        before, after, title = (rng.choice(p).format(**values) for p in (_BEFORE, _AFTER, _TITLES))
        result.append((title, f"{before} {quote} {after}"))
    return result
