// What is made of JSON text by cutting it, so that integers above 2^53 and the spelling of numbers stay.
import { JsonItems, membersOf, skipSpace } from './json-items.ts';
import { type JsonFault, JsonScanner } from './json-text.ts';

/**
 * Returns the first name that stands more than once in the object itself, at the top level only; undefined when there
 * is none. JSON.parse would silently take the last of them.
 */
export function repeatedName(text: string): string | undefined {
  const names = new Set<string>();
  for (const items = new JsonItems(text); items.next(); ) {
    const { name } = items;
    if (name === null) return undefined;
    if (names.has(name)) return name;
    names.add(name);
  }
  return undefined;
}

/**
 * Returns the text of a member, without white space between its tokens; undefined when the object has no member of this
 * name.
 */
export function compactMember(text: string, name: string): string | undefined {
  const source = membersOf(text).get(name);
  if (source === undefined) return undefined;
  const scanner = new JsonScanner(source);
  scanner.beginValue();
  return scanner.compact(0, scanner.scanValue(0));
}

/**
 * What svcctl refuses in JSON text beyond its grammar, such as keys that appear twice, or nesting that is deeper than
 * `mostNesting`; null when there is nothing.
 */
export function refusalIn(text: string, mostNesting: number): JsonFault | null {
  const scanner = new JsonScanner(text, mostNesting);
  scanner.beginValue();
  scanner.scanValue(0);
  return scanner.fault;
}

/** Whether a value is nested in more than so many levels. It stops there, so its own recursion is bounded. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/**
 * Returns an object that has only these members, in this order. The text of each value stays exactly as it was; a
 * member that is absent becomes null.
 */
export function pickMembers(text: string, names: readonly string[]): string {
  const members = membersOf(text);
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name) ?? 'null'}`).join(',')}}`;
}

/**
 * Returns the same JSON spread over many lines, indented by two spaces for each level. The text of every scalar stays
 * as it was.
 */
export function indentJson(text: string, depth = 0): string {
  const first = text[skipSpace(text, 0)];
  if (first !== '{' && first !== '[') return text;
  const inner = '  '.repeat(depth + 1);
  const lines: string[] = [];
  for (const items = new JsonItems(text); items.next(); ) {
    const name = items.name === null ? '' : `${JSON.stringify(items.name)}: `;
    lines.push(inner + name + indentJson(items.value, depth + 1));
  }
  const close = first === '{' ? '}' : ']';
  if (lines.length === 0) return `${first}${close}`;
  return `${first}\n${lines.join(',\n')}\n${'  '.repeat(depth)}${close}`;
}
