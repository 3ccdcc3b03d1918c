"""Sentences in which people state lasting facts about themselves, and sentences that state none."""

from __future__ import annotations

STATED = """
I'm 34 years old.
I am 34.
I am Portuguese.
I just moved to Berlin.
I now live in Porto.
I recently moved to Porto.
We live in Ghent.
I'm based out of Austin.
My home is in Oslo.
I work at Siemens.
I'm working as a nurse.
I'm lactose intolerant.
I'm gluten intolerant.
I have diabetes.
I have ADHD.
I have asthma.
I have a peanut allergy.
I have celiac disease.
I'm pregnant.
I'm married.
I'm married to Tom.
I'm divorced.
I have a dog named Rex.
My dog's name is Rex.
My dog is called Rex.
I drive a Tesla Model 3.
I use Arch Linux.
I use a Mac.
I'm on Windows 11.
I study physics at ETH.
I'm studying law.
My birthday is 3 May.
I was born in 1988.
I was born in Lagos.
My pronouns are they/them.
My pronouns: she/her.
I'm in the CET time zone.
My timezone is UTC+2.
I own a bakery.
I run a small bakery in Leeds.
I'm the founder of Acme.
I'm the CTO of Acme.
I'm learning Spanish.
I'm a beginner in Python.
I'm new to Rust.
I'm left handed.
I am a vegetarian.
I'm a vegan and I hate mushrooms.
I'm a 34-year-old nurse from Leeds.
I am a single mother of two.
As a nurse, I work nights.
I work nights.
I work from home.
My wife Anna is a teacher.
My kids are 4 and 7.
My daughter Mia is four.
My son's name is Tom.
I have a son, Tom, who is six.
I have twins.
I don't drink alcohol.
I don't drink.
I can't eat gluten.
I avoid dairy.
I'm colorblind.
I'm hard of hearing.
I use a wheelchair.
I weigh 80 kg.
I'm 1.80 m tall.
My name's Ana.
The name's Ana.
I'm Ana.
Hi, I'm Ana!
Hi, Ana here.
I go by Sam.
People call me Sam.
I come from Ghana.
I'm originally from Ghana.
My favourite colour is green.
My favorite language is Rust.
My job is teaching maths.
I'm unemployed.
I'm retired.
I'm a retired teacher.
I'm a freelance illustrator.
I'm a PhD student at MIT.
I teach maths at a school in Kent.
I manage a team of five.
Ich bin 34 Jahre alt.
Ich bin nach Berlin gezogen.
Ich bin verheiratet.
Ich habe Diabetes.
Ich habe eine Nussallergie.
Ich bin laktoseintolerant.
Ich bin schwanger.
Ich studiere Physik.
Ich bin Rentner.
Ich trinke keinen Alkohol.
Ich bin in Lagos geboren.
Ich nutze einen Mac.
Ich bin Krankenschwester.
Ich bin der Max.
Ich bin Max.
Mein Sohn ist vier.
Meine Tochter Mia ist vier.
Je suis né à Lagos.
J'ai 34 ans.
Je suis mariée.
J'ai du diabète.
Je suis enceinte.
J'étudie la physique.
Je suis retraité.
Je ne bois pas d'alcool.
J'ai déménagé à Lyon.
Tengo 34 años.
Estoy casada.
Tengo diabetes.
Estoy embarazada.
Estudio física.
Estoy jubilado.
No bebo alcohol.
Me mudé a Sevilla.
Nací en Lima.
Ho 34 anni.
Sono sposata.
Ho il diabete.
Studio fisica.
Non bevo alcolici.
Sono nato a Roma.
Tenho 34 anos.
Sou casada.
Tenho diabetes.
Estudo física.
Não bebo álcool.
Nasci em Recife.
Мне 34 года.
Я женат.
Я замужем.
У меня диабет.
У меня двое детей.
Я не пью алкоголь.
Я учусь в МГУ.
Я родился в Омске.
我34岁。
我结婚了。
我有糖尿病。
我有两个孩子。
我不喝酒。
我是老师。
我在上海工作。
私は34歳です。
結婚しています。
糖尿病です。
子供が二人います。
お酒は飲みません。
教師をしています。
""".strip().splitlines()

NOT_STATED = """
I'm 34 minutes late.
I am fine.
I'm at the office.
I just moved to the next chapter.
I moved to the second step.
I have a question about Rust.
I have an idea.
I have a problem.
I have time.
I have a meeting at 3.
I use it daily.
I use the second option.
I study the text now.
I'm working on the login page.
I'm new here.
I'm learning a lot from this.
I don't drink that.
I was born ready.
I'm on it.
I'm on page 12.
I'm in trouble.
I'm in.
I'm the one who asked.
I'm sure.
I'm Ok.
I'm back.
I'm sorry.
I'm done.
I'm stuck.
I'm happy.
I drive to work now.
I run the tests.
I run a script and it fails.
I own the repository.
I manage the state in Redux.
I work nights this week only?
My kids are asleep.
My son is ill today.
My job failed with exit code 1.
My name is not in the list.
I avoid the question.
I weigh the options.
I have twins? No.
I'm a bit lost.
I'm a fan of that.
I am the user.
My home is a mess.
We live in strange times.
I live in fear.
Ich bin müde.
Ich bin fertig.
Ich bin dran.
Ich bin sicher.
Ich habe eine Frage.
Ich habe Zeit.
Je suis prêt.
Je suis perdu.
J'ai une question.
Estoy listo.
Tengo una pregunta.
Ho una domanda.
Sono pronto.
Tenho uma dúvida.
Мне кажется, что это так.
У меня вопрос.
我有一个问题。
我是说这个。
質問があります。
""".strip().splitlines()
