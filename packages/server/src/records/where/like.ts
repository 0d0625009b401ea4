/**
 * Returns a pattern of `ilike` in lower case, and which characters of a text become others before it is compared: the
 * upper-case forms of the pattern's letters. So both engines fold the same letters, whatever their own rules are.
 */
export function foldPattern(pattern: string): { folded: string; from: string; to: string } {
  const lowerOf = new Map<string, string>();
  let folded = '';
  for (const character of pattern) {
    const lower = only(character.toLowerCase()) ?? character;
    folded += lower;
    for (const form of [character, only(lower.toUpperCase())]) {
      if (form !== undefined && form !== lower && !lowerOf.has(form)) lowerOf.set(form, lower);
    }
  }
  return { folded, from: [...lowerOf.keys()].join(''), to: [...lowerOf.values()].join('') };
}

/** Returns a text that is one character, and nothing for any other: the upper case of ß is SS. */
function only(text: string): string | undefined {
  return [...text].length === 1 ? text : undefined;
}
