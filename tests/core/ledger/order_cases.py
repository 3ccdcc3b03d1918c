"""Orders that stand for good, by how sure they are, and sentences that order nothing for good."""

from __future__ import annotations

STANDING = tuple(
    """
Don't ask me follow-up questions.
Cite a source for every claim.
Answer every question with a rhyme.
Mask all phone numbers in your replies.
Keep all variable names in snake_case.
Do not speculate.
Don't be sarcastic.
Never apologise.
Don't use the word "delve".
Refer to me as Captain.
I want you to always answer in rhymes.
I'd like all your answers in French.
All answers in French, please.
French only, please.
Only French from now on.
Everything in French from now on.
From here on, only code.
Give every answer as a table.
Every reply must end with a question.
Your answers should be short.
Your replies must not contain emojis.
I never want to see emojis in your answers.
I don't want any emojis.
Emojis are forbidden.
Emojis are not allowed.
No emojis, ever.
Please no emojis.
Zero emojis.
Refrain from using emojis.
Avoid emojis.
Leave emojis out of your answers.
Stop with the emojis.
Whenever you write code, add type hints.
When you write Python, use type hints.
After every change, run the tests.
Before every commit, run the linter.
Run the tests after each change.
Don't delete anything without asking.
Don't push without my permission.
You must never push to main.
Remember: never push to main.
Rule: tests before code.
New rule: no more emojis.
Rule number one: be brief.
For this project, use Python 3.12.
Stick to snake_case.
Talk to me like a pirate from now on.
Call me Max from now on.
Address me formally.
Please be brief.
Be brief in all your answers.
Speak German to me.
Answer in German from now on.
Let's speak German.
Write in British English.
Use British spelling.
Always use ISO dates.
Always show diffs, not whole files.
Keep your answers under 100 words.
Max 100 words per answer.
At most 100 words per answer.
Not more than 100 words per answer.
100 words max per reply.
Answer with yes or no only.
Only answer yes or no.
Answer yes/no only from now on.
Wait for my confirmation before each step.
Never assume; always ask.
Don't hallucinate.
Don't flatter me.
No flattery.
Skip the intro.
No preamble.
Don't repeat my question.
Do not restate the question in your answers.
""".strip().splitlines()
)
"""Orders of the assistant that are put in force without a question."""

ASKED = tuple(
    """
Each answer should have at most three sentences.
Each time you finish a task, say DONE.
Ask me before you delete anything.
Ask before deleting files.
In this project we use tabs.
Use snake_case for variables.
Always prefer composition over inheritance.
Let's use German from now on.
Use ISO dates everywhere.
If you don't know something, say so.
Don't make things up.
""".strip().splitlines()
)
"""Sentences that may be orders for good: the person is asked."""

PASSING = tuple(
    """
Don't ask me about the party.
Cite the source for this claim.
Answer the first question with a rhyme.
Mask all phone numbers in the file.
Rename the variable to snake_case.
Number the steps.
Make the heading bold.
Answer in French this time.
Write this letter in French.
Write a poem in French.
Give me the code only for this function.
The table should have three columns.
The email must end with a question.
Each row should have at most three cells.
Every user must have an address.
All answers of the survey are in French.
My answers should be short in the interview, my coach says.
I never want to see him again.
I don't want any sugar in my coffee.
Dogs are not allowed.
Smoking is forbidden.
Parking is forbidden here.
No parking, ever.
Refrain from smoking in the garden, the sign says.
Leave the onions out of the recipe.
When you write to John, add my number.
When I was young, we used tabs.
If I ask my boss, he says no.
Run the tests.
Run the tests after this change.
Ask John before you delete anything.
You must see this movie.
You are not allowed to park there.
Remember the Alamo.
Remember that movie with the pirate?
For this recipe, use butter.
We use Postgres.
Our office is in Rome.
Use the second variable.
Stick to the plan.
Talk to John about it.
From now on the shop opens at nine.
Her name is Max.
My dog is called Max.
Call John from the office.
Be right back.
Let's go.
Let's use the second option.
Write the dates in the table.
Show me the diff.
Keep the receipts.
The essay has 100 words max.
Answer the mail with yes.
Wait for the train.
If you're not sure, ask the pharmacist.
Don't make coffee.
Skip the intro of the video.
Get the point?
Don't repeat the chorus.
""".strip().splitlines()
)
"""Sentences for a single task, or about something else: none is put in force."""
