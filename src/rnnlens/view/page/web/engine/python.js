// Python's notions of blanks, digits, quotes and numbers, where JavaScript's differ.

const BLANK = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANKS = new RegExp(`[${BLANK}]+`, "u");
const BETWEEN = new RegExp(`[${BLANK},;]+`, "u");
const FLOAT = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const SHORT = new Map([["\\", "\\\\"], ["\n", "\\n"], ["\r", "\\r"], ["\t", "\\t"]]);

/** `text.split()`. @param {string} text */
export function split(text) {
  return text.split(BLANKS).filter(Boolean);
}

/** `re.split(r"[\s,;]+", text)`, without empty pieces. @param {string} text */
export function splitNumbers(text) {
  return text.split(BETWEEN).filter(Boolean);
}

/** A text with every decimal digit, of whatever script, as one of 0 to 9. @param {string} text */
function withPlainDigits(text) {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zero = code; // digits stand in tens, and tens side by side
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
    return String((code - zero) % 10);
  });
}

/** `float(word)`; NaN where that is refused, and infinite where it is too large. @param {string} word */
export function float(word) {
  const plain = withPlainDigits(word);
  return FLOAT.test(plain) ? Number(plain.replaceAll("_", "")) : NaN;
}

/** `f"{value:.{digits}g}"` of a finite number. @param {number} value @param {number} digits */
export function general(value, digits) {
  const exact = Math.abs(value).toPrecision(100), sign = value < 0 || Object.is(value, -0) ? "-" : "";
  let [mantissa, power] = Math.abs(value).toExponential(digits - 1).split("e");
  const all = exact.replace(/e.*/, "").replace(".", "").replace(/^0+/, "");
  if (/^50*$/.test(all.slice(digits)) && Number(all[digits - 1]) % 2 === 0) { // half way: to the even digit
    [mantissa, power] = `${all[0]}.${all.slice(1, digits)}e${Math.floor(Math.log10(Math.abs(value)))}`.split("e");
  }
  const exponent = Number(power), plain = mantissa.replace(".", "");
  const short = (/** @type {string} */ text) => (text.includes(".") ? text.replace(/\.?0*$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    return `${sign}${short(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}${short(`0.${"0".repeat(-exponent - 1)}${plain}`)}`;
  return `${sign}${short(`${plain.slice(0, exponent + 1)}.${plain.slice(exponent + 1)}`)}`;
}

/** `repr(text)`. @param {string} text */
export function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\p{C}\p{Z}\\'"]/gu, (character) => {
    if (character === " " || (/['"]/.test(character) && character !== quote)) return character;
    if (character === quote) return `\\${quote}`;
    const code = character.codePointAt(0) ?? 0, hex = code.toString(16);
    const long = code < 0x100 ? `\\x${hex.padStart(2, "0")}` : code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
    return SHORT.get(character) ?? long;
  });
  return quote + inside + quote;
}
