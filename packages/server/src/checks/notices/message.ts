import type { Telling } from '../values.ts';
import type { Item } from './queries.ts';

/** What is sent to a target at once. */
export type Message = {
  /** The same on every attempt: by it a receiver tells a repetition. */
  readonly id: string;
  readonly items: readonly Item[];
  /** Whose people are told; null: operators. */
  readonly tenant: string | null;
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
        link: origin === null || place === '' ? null : `${origin}/${place}`,
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
  { items, more, createdAt, id, tenant: whose }: Message,
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
      ...(origin === null || place === '' ? [] : [`${origin}/${place}`]),
    ].join('\n');
  });
  return {
    subject: `[svcctl] ${first === undefined ? 'notices' : titleOf(first)}${others > 0 ? ` (and ${others} more)` : ''}`,
    text: [
      ...parts,
      ...(more > 0
        ? [whose === null ? `And ${more} more: svcctl notify log.` : `And ${more} more.`]
        : []),
      whose === null
        ? `--\nTold by svcctl${origin === null ? '' : ` at ${origin}`}, message ${id}. Who is told: svcctl notify ls.`
        : `--\nAbout the webhooks of ${whose}, message ${id}.`,
    ].join('\n\n'),
  };
}

function minuteOf(instant: string): string {
  return instant.slice(0, 16).replace('T', ' ');
}
