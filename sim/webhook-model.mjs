import { wheres } from './values.mjs';

/** Begins the webhook-ids of copies that only make a backlog long. */
export const copyPrefix = 'copy_';

/**
 * What an endpoint wants: types, or the beginning of some, stores and one of `wheres`.
 *
 * @typedef {{ types: string[], stores: string[] | null, where: number }} Wanted
 */

/** Endpoints, incidents and what may become of their deliveries. */
export class WebhookModel {
  /**
   * @type {Map<string, { id: string, tenant: string, path: string, wanted: Wanted, past: Wanted[], ordered: string,
   *   secrets: string[], areSecretsKnown: boolean, isDeleted: boolean, isUnsure?: boolean, changedAt: number,
   *   subscribedAt: number, madeUpTo: number, poll: import('./poll-model.mjs').PollModel | null }>} `past`: what each has wanted before;
   *   `madeUpTo`: a replay has ended that sent what it missed of all that was reported before
   */
  endpoints = new Map();
  /** By the caller's key. @type {Map<string, any>} */
  incidents = new Map();
  /** By webhook-id. @type {Map<string, any>} */
  deliveries = new Map();
  /** What was asked of many deliveries: of which, what it does, and until when it may find what was reported. */
  #sweeps = [];
  #tick = 0;

  now() {
    this.#tick += 1;
    return this.#tick;
  }

  /** The secrets that sign for this path; null when nobody was told them, or not all. */
  secretsOf(path) {
    const endpoint = [...this.endpoints.values()].find((each) => each.path === path);
    return endpoint?.areSecretsKnown ? endpoint.secrets : null;
  }

  /** The incident was acknowledged. Answers what must not be. */
  accept(incident, { id: incidentId, deliveries: answered, held_back: heldBack = [] }, startedAt) {
    const deliveries = answered.filter((row) => !row.idempotency_key.startsWith(copyPrefix));
    const told = deliveries
      .map((row) => row.id)
      .toSorted()
      .join();
    const held = new Set(heldBack);
    const known = incident.answer;
    const isSame = known?.id === incidentId && known.told === told && known.held.size === held.size;
    if (known !== undefined && isSame) return [];
    if (known !== undefined) {
      return [
        `incident ${incident.key} was answered as ${incidentId} (${told}), and before as ${known.id} (${known.told})`,
      ];
    }
    // It may be there since its first report, which was lost.
    const since = incident.startedAt ?? startedAt;
    const present = new Set(deliveries.map((row) => row.endpoint_id));
    incident.answer = { id: incidentId, told, held, endpoints: present, at: this.now() };
    for (const { id, endpoint_id: endpointId, idempotency_key: webhookId } of deliveries) {
      const mayGo = this.endpoints.get(endpointId)?.isDeleted === true;
      const delivery = { id, webhookId, endpointId, incident, mayGo, retries: 0 };
      this.deliveries.set(webhookId, delivery);
      for (const { isMeant, act, endedAt } of this.#sweeps)
        if (since < endedAt && isMeant(delivery)) act(delivery);
    }
    return this.#judgeChosen(incident, startedAt);
  }

  /** Whether an incident went to those that want it, or is held back from them, and to no others. */
  #judgeChosen(incident, startedAt) {
    const faults = [];
    const { id: incidentId, endpoints: present, held } = incident.answer;
    for (const endpoint of this.endpoints.values()) {
      const { id, isDeleted, isUnsure, changedAt } = endpoint;
      if (present.has(id) && held.has(id))
        faults.push(`${incidentId} went to ${id}, and is held back`);
      // What changed while it was reported may be seen before or after; so may what changed since a report that was lost.
      if (isUnsure || changedAt >= startedAt || incident.isRepeated) continue;
      const isMeant = !isDeleted && wants(endpoint, incident);
      if (isMeant === (present.has(id) || held.has(id))) continue;
      faults.push(
        `${incidentId} of ${incident.tenant} ${isMeant ? 'did not go' : 'went'} to ${id}`,
      );
    }
    return faults;
  }

  /** Whatever waits for this endpoint may be discarded from now on, until `end` also what is reported. */
  beginDiscard(endpointId) {
    return this.beginPurge((delivery) => delivery.endpointId === endpointId);
  }

  /** These deliveries may be given up from now on, until `end` also those that are reported. */
  beginPurge(isMeant) {
    return this.#beginSweep(isMeant, (delivery) => {
      delivery.mayGo = true;
      delivery.incident.mayBePurged = true;
    });
  }

  /** These deliveries may be sent again. */
  beginRetry(isMeant) {
    return this.#beginSweep(isMeant, (delivery) => {
      delivery.retries += 1;
    });
  }

  #beginSweep(isMeant, act) {
    const sweep = { isMeant, act, endedAt: Infinity };
    this.#sweeps.push(sweep);
    for (const delivery of this.deliveries.values()) if (isMeant(delivery)) act(delivery);
    return sweep;
  }

  /** What is reported from now on is out of its reach. */
  end(sweep) {
    sweep.endedAt = this.now();
  }

  /** From now on these deliveries may be given up: they are purged, erased, discarded or orphaned. */
  letGo(isMeant) {
    for (const delivery of this.deliveries.values()) if (isMeant(delivery)) delivery.mayGo = true;
  }

  /** Judges a row of the service against what the receiver has seen of it. */
  judge(delivery, status, seen) {
    const name = `delivery ${delivery.id}`;
    if (status === undefined) return [`${name} is gone`];
    if (status === 'discarded' && !delivery.mayGo)
      return [`${name} was discarded, though nobody asked for it`];
    const endpoint = this.endpoints.get(delivery.endpointId);
    if (endpoint?.poll) return endpoint.isDeleted ? [] : endpoint.poll.judge(delivery, status);
    if (status === 'delivered' && !(seen?.accepted > 0))
      return [`${name} is said to be delivered, and never came`];
    return [];
  }

  /**
   * Judges what a replay of everything would find for an endpoint at rest: each incident of its tenant has one fate.
   */
  judgeFates(endpoint, told) {
    const { id, tenant, madeUpTo } = endpoint;
    const own = [...this.incidents.values()].filter(
      ({ answer, tenant: of }) => answer && of === tenant,
    );
    const wanted = own.filter((incident) => wants(endpoint, incident));
    const unmade = wanted.filter(({ answer }) => !answer.endpoints.has(id));
    const never = unmade.filter(({ startedAt }) => startedAt > madeUpTo);
    const kinds = ['missed', 'discarded', 'failed', 'delivered', 'waiting', 'unwanted', 'erased'];
    const sum = kinds.reduce((total, kind) => total + told[kind], 0);
    const faults = [];
    const between = (kind, least, most) => {
      if (told[kind] < least || told[kind] > most)
        faults.push(`${told[kind]} incidents are ${kind} at ${id}, not ${least} to ${most}`);
    };
    if (sum !== own.length) faults.push(`${own.length} incidents are ${sum} at ${id}`);
    // The filter is asked nothing about what was erased. A purge takes no payload that somebody else still has to get.
    const erased = own.filter(
      ({ mayBeErased, mayBePurged, answer, startedAt }) =>
        mayBeErased || (mayBePurged && !(answer.held.has(id) && startedAt > madeUpTo)),
    ).length;
    between('unwanted', own.length - wanted.length - erased, own.length - wanted.length);
    between('erased', 0, erased);
    between('missed', 0, never.length);
    return faults;
  }
}

/** Whether an endpoint wants an incident, by what it wants now or by another subscription. */
export function wants({ tenant, wanted }, incident, { types, stores, where } = wanted) {
  const { type, store } = incident;
  const isOfType = (one) =>
    one === '*' || one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1)));
  return (
    tenant === incident.tenant &&
    types.some(isOfType) &&
    (stores === null || stores.includes(store)) &&
    wheres[where].holds(incident)
  );
}
