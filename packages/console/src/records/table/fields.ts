import { membersOf } from '../../api/values.ts';

/** The way to a field of an enrichment: the names of the members. */
export type FieldPath = readonly string[];

/** So many fields are offered as columns, and looked for in so much text. */
const mostFields = 60;
const mostCharacters = 500_000;
const deepest = 4;

/** Finds the fields of some enrichments that have one value, in the order in which they come. */
export function findFields(enrichments: readonly string[]): FieldPath[] {
  const found = new Map<string, FieldPath>();
  let left = mostCharacters;
  for (const text of enrichments) {
    left -= text.length;
    if (left < 0) break;
    walk(text, [], found);
  }
  return [...found.values()].slice(0, mostFields);
}

function walk(text: string, path: FieldPath, found: Map<string, FieldPath>): void {
  for (const [name, value] of membersOf(text)) {
    const own = [...path, name];
    const first = value[0];
    if (first === '{' && own.length < deepest) walk(value, own, found);
    else if (first !== '{' && first !== '[') found.set(JSON.stringify(own), own);
  }
}

/** The value of a field as it was sent: texts without their quotes; null where there is none. */
export function fieldOf(enrichment: string, path: FieldPath): string | null {
  let text: string | undefined = enrichment;
  for (const name of path) {
    if (text?.[0] !== '{') return null;
    text = membersOf(text).get(name);
  }
  if (text === undefined || text === 'null') return null;
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
