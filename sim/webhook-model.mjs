/** Begins the webhook-ids of copies that only make a backlog long. */
export const copyPrefix = 'copy_';

/** Endpoints, incidents and what may become of their deliveries. */
export class WebhookModel {
  /**
   * @type {Map<string, { id: string, tenant: string, path: string, types: string[], secrets: string[],
   *   areSecretsKnown: boolean, isDeleted: boolean, isUnsure?: boolean, changedAt: number,
   *   poll: import('./poll-model.mjs').PollModel | null }>}
   */
  endpoints = new Map();
  /** By the caller's key. @type {Map<string, any>} */
  incidents = new Map();
  /** By webhook-id. @type {Map<string, any>} */
  deliveries = new Map();
  /** Backlogs that were asked to be discarded: of which endpoint, and until when what was reported may go. */
  #discards = [];
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
  accept(incident, { id: incidentId, deliveries: answered }, startedAt) {
    const deliveries = answered.filter((row) => !row.idempotency_key.startsWith(copyPrefix));
    const told = deliveries
      .map((row) => row.id)
      .toSorted()
      .join();
    const known = incident.answer;
    if (known !== undefined) {
      if (known.id === incidentId && known.told === told) return [];
      return [
        `incident ${incident.key} was answered as ${incidentId} (${told}), and before as ${known.id} (${known.told})`,
      ];
    }
    incident.answer = { id: incidentId, told };
    const faults = [];
    for (const { id, endpoint_id: endpointId, idempotency_key: webhookId } of deliveries) {
      // It may be there since its first report, which was lost.
      const since = incident.startedAt ?? startedAt;
      const mayGo =
        this.endpoints.get(endpointId)?.isDeleted === true ||
        this.#discards.some((each) => each.endpointId === endpointId && since < each.endedAt);
      this.deliveries.set(webhookId, { id, webhookId, endpointId, incident, mayGo, retries: 0 });
    }
    const present = new Set(deliveries.map((row) => row.endpoint_id));
    for (const { id, tenant, types, isDeleted, isUnsure, changedAt } of this.endpoints.values()) {
      // What changed while it was reported may be seen before or after; so may what changed since a report that was lost.
      if (isUnsure || changedAt >= startedAt || incident.isRepeated) continue;
      const isMeant =
        !isDeleted &&
        tenant === incident.tenant &&
        (types.includes('*') || types.includes(incident.type));
      if (isMeant === present.has(id)) continue;
      faults.push(`${incidentId} of ${tenant} ${isMeant ? 'did not go' : 'went'} to ${id}`);
    }
    return faults;
  }

  /** Whatever waits for this endpoint may be discarded from now on, until `endDiscard` also what is reported. */
  beginDiscard(endpointId) {
    const discard = { endpointId, endedAt: Infinity };
    this.#discards.push(discard);
    this.letGo((delivery) => delivery.endpointId === endpointId);
    return discard;
  }

  endDiscard(discard) {
    discard.endedAt = this.now();
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
}
