import { AppError } from '../../kernel/errors.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import { numberOf } from '../../kernel/values.ts';
import { ApiError } from '../api-error.ts';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { spellJson } from '../parse-answer.ts';
import { withRetries } from '../retry.ts';
import { printable } from '../table.ts';
import { type Held, type Kind, nameOf, type Row, type Target } from './kinds.ts';

/** The rows of some kinds, as files have them. A kind that no file names is left alone. */
export type Wanted = ReadonlyMap<Kind, readonly Row[]>;

/** One difference between files and the service, and what mends it. */
type Step = {
  readonly sign: '+' | '~' | '-';
  readonly title: string;
  readonly lines: readonly string[];
  /** Whether something goes that does not come back. */
  readonly isGrave: boolean;
  /** Fills in what stands outside of files; what that answers does it. */
  readonly prepare: () => Promise<(on: Target) => Promise<unknown>>;
};

export type Resolve = (kind: Kind, row: Row) => Promise<Row>;

/** Finds out what has to be done so that the service has what the files say. With `prune` what no file has goes. */
export async function planSteps(
  context: Context,
  client: Client,
  { wanted, prune, resolve }: { wanted: Wanted; prune: boolean; resolve: Resolve },
): Promise<Step[]> {
  const [kept, gone]: [Step[], Step[]] = [[], []];
  for (const [kind, rows] of wanted) {
    const held = await kind.list(context, client);
    const byName = grouped(kind, held);
    for (const row of rows) {
      const found = byName.get(nameOf(kind, row)) ?? [];
      const same = found.find((one) => Object.keys(changeOf(kind, one, row)).length === 0);
      if (same !== undefined) continue;
      const [first] = found;
      kept.push(
        first
          ? changeStep(kind, first, row, resolve)
          : createStep(kind, row, { resolve, before: kind.before?.(held) }),
      );
    }
    const { remove } = kind;
    if (!prune || remove === null) continue;
    const names = new Set(rows.map((row) => nameOf(kind, row)));
    const others = held.filter(({ row }) => !names.has(nameOf(kind, row)));
    for (const one of others.filter((other) => !kind.isKept?.(other))) {
      gone.push({
        sign: '-',
        title: titleOf(kind, one.row),
        lines: [],
        isGrave: true,
        prepare: async () => (on) => remove(on.client, one),
      });
    }
  }
  return [...kept, ...gone];
}

/** The things of a kind by what files call them; several may be called alike. */
export function grouped(kind: Kind, held: readonly Held[]): Map<string, Held[]> {
  const groups = new Map<string, Held[]>();
  for (const one of held) {
    const name = nameOf(kind, one.row);
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups;
}

const titleOf = (kind: Kind, row: Row) => `${kind.one} ${nameOf(kind, row)}`;

function createStep(
  kind: Kind,
  row: Row,
  { resolve, before }: { resolve: Resolve; before: Row | undefined },
): Step {
  const whole = wholeOf(kind, row);
  const members = Object.entries(kind.fields).flatMap(([name, usual]) => {
    const value = row[name];
    return value === undefined || isSame(kind, name, value, usual)
      ? []
      : [`${name}: ${shown(kind, name, value)}`];
  });
  return {
    sign: '+',
    title: titleOf(kind, row),
    lines: members,
    isGrave: before !== undefined && (kind.takesAway?.(before, whole) ?? false),
    async prepare() {
      const resolved = await resolve(kind, whole);
      return (on) => kind.create(on, resolved);
    },
  };
}

function changeStep(kind: Kind, held: Held, row: Row, resolve: Resolve): Step {
  const change = changeOf(kind, held, row);
  const lines = Object.entries(change).map(
    ([name, value]) =>
      `${name}: ${shown(kind, name, held.actual?.[name] ?? held.row[name] ?? kind.fields[name])} → ${shown(kind, name, value)}`,
  );
  const whole = wholeOf(kind, row);
  return {
    sign: '~',
    title: titleOf(kind, row),
    lines,
    isGrave: kind.takesAway?.(held.row, whole) ?? false,
    async prepare() {
      const along = Object.keys(change).flatMap((name) => kind.goesWith?.[name] ?? []);
      const more = Object.fromEntries(along.map((name) => [name, whole[name]]));
      const sent = await resolve(kind, { ...more, ...change });
      return (on) => kind.change(on, held, sent, whole);
    },
  };
}

/** A row with what holds where it says nothing. */
function wholeOf(kind: Kind, row: Row): Row {
  const { fields, key, secret = [] } = kind;
  const names = [...key, ...Object.keys(fields), ...secret];
  const members = names.map((name) => [name, row[name] === undefined ? fields[name] : row[name]]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** The members that differ, as the row has them. */
function changeOf(kind: Kind, { row: before, actual = {} }: Held, row: Row): Row {
  const names = Object.keys(kind.fields);
  return Object.fromEntries(
    names.flatMap((name) => {
      const wanted = row[name] === undefined ? kind.fields[name] : row[name];
      if (wanted === undefined) return [];
      return isSame(kind, name, wanted, actual[name] ?? before[name]) ? [] : [[name, wanted]];
    }),
  );
}

function isSame(kind: Kind, name: string, a: unknown, b: unknown): boolean {
  const compared = kind.compared?.[name] ?? ((value: unknown) => value);
  return canonical(compared(a)) === canonical(compared(b));
}

/** JSON with the members of objects, and the texts of a list of texts, in their order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (Array.isArray(part)) {
      return part.every((one) => typeof one === 'string') ? part.toSorted() : part;
    }
    if (typeof part === 'bigint') return `${part}n`;
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** A value as people may see it: of what is secret only that which is compared. */
function shown(kind: Kind, name: string, value: unknown): string {
  const told = kind.compared?.[name]?.(value) ?? value;
  if (told == null || (Array.isArray(told) && told.length === 0)) return 'none';
  return typeof told === 'string' ? maskUrl(told) : spellJson(told);
}

export function diffLines(steps: readonly Step[]): string[] {
  return steps.flatMap(({ sign, title, lines }) => [
    printable(`${sign} ${title}`),
    ...lines.map((line) => printable(`    ${line}`)),
  ]);
}

/**
 * Does one step after the other, and prints the secrets that show only now. What the service refuses is told, and the next
 * step is done. Throws `partly_done` then, or the refusal itself when nothing was done.
 */
export async function runSteps(
  context: Context,
  client: Client,
  steps: readonly Step[],
): Promise<void> {
  const done = { '+': 0, '~': 0, '-': 0 };
  let refusal: ApiError | undefined;
  // While the service is busy a call is made again, not its step: that would do once more what it has done.
  const patient: Client = {
    ...client,
    text: (route, input) => withRetries(context.io, () => client.text(route, input)),
    json: (route, input) => withRetries(context.io, () => client.json(route, input)),
  };
  // What is missing outside of the files is missed before anything is done.
  const runs = await Promise.all(steps.map(({ prepare }) => prepare()));
  for (const [index, run] of runs.entries()) {
    const { sign, title } = steps[index] as Step;
    const tell = async (secret: string | null) => {
      if (secret !== null) await context.out.write(`${title}\t${secret}\n`);
    };
    try {
      await run({ client: patient, tell });
      done[sign] += 1;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // What somebody else has to confirm is of this step alone; another 403 would come again with each.
      const isOfStep = [400, 404, 409].includes(error.status) || error.code === 'approval_required';
      if (!isOfStep) throw error;
      refusal = error;
      context.note(printable(`✗ ${title}: ${error.detail} (${error.status} ${error.code})`));
    }
  }
  const sum = done['+'] + done['~'] + done['-'];
  context.note(`${done['+']} made · ${done['~']} changed · ${done['-']} removed`);
  if (refusal === undefined) return;
  if (sum === 0) throw refusal;
  throw new AppError('partly_done', {
    detail: `${numberOf(steps.length - sum, 'step was', 'steps were')} refused. The reasons stand above; apply again when they are mended.`,
  });
}
