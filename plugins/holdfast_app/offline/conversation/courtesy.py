"""Words that request nothing: assent, questions about the state of work, thanks and greetings, in several languages."""

from __future__ import annotations

from typing import Final

ASSENT: Final = frozenset({
    "ok", "okay", "k", "yes", "y", "yeah", "yep", "yup", "sure", "go", "on", "ahead", "continue", "proceed", "resume",
    "start", "begin", "do", "it", "that", "this", "please", "now", "then", "lgtm", "approved", "agreed", "right",
    "correct", "fine", "and", "so", "keep", "going", "carry", "next", "try", "again", "retry", "all", "of", "them",
    "both", "first", "the", "let's", "lets", "where", "are", "were", "we", "you", "i", "left", "off", "stopped",
    "stand",
    "doing", "working", "from", "at", "can", "could", "pick", "up", "what", "what's", "how", "far", "current", "status",
    "yesterday", "did", "leave", "remember", "ja", "weiter", "mach", "bitte", "los", "si", "sí", "vale", "sigue",
    "continúa", "continua", "adelante", "oui", "vas-y", "allez", "sim", "pode", "да", "давай", "продолжай", "好",
    "好的", "继续", "是", "是的", "可以", "はい", "続けて", "お願いします", "네", "계속",
})  # fmt: skip
POLITE: Final = frozenset({
    "hi", "hello", "hey", "thanks", "thank", "thx", "great", "good", "nice", "cool", "perfect", "awesome", "excellent",
    "bye", "goodbye", "cheers", "morning", "wonderful", "amazing", "see", "danke", "gracias", "merci", "obrigado",
    "obrigada", "grazie", "спасибо", "谢谢", "ありがとう", "ありがとうございます", "감사합니다", "tschüss", "perfekt",
    "prima", "perfecto", "genial", "parfait", "perfeito", "perfetto", "отлично", "多谢", "고마워",
})  # fmt: skip
#: Words that accompany them.
COURTESY: Final = POLITE | frozenset({
    "you", "super", "well", "done", "evening", "afternoon", "night", "very", "much", "so", "a", "lot", "job", "work",
    "for", "today", "day", "have", "week", "weekend", "this", "the", "your", "help", "looks", "look", "that's", "thats",
    "nope", "it", "was", "is", "now", "later", "tomorrow", "all", "no", "more", "nothing", "else", "everything",
    "works", "there", "again", "everyone", "one", "vielen", "dank", "gut", "sehr", "muchas", "muito", "большое",
})  # fmt: skip
SAYS_NOTHING: Final = ASSENT | COURTESY
