/** A text or a number in a `where`, with anything else that is quoted. */
const literal = /"(?:[^"\\]|\\.)*"?|(?<![\p{L}\p{N}_.-])-?\d[\p{L}\p{N}_.+-]*/gsu;

/** Returns a `where` without its values, which may name a person: `person.id = "…" and score > …`. */
export function maskLiterals(where: string): string {
  return where.replace(literal, (text) => (text.startsWith('"') ? '"…"' : '…'));
}

/** Whether a value of a `where` has one of these texts in it. */
export function namesAny(where: string, texts: readonly string[]): boolean {
  const literals = [...where.matchAll(literal)].map(([text]) => unquote(text));
  return literals.some((value) => texts.some((text) => value.includes(text)));
}

function unquote(text: string): string {
  try {
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  } catch {
    return text;
  }
}
