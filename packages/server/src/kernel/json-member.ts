import { JsonScanner } from './json-text.ts';

export type MemberReading = {
  /**
   * The source of the member, without white space between its tokens: its numbers are spelled as they were
   * sent, which JSON.parse and stringify would bend. Undefined when there is no such member; of several
   * the last, as JSON.parse takes it.
   */
  source: string | undefined;
  /** A name that stands more than once in the object, of which JSON.parse says nothing. */
  repeated: string | undefined;
};

/** Reads one member of a JSON object. `text` is valid JSON. */
export function readMember(text: string, name: string): MemberReading {
  const scanner = new JsonScanner(text);
  const reading: MemberReading = { source: undefined, repeated: undefined };
  const names = new Set<string>();
  let position = scanner.skipSpace(0);
  if (scanner.byteAt(position) !== openBrace) return reading;
  position = scanner.skipSpace(position + 1);
  while (scanner.byteAt(position) === quote) {
    const keyEnd = scanner.scanString(position);
    const key = keyEnd < 0 ? '' : scanner.stringValue(position, keyEnd);
    const start = keyEnd < 0 ? -1 : scanner.scanColon(keyEnd);
    scanner.beginValue();
    const end = start < 0 ? -1 : scanner.scanValue(start);
    if (end < 0) return { source: undefined, repeated: undefined };
    if (names.has(key)) reading.repeated ??= key;
    names.add(key);
    if (key === name) reading.source = scanner.compact(start, end);
    position = scanner.skipSpace(end);
    if (scanner.byteAt(position) !== comma) break;
    position = scanner.skipSpace(position + 1);
  }
  return reading;
}

const openBrace = 0x7b;
const quote = 0x22;
const comma = 0x2c;
