"""Words that request nothing: assent, thanks and greetings, in several languages."""

from __future__ import annotations

from typing import Final

ASSENT: Final = frozenset({
    "ok", "okay", "k", "yes", "y", "yeah", "yep", "yup", "sure", "go", "on", "ahead", "continue", "proceed", "resume",
    "start", "begin", "do", "it", "that", "this", "please", "now", "then", "lgtm", "approved", "agreed", "right",
    "correct", "fine", "and", "so", "keep", "going", "carry", "next", "try", "again", "retry", "all", "of", "them",
    "both", "first", "the", "let's", "lets", "ja", "weiter", "mach", "bitte", "los", "si", "sí", "vale", "sigue",
    "continúa", "continua", "adelante", "oui", "vas-y", "allez", "sim", "pode", "да", "давай", "продолжай", "好",
    "好的",    "继续", "是", "是的", "可以", "はい", "続けて", "お願いします", "네", "계속",
})  # fmt: skip
POLITE: Final = frozenset({
    "hi", "hello", "hey", "thanks", "thank", "thx", "great", "good", "nice", "cool", "perfect", "awesome",
    "excellent", "bye", "goodbye", "cheers", "morning", "wonderful", "amazing", "danke", "gracias", "merci",
    "obrigado", "obrigada", "grazie", "спасибо", "谢谢", "谢谢你", "ありがとう", "감사합니다", "tschüss", "tschüß",
    "dank", "perfekt", "prima", "toll", "perfecto", "genial", "parfait", "perfeito", "perfetto", "отлично",
    "ありがとうございます", "ありがとうございました", "どうも", "多谢", "고마워", "adios",
})  # fmt: skip
#: Words that accompany them.
COURTESY: Final = POLITE | frozenset({
    "you", "ty", "super", "well", "done", "evening", "afternoon", "night", "very", "much", "so", "a", "lot", "job",
    "work", "for", "today", "day", "have", "week", "weekend", "this", "the", "your", "help", "looks", "look",
    "that's", "thats", "nope", "it", "was", "is", "now", "see", "ya", "later", "all", "no", "more", "nothing", "else",
    "everything", "works", "au", "revoir", "there", "again", "everyone", "one", "nice", "vielen", "schön", "gut",
    "sehr", "muchas", "muy", "bien", "beaucoup", "muito", "mille", "большое", "очень",
})  # fmt: skip
SAYS_NOTHING: Final = ASSENT | COURTESY
#: Words of a farewell, matched against a whole sentence.
FAREWELL: Final = (
    r"(?:(?:i|we)(?:['’]?(?:ve|ll))? )?(?:gotta|got to|have to|need to|must) (?:go|run|leave|head out)(?: now)?"
    r"|(?:talk|speak)(?: to you)? (?:later|soon|tomorrow)|see you(?: (?:later|soon|tomorrow|next week|on \w+day))?"
    r"|(?:that['’]?s|that is) (?:all|it)(?: for (?:today|now))?|until (?:tomorrow|next time)|signing off|no worries"
    r"|bis (?:morgen|bald|später|dann)|schönen? (?:tag|abend|feierabend)(?: noch)?|hasta (?:luego|mañana|pronto)"
    r"|à (?:demain|bientôt|plus)|até (?:logo|amanhã)|お疲れ様(?:でした|です)?|до (?:свидания|завтра)"
)
