import { JsonScanner } from './json-text.ts';

/**
 * The source of a member of a JSON object, without white space between its tokens: its numbers are
 * spelled as they were sent, which JSON.parse and stringify would bend. Undefined when it has no such
 * member; of several the last, as JSON.parse takes it. `text` is valid JSON.
 */
export function memberSource(text: string, name: string): string | undefined {
  const scanner = new JsonScanner(text);
  let found: string | undefined;
  let position = scanner.skipSpace(0);
  if (scanner.byteAt(position) !== openBrace) return undefined;
  position = scanner.skipSpace(position + 1);
  while (scanner.byteAt(position) === quote) {
    const keyEnd = scanner.scanString(position);
    const isWanted = keyEnd > 0 && scanner.stringValue(position, keyEnd) === name;
    const start = keyEnd < 0 ? -1 : scanner.scanColon(keyEnd);
    scanner.beginValue();
    const end = start < 0 ? -1 : scanner.scanValue(start);
    if (end < 0) return undefined;
    if (isWanted) found = scanner.compact(start, end);
    position = scanner.skipSpace(end);
    if (scanner.byteAt(position) !== comma) break;
    position = scanner.skipSpace(position + 1);
  }
  return found;
}

const openBrace = 0x7b;
const quote = 0x22;
const comma = 0x2c;
