/**
 * Returns a pattern of `ilike` in lower case, and which characters of a text become others before it is compared: the
 * upper-case forms of the pattern's letters. So all who compare fold the same letters, whatever their own rules are.
 */
export function foldPattern(pattern: string): { folded: string; from: string; to: string } {
  const lowerOf = new Map<string, string>();
  for (const character of pattern) {
    const lower = only(character.toLowerCase()) ?? character;
    for (const form of [character, only(lower.toUpperCase())]) {
      if (form !== undefined && form !== lower && !lowerOf.has(form)) lowerOf.set(form, lower);
    }
  }
  // Two letters may have the same upper case, as σ and ς have: it is folded to one of them, in the pattern as in texts.
  const folded = Array.from(pattern, (character) => lowerOf.get(character) ?? character).join('');
  return { folded, from: [...lowerOf.keys()].join(''), to: [...lowerOf.values()].join('') };
}

/** Returns a text that is one character, and nothing for any other: the upper case of ß is SS. */
function only(text: string): string | undefined {
  return [...text].length === 1 ? text : undefined;
}

/**
 * Returns a function that says whether a text is what a pattern of `ilike` describes. There is no regular expression, whose
 * time could grow without bound: the worst case is the product of both lengths, and `spend` is told of each step.
 */
export function likeMatcher(
  pattern: string,
): (text: string, spend: (steps: number) => void) => boolean {
  const { folded, from, to } = foldPattern(pattern);
  const targets = [...to];
  const lowerOf = new Map([...from].map((form, index) => [form, targets[index] ?? form]));
  const tokens = [...folded.matchAll(/\\(.)|(.)/gsu)].map(([, escaped, plain]) => ({
    isMany: plain === '%',
    isOne: plain === '_',
    character: escaped ?? plain ?? '',
  }));
  return (text, spend) => {
    const characters = [...text];
    let [at, token] = [0, 0];
    /** The last `%`, and where what it stands for ends: one character later after each fault that follows it. */
    let [many, manyEnd] = [-1, 0];
    while (at < characters.length) {
      spend(1);
      const { isMany, isOne, character } = tokens[token] ?? {};
      const own = characters[at] ?? '';
      if (isMany === true) {
        [many, manyEnd] = [token, at];
        token += 1;
      } else if (isOne === true || (lowerOf.get(own) ?? own) === character) {
        at += 1;
        token += 1;
      } else if (many >= 0) {
        manyEnd += 1;
        [at, token] = [manyEnd, many + 1];
      } else {
        return false;
      }
    }
    return tokens.slice(token).every(({ isMany }) => isMany);
  };
}
