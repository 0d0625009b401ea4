import { AppError } from '../../kernel/errors.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import type { Client, RouteAnswer, RouteInput } from '../client.ts';
import { assertCanAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { type Facts, printFacts, utc, whereAny } from '../details.ts';
import { formatBytes } from '../format.ts';
import { usage } from '../help.ts';
import { incidentFacts, remainFacts } from '../receipt.ts';
import { checkDays } from '../slice.ts';
import { verb, yesOption } from '../verb.ts';

type Request = Omit<RouteInput<'POST /enrichment/erase'>['body'], 'dry_run'>;
type Receipt = RouteAnswer<'POST /enrichment/erase'>;

export const erase = verb({
  summary: 'erase records for good: by event id, of a person, or by days',
  description:
    'Erases records for good, hot and cold: those with these event ids, those of a person, or those of these days. A person is found by a key of the enrichment and the value that stands there, as a text, as a number, or in an array. First it tells how many and asks; then it prints the receipt. With --incidents the payloads, idempotency keys and stored answers of incidents go, too: those that occurred on these days, name one of the event ids, or have the value anywhere.',
  examples: [
    'svcctl records erase --tenant TX --event-id fl-0812 fl-0813 --dry-run',
    'svcctl records erase --tenant TX --store DFW --event-id fl-0812 --incidents',
    'svcctl records erase --tenant TX --subject passenger.email=kim@example.com --incidents',
    'svcctl records erase --tenant TX --from 2001-01-01 --to 2001-01-31 --yes --json > receipt.json',
  ],
  options: [
    ['--tenant <tenant>', 'the tenant (required)'],
    ['--store <store>', 'only of this store'],
    ['--event-id <id...>', 'records with these event ids'],
    ['--subject <field=value>', 'records whose enrichment has this value at this key'],
    ['--from <date>', 'records from this day on, as 2026-03-05 (UTC)'],
    ['--to <date>', 'up to this day, inclusive'],
    ['--incidents', 'also the incidents of these events or days'],
    ['--dry-run', 'only tell what would go'],
    yesOption,
    ['--json', 'print the receipt as JSON'],
  ],
  async act(context, options) {
    const { tenant, store, eventId, from, to, incidents, dryRun, yes, json } = options;
    checkDays({ from, to });
    const subject = toSubject(options.subject);
    if (subject === undefined && (eventId === undefined) === (from === undefined)) {
      throw usage('Say what to erase: --event-id, --subject, or --from and --to.');
    }
    if (!dryRun && !yes) assertCanAsk(context, 'Erase');
    const request = { tenant, store, event_ids: eventId, subject, from, to, incidents };
    const client = await context.connect();
    if (!dryRun && !yes) await ask(context, client, request);
    const receipt = await client.json('POST /enrichment/erase', {
      body: { ...request, dry_run: dryRun },
    });
    await printFacts(context, receipt, { json, facts: () => receiptFacts(receipt) });
    tellEnd(context, receipt);
  },
});

/** Reads FIELD=VALUE; a key that holds a "=" is in quotes, as in where=. Throws `usage_invalid`. */
function toSubject(text: string | undefined): Request['subject'] {
  if (text === undefined) return undefined;
  const [, field, value] = /^((?:"(?:[^"\\]|\\.)*"|[^"=])+)=(.+)$/s.exec(text) ?? [];
  if (field !== undefined && value !== undefined) return { field, value };
  throw usage(`--subject takes FIELD=VALUE, as passenger.email=kim@example.com, not ${text}.`);
}

/** Tells what would be erased, and asks. */
async function ask(context: Context, client: Client, request: Request): Promise<void> {
  const preview = await client.json('POST /enrichment/erase', {
    body: { ...request, dry_run: true },
  });
  const { erased, hot_count: hot, cold_count: cold, not_found: missing, incidents } = preview;
  const also = incidents == null ? '' : ` and ${numberOf(incidents.count, 'incident')}`;
  if (missing.length > 0) {
    context.note(`${numberOf(missing.length, 'event id')} without a record.`);
  }
  await confirm(context, undefined, {
    question: `Erase ${numberOf(erased.count, 'record')} of ${request.tenant} (${formatCount(hot)} hot, ${formatCount(cold)} cold, ${formatBytes(erased.bytes)})${also} for good?`,
    act: 'Erase',
    refused: 'Nothing was erased.',
  });
}

function receiptFacts(receipt: Receipt): Facts {
  const { erased, store, from, to, not_found: missing } = receipt;
  const at = (time: string | null) => time && utc(time);
  return [
    [receipt.dry_run ? 'would erase' : 'erased', numberOf(erased.count, 'record')],
    ['bytes', formatCount(erased.bytes)],
    ['digest', erased.digest],
    ['hot', formatCount(receipt.hot_count)],
    ['cold', formatCount(receipt.cold_count)],
    ['tenant', receipt.tenant],
    ['store', store ?? 'all'],
    ...whereAny('days', from && `${from} … ${to}`),
    ...incidentFacts(receipt.incidents),
    ['not found', missing.length === 0 ? 'none' : missing.join(', ')],
    ['move', receipt.id],
    ['state', receipt.state],
    ['objects rewritten', formatCount(receipt.segments_rewritten)],
    ['requested', at(receipt.requested_at)],
    ['no read finds it since', at(receipt.erased_at)],
    ['old objects removed', at(receipt.objects_removed_after)],
    ...remainFacts(receipt.remains),
  ];
}

function tellEnd(context: Context, receipt: Receipt): void {
  if (receipt.dry_run) {
    context.hint('Nothing was erased: this was a dry run.');
    return;
  }
  if (receipt.state === 'failed') {
    throw new AppError('move_failed', {
      detail: `The erasure failed; the records are still there. Look: svcctl retention move ${receipt.id}`,
    });
  }
  if (receipt.erased_at === null) {
    context.note(`It is still at work. Look: svcctl retention move ${receipt.id}`);
  }
}
