import type { Telling } from '../values.ts';
import type { Item } from './queries.ts';
import type { Found } from './reconcile.ts';

/** What is sent to a target at once. */
export type Message = {
  /** The same on every attempt: by it a receiver tells a repetition. */
  readonly id: string;
  readonly items: readonly Item[];
  /** How many more notices there were. */
  readonly more: number;
  /** RFC 3339. */
  readonly createdAt: string;
};

/** The body of a webhook, the same on every attempt. `origin` is where browsers reach the console; null: unknown. */
export function toWebhookBody({ items, more, createdAt }: Message, origin: string | null): string {
  return JSON.stringify({
    type: 'svcctl.notices',
    timestamp: createdAt,
    data: {
      notices: items.map(({ place, since, ...item }) => ({
        ...item,
        since: since ?? createdAt,
        link: origin === null ? null : `${origin}/${place}`,
      })),
      more,
    },
  });
}

const openings: Readonly<Record<Telling, string>> = {
  begun: '',
  reminder: 'Still: ',
  over: 'Over: ',
  event: '',
  test: '',
};

/** Subject and text of an e-mail: what, since when, what to do, and where. */
export function toEmailText(
  { items, more, createdAt, id }: Message,
  origin: string | null,
): { subject: string; text: string } {
  const [first] = items;
  const others = items.length + more - 1;
  const titleOf = (item: Item) => `${openings[item.telling]}${item.title}`;
  const parts = items.map((item) => {
    const { severity, since, tenant, advice, place, telling } = item;
    return [
      `${severity.toUpperCase()}  ${titleOf(item)}.`,
      `Since ${minuteOf(since ?? createdAt)} UTC${tenant === null ? '' : `, tenant ${tenant}`}.`,
      ...(telling === 'over' ? [] : [advice]),
      ...(origin === null ? [] : [`${origin}/${place}`]),
    ].join('\n');
  });
  return {
    subject: `[svcctl] ${first === undefined ? 'notices' : titleOf(first)}${others > 0 ? ` (and ${others} more)` : ''}`,
    text: [
      ...parts,
      ...(more > 0 ? [`And ${more} more: svcctl notify log.`] : []),
      `--\nTold by svcctl${origin === null ? '' : ` at ${origin}`}, message ${id}. Who is told: svcctl notify ls.`,
    ].join('\n\n'),
  };
}

function minuteOf(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}

/** An export job that has ended. */
export type EndedExport = {
  readonly id: string;
  readonly tenant: string;
  readonly state: 'completed' | 'failed';
  readonly file_name: string;
  /** RFC 3339. */
  readonly finished_at: string | null;
  /** Why it failed, in a sentence. */
  readonly error: string | null;
};

const once = { ref: '', holdSeconds: 0, isRepeated: false } as const;

/** The end of an export job in words. */
export function describeExport(job: EndedExport): Found {
  const { id, tenant, state, file_name: name, finished_at: since, error } = job;
  const isDone = state === 'completed';
  return {
    ...{ ...once, subject: id, tenant, since, place: `#/exports?panel=export/${id}` },
    kind: isDone ? 'export_done' : 'export_failed',
    severity: isDone ? 'info' : 'warning',
    title: `The export ${name} of ${tenant} ${isDone ? 'is done' : 'failed'}`,
    advice: isDone
      ? `Fetch it: svcctl exports get ${id}.`
      : `${error ?? 'See why'}: svcctl exports show ${id}.`,
  };
}

/** How far the audit log is, in words: whoever keeps the message can prove later that nothing before it was changed. */
export function describeAuditHead(head: string): Found {
  return {
    ...{ ...once, kind: 'audit_head', severity: 'info', subject: head, tenant: null, since: null },
    title: `The audit log ends at ${head}`,
    advice: `Keep this message. That nothing before it has changed since is proved by: svcctl audit verify --head ${head}.`,
    place: '#/access?view=audit',
  };
}
