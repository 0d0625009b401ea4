import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { countWithNames } from '../../retention/values.ts';
import { readSubject } from '../../retention/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { type Facts, utc, whereAny } from '../details.ts';
import { formatBytes } from '../format.ts';
import { usage } from '../help.ts';
import { incidentFacts, remainFacts } from '../receipt.ts';
import { checkDays } from '../slice.ts';
import type { Verb } from '../verb.ts';
import { readJson } from '../webhooks/read-json.ts';

type Receipt = RouteAnswer<'POST /enrichment/erase'>;

const erasing = call('POST /enrichment/erase', {
  summary: 'erase records for good: by event id, of a person, or by days',
  description:
    'Erases records for good, hot and cold: those with these event ids, those of a person, or those of these days. A person is found by a key of the enrichment and the value that stands there, as a text, as a number, or in an array. First it tells how many and asks; then it prints the receipt. With --incidents the payloads, idempotency keys and stored answers of incidents go, too: those that occurred on these days, name one of the event ids, or have the value anywhere. --receipt erases nothing: it prints the receipt of an erasure as it is now, or compares a saved one with it, and ends with 1 where they differ.',
  examples: [
    'svcctl records erase --tenant TX --event-id fl-0812 fl-0813 --dry-run',
    'svcctl records erase --tenant TX --store DFW --event-id fl-0812 --incidents',
    'svcctl records erase --tenant TX --subject passenger.email=kim@example.com --incidents --reason "ticket 4711"',
    'svcctl records erase --tenant TX --from 2001-01-01 --to 2001-01-31 --yes --json > receipt.json',
    'svcctl records erase --receipt receipt.json',
  ],
  options: [
    ['--tenant <tenant>', 'the tenant'],
    ['--store <store>', 'only of this store'],
    ['--event-id <id...>', 'records with these event ids', undefined, 'event_ids'],
    ['--subject <field=value>', 'records whose enrichment has this value at this key', subjectOf],
    ['--from <date>', 'records from this day on, as 2026-03-05 (UTC)'],
    ['--to <date>', 'up to this day, inclusive'],
    ['--incidents', 'also the incidents of these events or days'],
    ['--reason <text>', 'why: kept in the receipt and the audit log, so name nobody'],
    ['--dry-run', 'only tell what would go'],
  ],
  check({ tenant, eventId, subject, from, to }) {
    if (tenant === undefined) throw usage('--tenant is missing.');
    checkDays({ from, to });
    if (subject === undefined && (eventId === undefined) === (from === undefined)) {
      throw usage('Say what to erase: --event-id, --subject, or --from and --to.');
    }
  },
  asks: {
    foresee: ({ not_found: missing }) =>
      missing.length === 0 ? [] : [`${numberOf(missing.length, 'event id')} without a record.`],
    question(_ids, { tenant, erased, hot_count: hot, cold_count: cold, incidents }) {
      const also = incidents == null ? '' : ` and ${numberOf(incidents.count, 'incident')}`;
      return `Erase ${numberOf(erased.count, 'record')} of ${tenant} (${formatCount(hot)} hot, ${formatCount(cold)} cold, ${formatBytes(erased.bytes)})${also} for good?`;
    },
    act: 'Erase',
    refused: 'Nothing was erased.',
  },
  facts: receiptFacts,
  done: (_id, receipt) => tellUndone(receipt),
  next: ({ dry_run: isDry }) => (isDry ? 'Nothing was erased: this was a dry run.' : null),
});

const reading = call('GET /enrichment/erasures/:id', {
  summary: '',
  description: '',
  examples: [],
  argument: ['<id|file>', ''],
  async read(context, client, _options, place) {
    const read = (id: string) => client.json('GET /enrichment/erasures/:id', { params: { id } });
    if (/^(mov|ers)_\w+$/.test(place)) return read(place);
    const saved = (await readJson(context, '--receipt', `@${place}`)).value as Receipt | null;
    if (typeof saved?.id !== 'string') throw usage(`${place} is no receipt of an erasure.`);
    if (saved.erased_at === null) {
      throw usage(`${place} was saved before the erasure was done. Read it: --receipt ${saved.id}`);
    }
    const stored = await read(saved.id);
    const differing = fixedFields.filter((name) => !isDeepStrictEqual(saved[name], stored[name]));
    if (differing.length === 0) return stored;
    const told = differing.map(
      (name) =>
        `${name} is ${JSON.stringify(saved[name])} there and ${JSON.stringify(stored[name])} here`,
    );
    throw new AppError('verify_failed', {
      detail: `${place} is not what the service has of ${saved.id}: ${told.join('; ')}.`,
    });
  },
  facts: receiptFacts,
  done: (place, receipt) =>
    tellUndone(receipt) ?? (place === receipt.id ? null : `${place} is what the service has.`),
});

/** What of a receipt does not change any more once no read finds the records. */
const fixedFields = [
  ...(['dry_run', 'tenant', 'store', 'from', 'to', 'erased', 'hot_count', 'cold_count'] as const),
  ...(['segments_rewritten', 'not_found_count', 'reason', 'requested_at', 'erased_at'] as const),
  ...(['tags_removed', 'versions_changed', 'exports_removed', 'incidents'] as const),
];

/** The command that erases, and with --receipt the one that reads what an erasure has left as its proof. */
export const erase: Verb = {
  ...erasing,
  isPlain: false,
  options: [
    ...(erasing.options ?? []),
    ['--receipt <id|file>', 'only print this receipt, or compare a saved one with the service'],
  ],
  act(context, { receipt, ...options }: { receipt?: string }, ...rest) {
    if (receipt === undefined) return erasing.act(context, options as never, ...rest);
    if (Object.keys(options).some((name) => name !== 'json')) throw usage('--receipt goes alone.');
    return reading.act(context, options as never, receipt as never, rest[1]);
  },
};

/** Reads whom an erasure is about. Throws `usage_invalid`. */
function subjectOf(text: string): { field: string; value: string } {
  const subject = readSubject(text);
  if (subject !== null) return subject;
  throw usage(`--subject takes FIELD=VALUE, as passenger.email=kim@example.com, not ${text}.`);
}

/** Says of an erasure that it goes on. Throws `move_failed` when it failed. */
function tellUndone({ dry_run: isDry, state, id, erased_at: at }: Receipt): string | null {
  if (isDry || at !== null) return null;
  if (state === null) return 'Its records were not begun. If nobody is at it, erase once more.';
  const look = `Look: svcctl retention move ${id}`;
  if (state !== 'failed') return `It is still at work. ${look}`;
  const detail = `The erasure failed; the records are still there. ${look}`;
  throw new AppError('move_failed', { detail });
}

function receiptFacts(receipt: Receipt): Facts {
  const { erased, store, from, to, not_found: missing, not_found_count: missed } = receipt;
  const at = (time: string | null) => time && utc(time);
  const done = receipt.erased_at === null ? 'to erase' : 'erased';
  return [
    [receipt.dry_run ? 'would erase' : done, numberOf(erased.count, 'record')],
    ['bytes', formatCount(erased.bytes)],
    ['digest', erased.digest],
    ['hot', formatCount(receipt.hot_count)],
    ['cold', formatCount(receipt.cold_count)],
    ['tenant', receipt.tenant],
    ['store', store ?? 'all'],
    ...whereAny('days', from && `${from} … ${to}`),
    ['tags removed', formatCount(receipt.tags_removed)],
    ['versions concerned', countWithNames(receipt.versions_changed, receipt.versions)],
    ['export files removed', countWithNames(receipt.exports_removed, receipt.exports)],
    ['counts ended', countWithNames(receipt.counts_ended, receipt.counts)],
    ...incidentFacts(receipt.incidents),
    [
      'not found',
      missing.length > 0 ? missing.join(', ') : missed > 0 ? formatCount(missed) : 'none',
    ],
    ['receipt', receipt.id],
    ['state', receipt.state],
    ['objects rewritten', formatCount(receipt.segments_rewritten)],
    ['reason', receipt.reason ?? null],
    ['requested', at(receipt.requested_at)],
    ['no read finds it since', at(receipt.erased_at)],
    ['old objects removed', at(receipt.objects_removed_after)],
    ...remainFacts(receipt.remains),
  ];
}
