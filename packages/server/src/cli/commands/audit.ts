import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { auditFilters } from '../../access/view.ts';
import { AppError } from '../../kernel/errors.ts';
import { membersOf } from '../../kernel/json-items.ts';
import { numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { openApp, openMadeApp } from '../own-app.ts';
import { maxPageRows, parsePage } from '../pages.ts';
import { isBusy, isUnreachable, withRetries } from '../retry.ts';
import { readTimes } from '../times.ts';
import { unreadable as fileUnreadable } from '../upload.ts';
import { optionsOf, type Verbs, verb, yesOption } from '../verb.ts';

const { word, text, instant } = columnsOf<RouteAnswer<'GET /audit'>['data'][number]>();

const ls = list('GET /audit', {
  summary: 'list the audit log',
  description:
    'Lists what operators wrote and exported, newest first: who, what, when and from where. --json also tells what it was before and has become.',
  examples: [
    'svcctl audit ls --action export.',
    'svcctl audit ls --from 2026-03-01 --to 2026-03-31 --tenant TX --limit 10000',
    'svcctl audit ls --action token.revoke --json at,actor,before',
    'svcctl audit ls --text hooks.acme.example',
  ],
  filters: auditFilters,
  limit: { rows: 100 },
  columns: [
    instant('AT (UTC)', 'at'),
    text('ACTOR', (row) => row.actor.name),
    word('ACTION', 'action'),
    text('TARGET', 'target'),
    text('TENANT', 'tenant'),
    word('FROM', 'address'),
  ],
  below: { none: 'No entries match.', one: 'entry', many: 'entries' },
});

/** A text is searched from the newest on, and so not in an export. */
const { text: _text, ...exportFilters } = auditFilters;

const exportAudit = verb({
  summary: 'write the audit log as NDJSON, oldest first',
  description:
    'Writes whole entries as NDJSON in the order of their chain, the oldest first, each with its place and its hash. A later export goes on --after the last place; with --follow it never ends, and waits for a service that is away.',
  examples: [
    'svcctl audit export > audit.ndjson',
    'svcctl audit export --after 18204 --follow | logger -t svcctl-audit',
  ],
  options: [
    ['--after <place>', 'only entries after this place in the chain', wholeNumber(0)],
    ['--follow', 'go on with new entries as they come'],
    ...optionsOf(exportFilters),
  ],
  async act(context, { after = 0, follow, ...query }) {
    const times = readTimes(query, context.io.now());
    const client = await context.connect();
    // A token that is limited to tenants is told no places, and goes on by cursor.
    let from: { after: number; cursor?: string } = { after };
    let [hasBegun, isAway] = [false, false];
    for (;;) {
      const read = () =>
        client.text('GET /audit', { query: { ...query, ...times, ...from, limit: maxPageRows } });
      try {
        const answer = hasBegun ? await withRetries(context.io, read) : await read();
        [hasBegun, isAway] = [true, false];
        const { rows, nextCursor } = parsePage(answer);
        await context.out.write(rows.map((row) => `${row}\n`).join(''));
        const place = membersOf(rows.at(-1) ?? '{}').get('place') ?? from.after;
        from = nextCursor === null ? { after: Number(place) } : { after, cursor: nextCursor };
        if (rows.length === maxPageRows) continue;
        if (follow === undefined) return;
      } catch (error) {
        if (follow === undefined || !hasBegun || !(isBusy(error) || isUnreachable(error)))
          throw error;
        if (!isAway) context.note(`${error.message} It goes on when the service is back.`);
        isAway = true;
      }
      await context.io.sleep(followMillis, context.io.signal);
    }
  },
});

const followMillis = 2_000;

const verify = call('POST /audit/verify', {
  summary: 'prove that no entry was changed, removed or inserted',
  description:
    'Computes the hash of each entry anew, and names those that were changed, removed or inserted past svcctl. Against somebody who computes all hashes anew, the service seals the chain every two seconds with a key that the database does not hold. The same prove a head that this printed and somebody kept elsewhere, and what was exported, or copied by SVC_AUDIT_COPY_URL.',
  examples: [
    'svcctl audit verify',
    'svcctl audit verify --json head > audit-head.json',
    'svcctl audit verify --against audit/2026-03-05/*.ndjson',
    "svcctl audit verify --against 's3://audit-log/svcctl?region=eu-central-1'",
    'svcctl audit verify --head 18204:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
  ],
  options: [
    ['--head <place:hash>', 'this entry must still be there, as an earlier verification told it'],
    [
      '--against <place...>',
      'the newest entry there must still be in the log: files as audit export writes them, or the folder or s3://… of SVC_AUDIT_COPY_URL',
    ],
  ],
  check({ head, against }) {
    if (head !== undefined && against !== undefined) {
      throw usage('--head and --against exclude each other.');
    }
  },
  body: async ({ head, against }, context) => ({
    head: against === undefined ? head : await readHead(context, against),
  }),
  prints({ ok, entries, pruned_place: place, head, seal, problems }) {
    if (!ok) return problems.map(({ message }) => message).join('\n');
    const pruned = place === 0 ? '' : `, those up to place ${place} pruned by age`;
    const sealed =
      seal === null
        ? 'not sealed'
        : `sealed up to ${seal.place} since ${seal.since}, key ${seal.key_id}`;
    return `ok: ${numberOf(entries, 'entry', 'entries')}${pruned} · ${sealed} · head ${head}`;
  },
  done(_id, { ok, problem_count: count }) {
    if (ok) return null;
    throw new AppError('verify_failed', {
      detail: `The audit log is not as it was written: ${numberOf(count, 'difference', 'differences')}. Change nothing; compare with a copy from elsewhere first: svcctl audit verify --against FILE.`,
    });
  },
});

/**
 * The newest entry in files of entries, as `place:hash`: it proves all before it. Throws `verify_failed` when the files
 * have two entries of one place, so that they are copies of two logs, and `file_unreadable`.
 */
async function readHead(context: Context, places: readonly string[]): Promise<string> {
  // The first 48 bits of each hash: a log may have millions.
  const begins = new Map<number, number>();
  let newest = { place: 0, hash: '' };
  for (const given of places) {
    const own = { least: Number.MAX_SAFE_INTEGER, most: 0 };
    const isWhole = await isCopy(context, given);
    for await (const { name, path } of isWhole
      ? filesOf(context, given)
      : [fileOf(context, given)]) {
      for await (const line of readLines(path)) {
        if (line === '') continue;
        const { place, hash } = parseLine(name, line);
        const begin = Number.parseInt(hash.slice(0, 12), 16);
        if ((begins.get(place) ?? begin) !== begin) {
          throw new AppError('verify_failed', {
            detail: `The files have two entries of place ${place}. They are of two logs: was the database set back in between?`,
          });
        }
        begins.set(place, begin);
        if (place > newest.place) newest = { place, hash };
        own.least = Math.min(own.least, place);
        own.most = Math.max(own.most, place);
      }
    }
    if (isWhole) tellGap(context, begins, { ...own, given });
  }
  if (newest.place === 0) throw unreadable(places.join(', '), 'holds no entry');
  return `${newest.place}:${newest.hash}`;
}

/** Whether it is not a file, but all that SVC_AUDIT_COPY_URL has written. */
async function isCopy({ io }: Context, place: string): Promise<boolean> {
  if (/^[a-z0-9]+:\/\//i.test(place)) return true;
  const found = await stat(resolve(io.cwd, place)).catch(() => null);
  return found?.isDirectory() === true;
}

const fileOf = ({ io }: Context, file: string) => ({ name: file, path: resolve(io.cwd, file) });

async function* filesOf(context: Context, place: string) {
  const { app } = await openApp(context);
  yield* app.readAuditCopy(place, context.io);
}

/** Says that entries are missing between others of a copy, which the chain does not: it is about the log alone. */
function tellGap(
  context: Context,
  found: ReadonlyMap<number, number>,
  { least, most, given }: { least: number; most: number; given: string },
): void {
  for (let place = least; place < most; place += 1) {
    if (found.has(place)) continue;
    context.note(
      `${given.replace(/[?].*/s, '')} lacks the entry of place ${place}, and perhaps others after it: somebody removed objects there, or they were pruned while nothing was copied.`,
    );
    return;
  }
}

const longestLine = 4 * 1024 * 1024;

/** The lines of a file; one that is longer than an entry can be is the last, and cut. */
async function* readLines(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const text of createReadStream(path, 'utf8')) {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
      if (rest.length > longestLine) break;
    }
  } catch (cause) {
    throw fileUnreadable(path, cause);
  }
  yield rest;
}

function parseLine(file: string, line: string): { place: number; hash: string } {
  try {
    const { place, hash } = JSON.parse(line) as { place: unknown; hash: unknown };
    const isPlace = typeof place === 'number' && Number.isSafeInteger(place) && place > 0;
    if (isPlace && typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)) return { place, hash };
  } catch {
    // Said below.
  }
  throw unreadable(file, 'has a line that is no entry of the audit log with its place and hash');
}

function unreadable(file: string, what: string): AppError {
  return new AppError('file_unreadable', { detail: `${file} ${what}.` });
}

const reseal = verb({
  summary: 'seal the audit log as it is now, whatever was sealed before',
  description:
    'Begins a new seal where the log ends now, once it is known why it was not what had been sealed: the database was set back, or somebody changed the log past svcctl. The log keeps that this was done. It reads the database of the settings itself.',
  examples: ['svcctl audit reseal', 'svcctl audit reseal --yes'],
  options: [yesOption],
  async act(context, { yes }) {
    const { settings, app, log } = await openMadeApp(context);
    await confirm(context, yes, {
      question: 'Take the audit log as it is now for what it should be?',
      act: 'Seal it',
    });
    const { place, key } = await app.resealAudit(settings, log);
    context.note(`Sealed from place ${place} on with the key ${key}.`);
  },
});

export const audit: Verbs = { ls, export: exportAudit, verify, reseal };
