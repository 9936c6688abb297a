// Limits, patterns, names and messages that the page shares with Python.
// Written by `python scripts/page_types.py` from base/rules.json: change that, not this.

export const COUNTS = {"text_characters":20000,"text_words":2000,"compared_words":4000,"rows_unasked":100,"pairs":64,"continuation_words":200,"state_labels":20,"alike_labels":3,"completions":8,"quoted_edit":80,"quoted_number":40,"quoted_numbers":60,"quoted_braces":30,"quoted_text":60,"unit_digits":12,"unit_span":65536,"gap_cost":5,"other_word_cost":9,"odds":1000,"state_digits":5,"bits_decimals":4,"odds_decimals":4,"written_decimals":5,"lens_version":1};
export const NUMBERS = {"rectangle_share":0.1,"interval":0.8,"largest_logit":1e+30,"never_logit":-1e+30,"least_bin":1e-12,"least_length":1e-30,"certain":0.9995};
export const TEXTS = {"lens_format":"rnnlens-lens","prediction":"y","embedding":"x","joined":"j","other_group":"OTHER","unknown_word":"UNK","number_word":"NUM"};
export const LISTS = {"unknown_words":["UNK","<unk>","<UNK>","[UNK]","unk"],"odds_steps":[1,2,5]};
export const COLOURS = {"ink":"#1b1b1f","grey":"#9a9aa3","gap":"#ffffff","for":"#5e3c99","against":"#b35806"};
export const PATTERNS = {"edit":"([^@\\[]+)(?:\\[([^\\]]*)\\])?@(?:([12]):)?(\\p{Nd}{1,7})([=*+-].+)","edit_push":"(?:(\\p{Nd}{1,17}(?:\\.\\p{Nd}{1,17})?(?:e[+-]?\\p{Nd}{1,3})?):)?(.+)","edit_swap":"@(\\p{Nd}{1,7})(?::(.*))?","braces":"(?<!\\\\)\\{(?:\\\\[{}]|[^{}])*(?<!\\\\)\\}","brace":"(?<!\\\\)[{}]","escaped_brace":"\\\\([{}])","numeral":"[+-]?[.,]?\\p{Nd}[\\p{Nd}.,:/-]*(?:st|nd|rd|th|%)?"};
export const NOTICES = {"too_many":"{count} {things} are too many; give at most {most}"};
