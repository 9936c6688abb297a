// Words as in the Penn Treebank: what NLTK's word tokeniser makes of a piece without blanks, by rules one after the other.

import { split } from "./python.js";

// Python's two ways to know a letter: its own, and that of the package that NLTK matches with.
const WORD = "[\\p{L}\\p{N}_]", LETTER = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d]";
const I = "[iıİ]", S = "[sſ]"; // what is the same as these in capitals

/** @type {[RegExp, string][] | null} */ let rules = null;

// Only once they are used: a browser that knows no lookbehind must still draw what is there without an engine.
/** @returns {[RegExp, string][]} */
const patterns = () => [
  [/([«“‘„]|`+)/gu, " $1 "],
  [/^"/u, "``"],
  [/(``)/gu, " $1 "],
  [/([ ([{<])("|'{2})/gu, "$1 `` "],
  [new RegExp(`(?<!${LETTER})'(?!(?:re|ve|ll|m|t|${S}|d|n)(?!${LETTER}))(?=${LETTER})`, "giu"), "' "],
  [/([^.])(\.)([\])}>"'»”’ ]*) *$/gu, "$1 $2 $3 "],
  [/([:,])(\P{Nd})/gu, " $1 $2"],
  [/([:,])$/gu, " $1 "],
  [/\.{2,}/gu, " $& "],
  [/[;@#$%&]/gu, " $& "],
  [/[\u2012-\u2015]/gu, " $& "],
  [/[?!]/gu, " $& "],
  [/([^'])' /gu, "$1 ' "],
  [/[*]/gu, " $& "],
  [/[\][(){}<>]/gu, " $& "],
  [/--/gu, " -- "],
  [/^.*$/su, " $& "], // so that every word has a blank before and after it
  [/([»”’])/gu, " $1 "],
  [/''/gu, " '' "],
  [/"/gu, " '' "],
  [/([^' ])('[sS]|'[mM]|'[dD]|') /gu, "$1 $2 "],
  [/([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) /gu, "$1 $2 "],
  .../** @type {[string, string][]} */ ([
    ["can", "not"], ["d", "'ye"], [`g${I}m`, "me"], ["gon", "na"], ["got", "ta"], ["lem", "me"], ["more", "'n"],
  ]).map(([first, second]) => parted(`(?<!${WORD})`, first, second, `(?!${WORD})`)),
  parted(`(?<!${WORD})`, "wan", "na", "(?= )"),
  parted(" ", "'t", `${I}${S}`, `(?!${WORD})`),
  parted(" ", "'t", `wa${S}`, `(?!${WORD})`),
];

/**
 * A word that is two.
 * @param {string} before @param {string} first @param {string} second @param {string} after
 * @returns {[RegExp, string]}
 */
function parted(before, first, second, after) {
  return [new RegExp(`${before}(${first})(${second})${after}`, "giu"), " $1 $2 "];
}

/** The words of a piece of text between blanks. @param {string} piece */
export function pennWords(piece) {
  rules ??= patterns();
  return split(rules.reduce((text, [pattern, put]) => text.replace(pattern, put), piece));
}
