"""Advice to anybody ("always back up your data") is not in force; orders to the assistant in the same words are."""

from __future__ import annotations

import pytest

from compression.core.ledger.english_verbs import is_act
from compression.core.ledger.find import find_entries

ADVICE = """
Always back up your data.
Always back up data.
ALWAYS BACK UP YOUR DATA.
Please always back up your data.
You should always back up your data.
From now on, always back up your data.
Never share your password with anyone.
Don't change your password too often.
Always wear a helmet.
Never use the same password twice.
Always check your email before you leave.
Never use your phone while driving.
Don't use your phone at dinner.
Never answer the phone while driving.
Never reply to spam.
Always read the fine print.
Always save your work.
Always trust your instincts.
Never trust strangers.
Never give your name to strangers.
Always write down your goals.
Always test the water first.
Always call your mother.
Always keep receipts.
Always use sunscreen.
Never use sugar.
Don't use sugar.
Stop using plastic bags.
Stop asking for permission.
Always say thank you.
Always ask for a receipt.
Never stop asking questions.
Never open links in emails.
Always open the window.
Never run with scissors.
Always support your friends.
Always include a cover letter.
Never commit a crime.
You must always wear a helmet.
Always check the weather before you hike.
Never go to bed when you are angry.
Always pay in cash when you travel.
Always look both ways before you cross the street.
Never lie to your kids.
Always thank your host.
Always greet guests with a smile.
Never change a running system.
Always proofread your emails.
Always plan ahead.
Always finish what you start.
Never apologise for being yourself.
Always update your phone.
Don't delete your account.
Never speak ill of the dead.
Always respect your elders.
Always end on a high note.
Never put all your eggs in one basket.
Always format the disk before you sell the computer.
Never name the children after celebrities.
Be more patient.
Keep your language clean around kids.
Your emails should always have a subject.
Never use antibiotics without a prescription.
N'utilisez jamais votre téléphone au volant.
Ne donne jamais ton mot de passe.
N'utilise jamais le même mot de passe.
Verwende nie dasselbe Passwort.
Ändere immer dein Passwort.
Benutze nie dein Handy am Steuer.
Lösche nie deine Fotos.
Nunca des tu contraseña.
Nunca uses el móvil al volante.
No uses azúcar.
No me digas.
Non usare mai il telefono alla guida.
Non dare mai la tua password.
Non cambiare mai!
Nunca use o celular ao volante.
Nunca dê sua senha.
Não use açúcar.
Никогда не используй один и тот же пароль.
Никогда не говори свой пароль.
Не меняй себя.
永远不要使用同一个密码。
不要说你的密码。
请不要使用手机。
パスワードを使わないでください。
自分のパスワードを変更しないでください。
絶対にスマホを使わないでください。
""".strip().splitlines()
ORDERS = """
Always test your code before you commit.
Never delete anything without asking.
Never delete anything.
Always ask me before you run a command.
Never use Tailwind.
Always use pnpm.
Always use type hints.
Never use global variables.
Always write unit tests.
Never touch the production database.
Always show the full diff.
Never make up facts.
Always double-check your math.
Always show your work.
Never repeat yourself.
Always check for errors.
Never assume anything.
Always include links.
Always list sources.
Always ask questions before you start.
Always address me as Captain.
Never lie to me.
Always be honest with me.
Never share my data with anyone.
Never email customers without my approval.
Never buy anything without asking me.
Always validate user input.
Always round prices to two decimals.
Always start with a summary.
Always give dates in ISO format.
Never skip error handling.
Never restart the server on Fridays.
Don't touch the tests.
Don't use the word "delve".
Always keep it short.
From now on, keep it short.
Always use our style guide.
Stop using emojis.
Stop asking follow-up questions.
Unless you are sure, never guess.
Always quote your sources when you answer.
Teste toujours ton code.
Teste deinen Code immer mit pytest.
Nunca cambies el código sin preguntarme.
Non usare mai la porta 8080.
Nunca altere o código sem me perguntar.
Всегда проверяй свой код.
永远不要改动你的代码。
必ずコードをテストしてください。
""".strip().splitlines()


@pytest.mark.parametrize("sentence", ADVICE)
def test_advice_to_anybody_is_not_in_force(sentence: str) -> None:
    assert not any(found.is_sure for found in find_entries(sentence))


@pytest.mark.parametrize("sentence", ORDERS)
def test_an_order_about_what_the_assistant_answers_or_makes_is_in_force(sentence: str) -> None:
    assert [(found.text, found.is_sure) for found in find_entries(sentence)] == [(sentence, True)]


def test_advice_is_noted_so_that_one_press_makes_it_a_rule() -> None:
    (found,) = find_entries("Always back up your data.")
    assert (found.kind, found.is_sure) == ("rule", False)


@pytest.mark.parametrize("word", ["commit", "commits", "committed", "committing", "using", "uses", "ensures", "sure"])
def test_the_forms_of_an_assistants_verb_are_known(word: str) -> None:
    assert is_act(word)


@pytest.mark.parametrize("word", ["angry", "travel", "hike", "drive", "sell", "leave"])
def test_what_only_people_do_is_no_assistants_act(word: str) -> None:
    assert not is_act(word)
