import { InvalidArgumentError } from 'commander';
import { dayMillis } from '../../kernel/day.ts';
import { numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { Client, RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { type Facts, type Times, whereAny } from '../details.ts';
import { formatBytes, formatRelative } from '../format.ts';
import { usage, wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import { walkRows } from '../pages.ts';
import { type Noun, verb, yesOption } from '../verb.ts';

export type Policy = RouteAnswer<'GET /retention/policies/:tenant'>;

const { word, text, count, ago } = columnsOf<Policy>();

const ls = list('GET /retention/policies', {
  summary: 'list the policies',
  description: 'Lists the default (*) and the tenants that have a policy of their own.',
  examples: ['svcctl retention policy ls', 'svcctl retention policy ls --json tenant,hold'],
  columns: [
    text('TENANT', 'tenant'),
    count('HOT', 'hot_days', { shown: (policy) => numberOf(policy.hot_days, 'day') }),
    count('DELETED AFTER', (policy) => policy.delete_days ?? 'never', {
      shown: (policy) => deleteText(policy.delete_days),
    }),
    word('HOLD', (policy) => (policy.hold ? 'hold' : ''), {
      shown: (policy) => (policy.hold ? 'legal hold' : '–'),
    }),
    ago('CHANGED', 'updated_at'),
    text('BY', 'updated_by'),
  ],
  below: () => '* = all without one of their own · change: svcctl retention policy set TENANT',
});

const show = call('GET /retention/policies/:tenant', {
  summary: 'show the policy in force for a tenant',
  description: 'Shows the policy in force for a tenant: its own, or else the default (*).',
  argument: ['<tenant>', 'the tenant, or "*"'],
  examples: [
    'svcctl retention policy show TX',
    'svcctl retention policy show "*" --json hot_days,delete_days',
  ],
  facts: policyFacts,
});

type Change = Pick<Policy, 'hot_days' | 'delete_days' | 'hold'>;

/** Changes the policy of a tenant. What no option names keeps its present value. */
const set = call('PUT /retention/policies/:tenant', {
  summary: 'set the policy of a tenant, or the default',
  description:
    'Sets the policy of a tenant, or the default ("*"); what is not given stays as it is in force now. When more would be deleted by it, it tells what and asks. A policy acts at the next run.',
  argument: ['<tenant>', 'the tenant, or "*"'],
  examples: [
    'svcctl retention policy set TX --hot-days 7',
    'svcctl retention policy set "*" --hot-days 3 --delete-days 365',
    'svcctl retention policy set TX --hold',
    'svcctl retention policy set TX --delete-days never --no-hold --yes',
  ],
  options: [
    ['--hot-days <days>', 'whole days older than this move to the cold tier', wholeNumber(0)],
    ['--delete-days <days>', 'whole days older than this are deleted, or never', readDays],
    ['--hold', 'legal hold: nothing is moved, deleted or erased'],
    ['--no-hold', 'lift the legal hold'],
    yesOption,
    ['--json', 'print it as JSON'],
  ],
  check({ hotDays, deleteDays, hold }) {
    if (hotDays === undefined && deleteDays === undefined && hold === undefined) {
      throw usage('Say what to set: --hot-days, --delete-days, --hold or --no-hold.');
    }
  },
  async read(context, client, { hotDays, deleteDays, hold, yes }, tenant) {
    const params = { tenant };
    const now = await client.json('GET /retention/policies/:tenant', { params });
    const change: Change = {
      hot_days: hotDays ?? now.hot_days,
      delete_days:
        deleteDays === undefined ? now.delete_days : deleteDays === 'never' ? null : deleteDays,
      hold: hold ?? now.hold,
    };
    const more = await tellWhatGoes(context, client, { tenant, now, next: change });
    if (more.due > 0) await ask(context, yes, { question: 'Set it all the same?', act: 'Set it' });
    // What somebody else sets while this is asked, such as a hold, is not overwritten.
    const body = { ...change, if_updated_at: now.updated_at };
    return client.json('PUT /retention/policies/:tenant', { params, body });
  },
  facts: policyFacts,
  next: () => 'It acts at the next run. What that will do: svcctl retention plan',
});

/** Tells what would be deleted because of a shorter life or a lifted hold, and how many records that is. */
async function tellWhatGoes(
  context: Context,
  client: Client,
  { tenant, now, next }: { tenant: string; now: Policy; next: Change },
): Promise<{ due: number; isShorter: boolean; endsHold: boolean }> {
  const { delete_days: deleteDays, hold } = next;
  const isShorter =
    deleteDays !== null && (now.delete_days === null || deleteDays < now.delete_days);
  const endsHold = now.hold && !hold;
  const told = { due: 0, isShorter, endsHold };
  if (deleteDays === null || hold || !(isShorter || endsHold)) return told;
  const due = await measureDue(context, client, { tenant, deleteDays });
  if (due.count > 0) context.note(`The next run would DELETE ${dueText(due)}.`);
  return { ...told, due: due.count };
}

function ask(
  context: Context,
  yes: true | undefined,
  asked: { question: string; act: string },
): Promise<void> {
  return confirm(context, yes, { ...asked, refused: 'The policy is as it was.' });
}

function readDays(text: string): number | 'never' {
  if (text === 'never') return 'never';
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It is neither a whole number of days from 1 on, nor never.');
}

const rm = verb({
  summary: 'put a tenant back under the default',
  description:
    'Removes the policy of a tenant: the default (*) is in force for it again. When more would be deleted by that, or a legal hold ends, it tells so and asks.',
  argument: ['<tenant>', 'the tenant'],
  examples: ['svcctl retention policy rm TX', 'svcctl retention policy rm TX --yes'],
  options: [yesOption],
  async act(context, { yes }, tenant) {
    const client = await context.connect();
    const own = await client.json('GET /retention/policies/:tenant', { params: { tenant } });
    const next = await client.json('GET /retention/policies/:tenant', { params: { tenant: '*' } });
    const { isShorter, endsHold } = await tellWhatGoes(context, client, { tenant, now: own, next });
    const question = endsHold
      ? `End the legal hold of ${tenant}?`
      : `Put ${tenant} under the default?`;
    if (isShorter || endsHold) await ask(context, yes, { question, act: 'Remove it' });
    const query = { if_updated_at: own.updated_at };
    await client.json('DELETE /retention/policies/:tenant', { params: { tenant }, query });
    context.note(`${tenant} is under the default (*) now.`);
  },
});

function policyFacts(policy: Policy, { nowMillis }: Times): Facts {
  const { tenant, from_default: isDefault, hold, updated_by: by } = policy;
  return [
    ['tenant', tenant === '*' ? '* (the default of all without one of their own)' : tenant],
    ...whereAny('policy', isDefault && tenant !== '*' ? 'the default (*)' : null),
    ['hot', numberOf(policy.hot_days, 'day')],
    ['deleted after', deleteText(policy.delete_days)],
    ['legal hold', hold ? 'yes: nothing is moved, deleted or erased' : 'no'],
    ['changed', `${formatRelative(policy.updated_at, nowMillis)}${by === null ? '' : ` by ${by}`}`],
  ];
}

function deleteText(days: number | null): string {
  return days === null ? 'never' : numberOf(days, 'day');
}

type Due = { count: number; bytes: number; tenants: number; lastDay: string };

const earliest = '1970-01-01';

/**
 * Measures what a policy that deletes after this many days would delete: of one tenant, or of all tenants that have the
 * default policy.
 */
async function measureDue(
  context: Context,
  client: Client,
  { tenant, deleteDays }: { tenant: string; deleteDays: number },
): Promise<Due> {
  const lastDay = new Date(context.io.now() - (deleteDays + 1) * dayMillis)
    .toISOString()
    .slice(0, 10);
  const due: Due = { count: 0, bytes: 0, tenants: 0, lastDay };
  if (lastDay < earliest) return due;
  const names = tenant === '*' ? tenantsUnderDefault(context, client) : [tenant];
  for await (const name of names) {
    const { rows, bytes } = await client.json('GET /exports/estimate', {
      query: { tenant: name, from: earliest, to: lastDay },
    });
    if (rows === 0) continue;
    due.count += rows;
    due.bytes += bytes;
    due.tenants += 1;
  }
  return due;
}

/** What would be deleted: `1,204 records (611 kB) of 1 tenant, up to 2001-01-31`. */
function dueText({ count, bytes, tenants, lastDay }: Due): string {
  return `${numberOf(count, 'record')} (${formatBytes(bytes)}) of ${numberOf(tenants, 'tenant')}, up to ${lastDay}`;
}

async function* tenantsUnderDefault(context: Context, client: Client): AsyncGenerator<string> {
  const walk = { route: 'GET /retention/tenants', query: {} } as const;
  for await (const { tenant, policy } of walkRows(context.io, client, walk)) {
    if (policy.from_default) yield tenant;
  }
}

export const policy: Noun = {
  summary: 'how long records stay hot, and how long at all',
  verbs: { ls, show, set, rm },
};
