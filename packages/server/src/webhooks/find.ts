import { type Actor, hasScope } from '../kernel/actor.ts';
import type { SoughtInBoth, SoughtText } from './find-queries.ts';
import { laneOfDelivery } from './lanes.ts';
import type { SearchKind } from './scan.ts';

/** What ids name: something that an index finds, or what takes a look at each row. */
type Named = {
  endpointId?: string | undefined;
  incidentId?: string | undefined;
  deliveryId?: { lane: number; id: string } | undefined;
  otherId?: string | undefined;
};

/** What a list finds by an id of any kind, beside its own filters by id; null when both cannot hold. */
export function namedBy({
  id,
  endpoint_id: endpointId,
  incident_id: incidentId,
}: {
  id?: string | undefined;
  endpoint_id?: string | undefined;
  incident_id?: string | undefined;
}): Named | null {
  const given = { endpointId, incidentId };
  if (id === undefined) return given;
  if (/^ep_[0-9A-Za-z]{16}$/.test(id)) {
    return endpointId === undefined || endpointId === id ? { ...given, endpointId: id } : null;
  }
  if (/^inc_[0-9A-Za-z]{16}$/.test(id)) {
    return incidentId === undefined || incidentId === id ? { ...given, incidentId: id } : null;
  }
  const lane = laneOfDelivery(id);
  return lane === null ? { ...given, otherId: id } : { ...given, deliveryId: { lane, id } };
}

/** Answers of receivers are searched for those alone who may read them. */
export function soughtText(text: string | undefined, actor: Actor): SoughtText | undefined {
  return text === undefined ? undefined : { text, isInAnswers: hasScope(actor, 'webhooks:read') };
}

export function searchKindOf(sought: Pick<SoughtInBoth, 'text'>): SearchKind {
  if (sought.text !== undefined) return 'text';
  return Object.values(sought).some((value) => value !== undefined) ? 'rows' : 'none';
}

/** What is told of a list in which nothing can be. */
export const foundNothing = { total: 0, searched_to: null };
