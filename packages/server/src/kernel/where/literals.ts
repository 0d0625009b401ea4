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
      return texts.some((text) => text === literal || Number(text) === Number(literal));
    }
    const value = unquote(literal);
    if (!/\bilike\s*$/.test(where.slice(0, index))) return texts.includes(value);
    const pattern = value.replace(/\\(.)/gsu, '$1').toLowerCase();
    return texts.some((text) => mentions(pattern, text.toLowerCase()));
  });
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

function isAmidWord(text: string, at: number): boolean {
  return /[\p{L}\p{N}]$/u.test(text.slice(0, at)) && /^[\p{L}\p{N}]/u.test(text.slice(at));
}
