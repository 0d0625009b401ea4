import { numberKey } from './number-key.ts';

/** A text or a number in a `where`, with anything else that is quoted. */
const literal = /"(?:[^"\\]|\\.)*"?|(?<![\p{L}\p{N}_.-])-?\d[\p{L}\p{N}_.+-]*/gsu;

/** Returns a `where` without its values, which may name a person: `person.id = "…" and score > …`. */
export function maskLiterals(where: string): string {
  return where.replace(literal, (text) => (text.startsWith('"') ? '"…"' : '…'));
}

/** Whether one of these texts is a value of a `where`, or a number that it has, or stands whole in a pattern of it. */
export function namesAny(where: string, texts: readonly string[]): boolean {
  return [...where.matchAll(literal)].some(({ 0: literal, index }) => {
    if (!literal.startsWith('"')) {
      return texts.some((text) => text === literal || isSameNumber(text, literal));
    }
    const value = unquote(literal);
    if (!/\bilike\s*$/.test(where.slice(0, index))) return texts.includes(value);
    const pattern = value.replace(/\\(.)/gsu, '$1').toLowerCase();
    return texts.some((text) => mentions(pattern, text.toLowerCase()));
  });
}

const number = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

function isSameNumber(text: string, literal: string): boolean {
  return number.test(text) && number.test(literal) && numberKey(text) === numberKey(literal);
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Whether a text for people has a name in it, whole: neither its first nor its last letter or digit stands amid a word. */
export function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); name !== '' && at >= 0; at = text.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (!isAmidWord(text, at) && !isAmidWord(text, end)) return true;
  }
  return false;
}

/** Scripts that put no spaces between words: any of their letters may begin one. */
const unspaced =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

function isAmidWord(text: string, at: number): boolean {
  const beside = [...text.slice(Math.max(0, at - 2), at)]
    .slice(-1)
    .concat([...text.slice(at)][0] ?? '');
  if (beside.some((letter) => unspaced.test(letter))) return false;
  return /[\p{L}\p{N}]$/u.test(text.slice(0, at)) && /^[\p{L}\p{N}]/u.test(text.slice(at));
}
