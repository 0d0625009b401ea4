import type { RecordField } from '../values.ts';
import { recordFields } from '../values.ts';
import { createSpelling, type TimeUnit } from './spell-field.ts';

/** How the columns of files become records. */
export type Mapping = {
  /** The names of the columns that are fields under another name. */
  readonly columns: Readonly<Partial<Record<RecordField, string>>>;
  /** The fields that are the same in all records, as text. */
  readonly values: Readonly<Partial<Record<RecordField, string>>>;
  /** The columns that are left out. */
  readonly skipped: readonly string[];
  /** The columns of text that become numbers of the enrichment, to the letter. */
  readonly numbers?: readonly string[] | undefined;
  /** What numbers count that stand for times, since 1970. */
  readonly timeUnit: TimeUnit | undefined;
};

/** What a column is: a field of the record, a key of its enrichment, or nothing. `unknown` is neither of them. */
export type Role = RecordField | 'key' | 'skipped' | 'unknown';

/** Columns of our own exports that say what is known of a record without them. */
const derived: ReadonlySet<string> = new Set(['month', 'bytes', 'datasets']);

/** Returns what a column is: by default the field of its name, or else a key, unless one is the whole enrichment. */
export function createRoles(mapping: Mapping, hasEnrichment: boolean): (name: string) => Role {
  const { columns, skipped } = mapping;
  const mapped = new Map(
    recordFields.flatMap((field) => {
      const name = columns[field];
      return name === undefined ? [] : [[name, field] as const];
    }),
  );
  return (name) => {
    const field = mapped.get(name);
    if (field !== undefined) return field;
    if (skipped.includes(name) || name === 'recorded_at') return 'skipped';
    if (isField(name) && columns[name] === undefined) return name;
    if (!hasEnrichment) return 'key';
    return derived.has(name) ? 'skipped' : 'unknown';
  };
}

function isField(name: string): name is RecordField {
  return (recordFields as readonly string[]).includes(name);
}

/** Whether a file with these columns has one that is the whole enrichment. */
export function hasWholeEnrichment(mapping: Mapping, names: readonly string[]): boolean {
  const { columns, values, skipped } = mapping;
  if (columns.enrichment !== undefined || values.enrichment !== undefined) return true;
  return names.includes('enrichment') && !skipped.includes('enrichment');
}

/** Returns the members that are the same in all records, spelled. */
export function givenMembers({ values, timeUnit }: Mapping): string[] {
  const spell = createSpelling(timeUnit);
  return recordFields.flatMap((field) => {
    const value = values[field];
    return value === undefined ? [] : [`"${field}":${spell(field, JSON.stringify(value))}`];
  });
}

const required = ['tenant', 'store', 'event_id', 'occurred_at'] as const;

/** Returns what keeps a file with these columns from being records, in sentences. */
export function mappingFaults(mapping: Mapping, names: readonly string[]): string[] {
  const { columns, values } = mapping;
  const roleOf = createRoles(mapping, hasWholeEnrichment(mapping, names));
  const roles = names.map(roleOf);
  const faults: string[] = [];
  for (const field of recordFields) {
    const from = columns[field];
    const isHere = roles.includes(field);
    if (from !== undefined && !isHere) faults.push(`it has no column ${from} for ${field}`);
    else if (values[field] !== undefined && isHere) {
      faults.push(`it has a column ${field}, which --set ${field} would hide: --skip ${field}`);
    }
  }
  const missing = required.filter(
    (field) =>
      columns[field] === undefined && values[field] === undefined && !roles.includes(field),
  );
  for (const field of missing) {
    faults.push(
      `no column is the ${field}: --map ${field}=COLUMN, or --set ${field}=VALUE for all rows`,
    );
  }
  for (const name of mapping.numbers ?? []) {
    if (roles[names.indexOf(name)] === 'key') continue;
    const why = names.includes(name)
      ? 'it becomes no key of the enrichment'
      : 'there is no such column';
    faults.push(`--number ${name}: ${why}`);
  }
  const unknown = names.filter((_, index) => roles[index] === 'unknown');
  if (unknown.length > 0) {
    faults.push(
      `one column is the whole enrichment, so these have no place: ${unknown.slice(0, 10).join(', ')}${unknown.length > 10 ? ', …' : ''}; leave them out by --skip COLUMN`,
    );
  }
  return faults;
}
