import { AppError } from '../../kernel/errors.ts';
import type { Gate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/segment.ts';
import { checkLate, nothingChecked } from './late-check.ts';
import type { Part, PartOutcome, PartRow } from './part.ts';
import { findStored } from './queries.ts';

/** If days change their place this often in a row while they are looked at, something is wrong. */
const maxAttempts = 5;

/**
 * Tells what would become of a part if it were stored now, and stores nothing. Throws 500 `segment_damaged` or 503
 * `cold_tier_unavailable`, as storing would.
 */
export async function foreseePart(
  db: Database,
  part: Part,
  { cold, transactions, lateChecks }: { cold: ColdReader; transactions: Gate; lateChecks: Gate },
): Promise<PartOutcome> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const { cold_days: days, ...hot } = await transactions.run(() => findStored(db, part));
    const late =
      days === null
        ? nothingChecked
        : await lateChecks.run(() => checkLate(db, cold, { part, days }));
    // A day that was cold a moment ago, and has no segment now, is looked for once more.
    if (late.days.size < (days?.length ?? 0)) continue;
    const duplicates = new Set(hot.duplicates);
    const conflicts = new Set(hot.conflicts);
    // What was hot at first, and was moved before its segment was searched, is found twice; a set takes it once.
    for (const ordinal of late.found) {
      (late.conflicts.has(ordinal) ? conflicts : duplicates).add(ordinal);
    }
    return addRepeats(part, duplicates, conflicts);
  }
  throw new AppError('cold_tier_unavailable', {
    detail: 'Where the records of these days lie keeps changing. Try again in a few seconds.',
    retryAfterSeconds: 5,
  });
}

/** Tells what would become of a part where nothing is stored yet: only what it repeats itself is found. */
export function foreseeAlone(part: Part): PartOutcome {
  return addRepeats(part, new Set(), new Set());
}

/** Adds the rows that repeat an earlier one of the part which would be stored. */
function addRepeats(part: Part, duplicates: Set<number>, conflicts: Set<number>): PartOutcome {
  const firsts = new Map<string, PartRow>();
  for (const [ordinal, row] of part.rows.entries()) {
    if (duplicates.has(ordinal) || conflicts.has(ordinal)) continue;
    const { tenant, store, occurredAtMicros, eventId } = row.record;
    // It is unique, because tenants and stores hold no "/".
    const identity = `${tenant}/${store}/${occurredAtMicros}/${eventId}`;
    const first = firsts.get(identity);
    if (first === undefined) firsts.set(identity, row);
    else (hasSameContent(first, row) ? duplicates : conflicts).add(ordinal);
  }
  return { duplicates: [...duplicates], conflicts: [...conflicts] };
}

function hasSameContent(a: PartRow, b: PartRow): boolean {
  const fields = ['kind', 'source', 'model', 'confidence', 'enrichment'] as const;
  return a.digest === b.digest && fields.every((name) => a.record[name] === b.record[name]);
}
