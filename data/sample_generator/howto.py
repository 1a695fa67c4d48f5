"""How-to pages: the text and its titles."""

# ruff: noqa: E501
# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from data.sample_generator.words import table

HOWTO = table("""
Remove the wheel and take out the tube. Find the hole, glue a patch over it and put everything back.|How to Repair a Flat Bicycle Tyre|Repairing a Flat Bicycle Tyre
Mix flour, water, salt and yeast. Let the dough rise for an hour and bake it until it is brown.|How to Bake Bread|Baking Bread at Home
Choose a sunny place and dig a hole twice as wide as the roots. Set the tree in, fill the hole and water it well.|How to Plant a Tree|Planting a Tree
Put a coin under the cloth, say a few words and lift the cloth with the other hand. Practise before a mirror.|How to Do a Coin Trick|Doing a Coin Trick
Turn off the electricity first. Unscrew the old bulb, screw in the new one and switch the light on.|How to Change a Light Bulb|Changing a Light Bulb
Fold the sheet in half, bend both corners to the middle and press the wings down. Throw it gently.|How to Fold a Paper Plane|Folding a Paper Plane
Sand the wood until it is smooth. Brush on a thin coat of paint, wait for a day and paint it again.|How to Paint Wood|Painting Wood
Boil the water and wait a moment. Pour it over the leaves and take them out after three minutes.|How to Make Tea|Making Tea
Wet the dog with warm water, rub in a little soap and rinse it out. Dry the fur with a towel.|How to Wash a Dog|Washing a Dog
Cross the laces, pull one under the other, make two loops and tie them together.|How to Tie Your Shoes|Tying Your Shoes
Chop an onion and some carrots. Fry them, add water and lentils and let it all cook for half an hour.|How to Cook Lentil Soup|Cooking Lentil Soup
Write down what you earn and what you spend. Set a sum aside at the start of each month.|How to Save Money|Saving Money Every Month
Thread the needle and knot the end. Push it up through the holes from below, cross over a few times and knot it again.|How to Sew on a Button|Sewing on a Button
Blow air into the wood from the side, start with paper and dry twigs, and lay on larger pieces later.|How to Light a Campfire|Lighting a Campfire
Stretch the skin of the drum evenly, tap near each screw and turn it until every tap sounds the same.|How to Tune a Drum|Tuning a Drum
Sprinkle salt on the wine while it is wet, wait an hour, brush it off and rinse the cloth in cold water.|How to Remove a Wine Stain|Removing a Wine Stain
Drive two poles into the ground, pull the line between them and hang the wet shirts on it with pegs.|How to Put Up a Washing Line|Putting Up a Washing Line
Hold the knife at a small angle and draw it along the stone, ten times on each side, with a little water.|How to Sharpen a Knife|Sharpening a Knife
Feed the sourdough with flour and water every day, keep it warm, and throw half of it away before each feeding.|How to Keep a Sourdough Alive|Keeping a Sourdough Alive
Place the ladder at a safe angle, scoop the wet leaves out of the gutter and rinse it with a hose.|How to Clean a Gutter|Cleaning a Gutter
Cross the two sticks, tie them, stretch paper over the frame and add a long tail and a string.|How to Build a Kite|Building a Kite
Lie on your back, spread your arms, breathe in and keep your ears under water. Do not move much.|How to Float on Water|Floating on Water
Read the text aloud, cover it, say it from memory and go on with the next verse only when it is right.|How to Learn a Poem by Heart|Learning a Poem by Heart
Wrap each glass in newspaper, put heavy things at the bottom of the box and fill the gaps with towels.|How to Pack for a Move|Packing for a Move
Press the flowers between two sheets of blotting paper, put books on top and wait for three weeks.|How to Press Flowers|Pressing Flowers
Take a cutting below a leaf, put it into a glass of water and plant it when roots have grown.|How to Grow a New Plant from a Cutting|Growing a New Plant from a Cutting
Whip the cream, fold in the crushed strawberries and sugar and leave the bowl in the freezer overnight.|How to Make Strawberry Ice Cream|Making Strawberry Ice Cream
Set up the king and queen in the middle, rooks in the corners, and a row of pawns before them.|How to Set Up a Chess Board|Setting Up a Chess Board
Loosen the nuts, lift the car with the jack, change the wheel and tighten the nuts crosswise.|How to Change a Car Wheel|Changing a Car Wheel
Take off the watch, open the back with a thin blade, lift out the flat battery and press in a fresh one.|How to Replace a Watch Battery|Replacing a Watch Battery
Soak the beans overnight, pour the water away and cook them in fresh water without salt until they are soft.|How to Cook Dried Beans|Cooking Dried Beans
Look for a person who works in the trade, prepare ten questions, listen well and write up your notes at once.|How to Interview an Expert|Interviewing an Expert
Cut a branch at a slant above a bud, take away dead wood and open the middle of the crown to the light.|How to Prune an Apple Tree|Pruning an Apple Tree
Find the Plough, follow the line through its last two stars, and you will see a bright star above north.|How to Find the North Star|Finding the North Star
Pour warm wax around a wick that hangs in a glass, keep the wick straight and let the wax cool slowly.|How to Make a Candle|Making a Candle
Greet the dog from the side, let it smell the back of your hand and stroke its chest, not its head.|How to Greet a Strange Dog|Greeting a Strange Dog
Rub the shoes with a damp cloth, spread a little polish on them, wait, and brush them until they shine.|How to Polish Leather Shoes|Polishing Leather Shoes
Hang a feeder two metres above the ground, fill it with seeds and oats and clean it every week.|How to Feed Garden Birds in Winter|Feeding Garden Birds in Winter
Cut the potatoes into sticks, dry them well, fry them once until they are soft and once more until golden.|How to Make Chips|Making Chips
Draw a family tree, ask the oldest relatives first and compare their stories with the church registers.|How to Research Your Family|Researching Your Family
Cut a slit into the bark, slide in the twig of the better sort, bind both with tape and seal them with wax.|How to Graft a Fruit Tree|Grafting a Fruit Tree
Shuffle the cards, let your neighbour cut, and deal them one at a time to the left until each player has five.|How to Deal Cards|Dealing Cards
Make a list, walk past the sweets, compare the price per kilo and pay with the cash you brought along.|How to Spend Less at the Supermarket|Spending Less at the Supermarket
Warm up, start with one minute of running and two of walking, and run a little longer each week.|How to Start Running|Starting to Run
Fill the bottle with water from far away upstream, let it stand, strain it through a cloth and boil it.|How to Get Drinking Water Outdoors|Getting Drinking Water Outdoors
Put on gloves, pull the young plants out with the root after rain and cover the bed with straw.|How to Weed a Flower Bed|Weeding a Flower Bed
Grate the beetroot, add vinegar, oil, an apple and walnuts, and let the bowl stand for an hour.|How to Make Beetroot Salad|Making Beetroot Salad
Heat the jars, boil equal weights of plums and sugar, fill the jars to the rim and close them while hot.|How to Make Plum Jam|Making Plum Jam
Lower the mast, fold the sail on dry grass, wash the salt off the ropes and put the boat under a roof.|How to Prepare a Sailing Boat for Winter|Preparing a Sailing Boat for Winter
Ask for silence, state the matter, let both sides speak for three minutes and count the raised hands.|How to Hold a Vote|Holding a Vote
Stand with your feet apart, look at the target, draw the string to your chin and let go without a jerk.|How to Shoot an Arrow|Shooting an Arrow
Measure the wall, add ten centimetres to each strip, brush on the paste and smooth the paper from top to bottom.|How to Hang Wallpaper|Hanging Wallpaper
Wind the wool around your fingers, tie the bundle in the middle, cut the loops and trim it into a ball.|How to Make a Pompom|Making a Pompom
Slow the scooter before the bend, lean to the inside, look where you want to go and speed up again.|How to Take a Bend on a Scooter|Taking a Bend on a Scooter
Put the egg into a bowl of water: if it sinks it is fresh, and if it floats it should be thrown away.|How to Test the Freshness of an Egg|Testing the Freshness of an Egg
Address the reader, say in the first line which job you want, name two things you do well, and sign.|How to Write a Job Application|Writing a Job Application
Empty the tank by a third, fill in water of the same warmth, and wipe the glass without frightening the fish.|How to Change the Water of an Aquarium|Changing the Water of an Aquarium
Bend your knees, keep your back straight, hold the crate close to your body and rise with your legs.|How to Lift a Heavy Crate|Lifting a Heavy Crate
Turn the map until it agrees with the needle, pick a landmark on your line and walk towards it.|How to Walk by Map and Compass|Walking by Map and Compass
Roll the snow into three balls, stack them by size and give the top one a carrot and two coals.|How to Build a Snowman|Building a Snowman
Cut an old sock open, draw a mouth and eyes on the toe, and glue on woollen hair.|How to Make a Sock Puppet|Making a Sock Puppet
Call the shelter first, watch the bird from afar, and carry it in a dark box with holes if nobody comes.|How to Help an Injured Bird|Helping an Injured Bird
Pull the plug, run a narrow brush down the pipe, pour in hot water with soda and flush it after an hour.|How to Clear a Blocked Drain|Clearing a Blocked Drain
Choose a word with few letters that repeat, draw one line for each letter, and add a limb for each wrong guess.|How to Play Hangman|Playing Hangman
Lay the strips side by side, weave the others over and under, and turn the ends up to form the walls.|How to Weave a Basket|Weaving a Basket
Sow in April under glass, move the young plants outside after the last frost and tie them to canes.|How to Grow Tomatoes|Growing Tomatoes
Sit where you see both players, keep the score aloud, and raise your arm when the ball is out.|How to Umpire a Tennis Match|Umpiring a Tennis Match
Breathe in through the nose, count to four, breathe out slowly through the mouth and think of a calm place.|How to Calm Your Nerves|Calming Your Nerves
Drain the old oil while the engine is warm, change the filter, and fill in new oil up to the mark.|How to Change Engine Oil|Changing Engine Oil
Whisk one egg with milk and flour, pour a ladle of it into the hot pan, and turn it when bubbles appear.|How to Make Pancakes|Making Pancakes
Name the place and the number of injured people, answer the questions, and do not hang up first.|How to Make an Emergency Call|Making an Emergency Call
Stick the notes in order on the wall, cut what nobody needs, and rehearse the talk with a clock.|How to Prepare a Talk|Preparing a Talk
""")
