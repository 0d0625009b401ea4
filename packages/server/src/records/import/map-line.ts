import { JsonScanner } from '../../kernel/json-text.ts';
import { createRoles, givenMembers, hasWholeEnrichment, type Mapping } from './mapping.ts';
import { createSpelling, spellNumber } from './spell-field.ts';

/**
 * Returns what makes a record's line of a line of NDJSON, to the letter: members are fields, as mapped, and others keys
 * of the enrichment, or beside a whole one, for which the service refuses them. Others than objects stay. The keys of which
 * it makes numbers are added to `numbered`.
 */
export function createLineMapper(
  mapping: Mapping,
  numbered = new Set<string>(),
): (line: string) => string {
  const scanner = new JsonScanner('');
  const spell = createSpelling(mapping.timeUnit);
  const given = givenMembers(mapping);
  return (line) => {
    const members = readMembers(scanner, line);
    if (members === null) return line;
    const names = members.map(({ name }) => name);
    const hasEnrichment = hasWholeEnrichment(mapping, names);
    const roleOf = createRoles(mapping, hasEnrichment);
    const fields = [...given];
    const keys: string[] = [];
    for (const { name, spelledName, value } of members) {
      const role = roleOf(name);
      if (role === 'key') {
        const isNumber = mapping.numbers?.includes(name);
        if (isNumber) numbered.add(name);
        keys.push(`${spelledName}:${isNumber ? spellNumber(value) : value}`);
      } else if (role === 'unknown') fields.push(`${spelledName}:${value}`);
      else if (role !== 'skipped') fields.push(`"${role}":${spell(role, value)}`);
    }
    if (!hasEnrichment) fields.push(`"enrichment":{${keys.join(',')}}`);
    return `{${fields.join(',')}}`;
  };
}

type Member = { name: string; spelledName: string; value: string };

/** Reads the members of the object that a line is; null when it is none. */
function readMembers(scanner: JsonScanner, line: string): Member[] | null {
  scanner.load(line);
  const members: Member[] = [];
  let position = scanner.skipSpace(0);
  if (scanner.byteAt(position) !== 0x7b) return null;
  position = scanner.skipSpace(position + 1);
  if (scanner.byteAt(position) === 0x7d) position += 1;
  else {
    for (;;) {
      if (scanner.byteAt(position) !== 0x22) return null;
      const nameEnd = scanner.scanString(position);
      if (nameEnd < 0) return null;
      const name = scanner.stringValue(position, nameEnd);
      const start = scanner.scanColon(nameEnd);
      if (start < 0) return null;
      scanner.beginValue();
      const end = scanner.scanValue(start);
      if (end < 0) return null;
      members.push({ name, spelledName: JSON.stringify(name), value: scanner.compact(start, end) });
      position = scanner.skipSpace(end);
      const next = scanner.byteAt(position);
      position = scanner.skipSpace(position + 1);
      if (next === 0x7d) break;
      if (next !== 0x2c) return null;
    }
  }
  return scanner.skipSpace(position) === scanner.sizeBytes ? members : null;
}
