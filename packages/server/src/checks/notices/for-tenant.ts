import type { NoticeKind } from '../values.ts';
import type { Item } from './queries.ts';

/** What a tenant's people do, who have neither the command line nor the console. */
const advices = {
  endpoints_failing:
    'What is not delivered is tried again by its schedule. The last error of the endpoint says why it fails.',
  endpoints_gone: 'What comes for it waits. Give it another URL and enable it, or delete it.',
  endpoints_disabling: 'What comes for it then waits. One success prevents it.',
  endpoints_disabled: 'What comes for it waits. Enable it when its receiver works.',
  endpoints_held: 'Enable the endpoint to get them, or discard them.',
  endpoints_full:
    'They are kept for some days. Let the endpoint take what waits, or discard it; then replay what it has missed.',
  endpoints_unpolled: 'What comes for it waits until something polls it.',
  endpoints_blocked:
    'The endpoint lists its blocked keys. Retry what was given up, or skip it, which lets the next go.',
  endpoints_certificate:
    'From then on nothing is delivered. Give the endpoint the next one, with its key.',
} as const satisfies Record<Extract<NoticeKind, `endpoints_${string}`>, string>;

/** Whether a tenant may be told of it: only of its endpoints. */
export function isForTenants(kind: NoticeKind): kind is keyof typeof advices {
  return kind in advices;
}

/** A notice as the people of its tenant are told it: without commands, and without a link into the console. */
export function toTenantItem(item: Item): Item {
  return { ...item, advice: isForTenants(item.kind) ? advices[item.kind] : '', place: '' };
}
