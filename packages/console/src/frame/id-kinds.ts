import type { Scope } from '../api/values.ts';

/** All kinds of ids that the product prints, by what people paste most: what such an id names, and who may look it up. */
export const idKinds = [
  { prefix: 'dlv', noun: 'delivery', scope: 'webhooks:read' },
  { prefix: 'msg', noun: 'idempotency key', scope: 'admin' },
  { prefix: 'inc', noun: 'incident', scope: 'incidents:read' },
  { prefix: 'ep', noun: 'endpoint', scope: 'webhooks:read' },
  { prefix: 'exp', noun: 'export', scope: 'analytics:read' },
  { prefix: 'ver', noun: 'dataset version', scope: 'enrichment:read' },
  { prefix: 'cnt', noun: 'count of records', scope: 'enrichment:read' },
  { prefix: 'tag', noun: 'tag', scope: 'enrichment:read' },
  { prefix: 'mov', noun: 'move', scope: 'enrichment:read' },
  { prefix: 'run', noun: 'retention run', scope: 'enrichment:read' },
  { prefix: 'vrf', noun: 'verification', scope: 'enrichment:read' },
  { prefix: 'rty', noun: 'bulk retry', scope: 'dlq:operate' },
  { prefix: 'prg', noun: 'bulk purge', scope: 'dlq:operate' },
  { prefix: 'rpl', noun: 'replay', scope: 'dlq:operate' },
  { prefix: 'tok', noun: 'access token', scope: 'audit:read' },
  { prefix: 'seg', noun: 'segment', scope: 'enrichment:read' },
  { prefix: 'job', noun: 'backlog job', scope: 'admin' },
  { prefix: 'req', noun: 'request', scope: 'admin' },
] as const satisfies readonly { prefix: string; noun: string; scope: Scope }[];

/** The ids of events have no form of their own, so they come after this word. */
export const eventWord = 'event';

const events = { prefix: eventWord, noun: 'event', scope: 'enrichment:read' } as const;

/** One kind of id. */
export type IdKind = (typeof idKinds)[number] | typeof events;

/** The kind of an id that is pasted, also one that is not whole; undefined for any other text. */
export function idKindOf(text: string): IdKind | undefined {
  if (eventIdOf(text) !== undefined) return events;
  const [, prefix] = /^([a-z]+)_\w+$/.exec(text.trim()) ?? [];
  return idKinds.find((kind) => kind.prefix === prefix);
}

/** The id of an event after its word. */
export function eventIdOf(text: string): string | undefined {
  return new RegExp(`^${eventWord} +(\\S.*)$`, 'i').exec(text.trim())?.[1];
}

/** Whether an id was copied as lists show it, with its middle left out: `dlv…7Kq2`. */
export function isCutId(text: string): boolean {
  return /^[a-z]{2,4}_?(…|\.\.\.)\w+$/i.test(text.trim());
}

/** Whether a text is a secret, which must not be looked up nor remembered. */
export function isSecret(text: string): boolean {
  return /^(svc|whsec)_/.test(text.trim());
}
