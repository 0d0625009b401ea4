import type { Item } from './queries.ts';

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
