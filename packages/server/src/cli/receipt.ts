import { formatCount } from '../kernel/values.ts';
import type { RouteAnswer } from './client.ts';
import { type Facts, utc } from './details.ts';

type IncidentReceipt = RouteAnswer<'POST /incidents/:id/erase'>;

/** What an erasure takes of incidents. */
export function incidentFacts(erased: IncidentReceipt['erased'] | null): Facts {
  // A service of an earlier release does not say.
  if (erased == null) return [];
  return [
    ['incidents', formatCount(erased.count)],
    ['deliveries cancelled', formatCount(erased.cancelled)],
    ['answers removed', formatCount(erased.answers)],
    ['keys removed', formatCount(erased.keys)],
  ];
}

/** What an erasure leaves behind, and until when. */
export function remainFacts(remains: IncidentReceipt['remains']): Facts {
  return remains.map(({ what, until, note }) => [
    `remains (${what})`,
    until === null ? note : `until ${utc(until)}: ${note}`,
  ]);
}
