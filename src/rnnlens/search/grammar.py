"""The language that indexes are asked in, as people read it."""

GRAMMAR = """\
question   [condition] [count [by KEY, ...]] [sort by NUMBER [asc|desc]] [limit N]
condition  condition and condition, condition or condition, not condition, (condition), or
  KIND expects THING [SIGN P]     its dominant group, with a share like that; or a label or labels,
                                  with that probability together; without P, above all others
  KIND agrees with KIND, ... [on label]      the same dominant group, or most probable label
  KIND disagrees with KIND, ... [on label]
  KIND differs from KIND [SIGN BITS]         Jensen-Shannon, 0 to 1; without BITS, > .5
  NUMBER SIGN NUMBER
  FIELD = TEXT, FIELD != TEXT, FIELD in {TEXT, ...}, FIELD like "PATTERN"
  word is GROUP, next is GROUP, word is unknown
  before condition, after condition          in the row before or after, of the same sentence
  within N [before|after] condition          in one of N rows around, before or after
THING      a GROUP, such as verb, or group "any name"; a label, such as "was"; or labels, such as
           {was, were}
FIELD      word, next (the word that came), tag, split
NUMBER     a number; surprisal (of the word that came, in bits), position (from 0), length; or
           KIND entropy, KIND share, KIND rank, KIND came, KIND surprisal, KIND differs from KIND
KEY        a FIELD, position, length, KIND (its group), or KIND label
SIGN       = != < <= > >=
KIND       as the grid names it, such as l2; c2@-1, one step back, in `differs from` alone"""
