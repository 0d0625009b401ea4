/**
 * What the service must show, written from its contract: sets and sums, no SQL, no IO.
 *
 * A call may be refused, acknowledged, or lost: its answer never came. What a lost call did is not known, so a record has
 * a set of values that it may possibly have, `absent` among them. Whoever reads it narrows that set down for good: what
 * was unknown stays what it was seen to be.
 */
export const absent = 'absent';

/**
 * @typedef {{ tenant: string, store: string, occurredAt: string, eventId: string, day: string, key: string,
 *   digest: bigint, bytes: number, kind: string | null, marker: string }} Content one record as it was sent
 * @typedef {{ content: Content, possible: Set<string>, contents: Map<string, Content>, open: Map<string, number>,
 *   touchedAt: number, writtenAt: number }} Entry all that may be stored under one identity
 * @typedef {{ tenant?: string, store?: string, from?: string, to?: string, ids?: Set<string>, kind?: string }} Filter
 */

/** The records of all tenants. */
export class RecordModel {
  /** Moves on with everything that begins or ends, so that "while it ran" can be told. */
  #tick = 0;
  /** @type {Map<string, Map<string, Entry>>} */
  #tenants = new Map();
  /** Erasures under way or lost, and those that ended while a write of today was under way. */
  #erasures = [];
  /** All of them. */
  #begunErasures = [];

  /** A write begins: each of these may be stored from now on. */
  beginWrite(contents) {
    const write = { startedAt: this.#next(), contents: [] };
    this.addToWrite(write, contents);
    return write;
  }

  /** A write that is under way goes on with these. */
  addToWrite(write, contents) {
    const now = this.#next();
    for (const content of contents) {
      const entry = this.#entryOf(content);
      entry.contents.set(id(content), content);
      entry.open.set(id(content), (entry.open.get(id(content)) ?? 0) + 1);
      if (entry.possible.has(absent)) entry.possible.add(id(content));
      entry.touchedAt = now;
      entry.writtenAt = now;
      write.contents.push(content);
    }
  }

  /**
   * A write ends. `outcomes` says of each record what it was told: `stored`, `conflict`, `refused` (nothing changed) or
   * `lost` (nobody knows). Answers what must not be.
   */
  endWrite({ startedAt, contents }, outcomes) {
    const endedAt = this.#next();
    const faults = [];
    for (const [at, content] of contents.entries()) {
      const entry = this.#entryOf(content);
      const own = id(content);
      const wasErased = this.#erasures.some(
        (erasure) => erasure.endedAt > startedAt && matches(erasure.filter, content),
      );
      entry.touchedAt = endedAt;
      const outcome = outcomes[at];
      if (outcome === 'lost') continue;
      this.#close(entry, own);
      if (outcome === 'stored') {
        const mayBe = entry.possible.has(own) || entry.possible.has(absent) || wasErased;
        if (!mayBe) faults.push(`${describe(content)} was acknowledged, though another is stored`);
        entry.possible = new Set([own, ...(wasErased ? this.#afterErasure(entry) : [])]);
      } else if (outcome === 'conflict') {
        const others = [...entry.possible].filter((value) => value !== absent && value !== own);
        if (others.length > 0 && !wasErased) entry.possible = new Set(others);
        if (others.length === 0 && !wasErased) {
          faults.push(`${describe(content)} was rejected as a conflict, though no other is stored`);
        }
      } else if (!entry.open.has(own) && entry.possible.size > 1) {
        // It was refused whole, and nobody else has sent the same.
        entry.possible.delete(own);
      }
    }
    return faults;
  }

  /** Records that match may be gone from now on. */
  beginErasure(filter) {
    const erasure = { filter, startedAt: this.#next(), endedAt: Infinity, before: new Map() };
    for (const entry of this.#matching(filter)) {
      erasure.before.set(entry, new Set(entry.possible));
      for (const value of this.#afterErasure(entry)) entry.possible.add(value);
      entry.touchedAt = erasure.startedAt;
    }
    this.#erasures.push(erasure);
    this.#begunErasures.push(erasure);
    return erasure;
  }

  /** All that was stored before it began is gone. What was written meanwhile may be there or not. */
  endErasure(erasure) {
    erasure.endedAt = this.#next();
    const erased = [];
    for (const entry of this.#matching(erasure.filter)) {
      if (entry.writtenAt < erasure.startedAt && entry.open.size === 0) {
        if (!entry.possible.has(absent) || entry.possible.size > 1)
          erased.push(...entry.contents.values());
        entry.possible = new Set([absent]);
      }
      entry.touchedAt = erasure.endedAt;
    }
    return erased;
  }

  /** It was refused: nothing changed by it. */
  cancelErasure(erasure) {
    erasure.endedAt = this.#next();
    for (const [entry, before] of erasure.before) {
      if (entry.touchedAt === erasure.startedAt) entry.possible = before;
      entry.touchedAt = erasure.endedAt;
    }
    this.#erasures.splice(this.#erasures.indexOf(erasure), 1);
  }

  /** A read begins. */
  beginRead(filter) {
    return { filter, startedAt: this.#tick };
  }

  /**
   * A read of all that matches ends, and has seen these: key and digest, in order. Answers what must not be, and keeps
   * what it has learned. A partial read says nothing of what it has not seen.
   */
  endRead({ filter, startedAt }, rows, { isPartial = false } = {}) {
    const faults = [];
    const seen = new Map();
    for (const { key, digest } of rows) {
      if (seen.has(key)) faults.push(`${key} was shown twice`);
      seen.set(key, digest);
      const entry = this.#find(key);
      if (entry === undefined) faults.push(`${key} was shown, which nobody has sent`);
      else if (!entry.contents.has(digest)) {
        faults.push(`${key} was shown with a content that nobody has sent`);
      } else if (!matches(filter, entry.content))
        faults.push(`${key} was shown in ${tell(filter)}`);
    }
    for (const entry of this.#matching(filter)) {
      const { key } = entry.content;
      if (entry.touchedAt > startedAt || (isPartial && !seen.has(key))) continue;
      const value = seen.get(key) ?? absent;
      if (!entry.possible.has(value)) {
        const what =
          value === absent
            ? 'was not shown, though it is stored'
            : 'was shown, which it must not be';
        faults.push(`${describe(entry.content)} ${what}`);
      } else if (entry.open.size === 0 && !this.#mayBeErased(entry)) {
        entry.possible = new Set([value]);
      }
    }
    return faults;
  }

  /** Whether so many records, and these bytes and digest, may be all that match. */
  endCount(read, { count, bytes, digest }) {
    const { least, most, exact } = this.#sum(read);
    const { filter } = read;
    if (count < least || count > most)
      return [`counted ${count} of ${least} to ${most}: ${tell(filter)}`];
    if (exact === null || digest === undefined) return [];
    if (digest !== exact.digest)
      return [`digest ${digest} instead of ${exact.digest}: ${tell(filter)}`];
    if (bytes !== undefined && bytes !== exact.bytes) {
      return [`${bytes} bytes instead of ${exact.bytes}: ${tell(filter)}`];
    }
    return [];
  }

  /** Count, bytes and digest of what matches, if they are certain and did not change since the read began; else null. */
  exactSum(read) {
    return this.#sum(read).exact;
  }

  /**
   * How many erasures have begun of the tenant of a read; null when one was under way meanwhile, so that its count may
   * have shrunk.
   */
  epochOf({ filter: { tenant }, startedAt }) {
    const own = this.#begunErasures.filter((erasure) => erasure.filter.tenant === tenant);
    return own.some(({ endedAt }) => endedAt > startedAt) ? null : own.length;
  }

  /** All is at rest: no call that was lost is at work any more. */
  rest() {
    for (const records of this.#tenants.values()) {
      for (const entry of records.values()) entry.open.clear();
    }
    const now = this.#next();
    for (const erasure of this.#erasures) erasure.endedAt = Math.min(erasure.endedAt, now);
    this.#erasures = [];
  }

  /** Contents that are certainly stored. */
  stored(filter) {
    return this.#matching(filter).flatMap((entry) => {
      const [value] = entry.possible;
      return entry.possible.size === 1 && value !== absent ? [entry.contents.get(value)] : [];
    });
  }

  /** Whether a content may be stored anywhere. */
  mayBeStored(content) {
    return this.#find(content.key)?.possible.has(id(content)) ?? false;
  }

  tenants() {
    return [...this.#tenants.keys()];
  }

  /** A copy as of now, to go back to. Nothing may be under way. */
  copy() {
    const copied = new RecordModel();
    copied.#tick = this.#tick;
    for (const [tenant, records] of this.#tenants) {
      const own = new Map();
      for (const [key, entry] of records) {
        own.set(key, {
          ...entry,
          possible: new Set(entry.possible),
          contents: new Map(entry.contents),
          open: new Map(),
        });
      }
      copied.#tenants.set(tenant, own);
    }
    return copied;
  }

  #next() {
    this.#tick += 1;
    return this.#tick;
  }

  #entryOf(content) {
    const records = this.#tenants.get(content.tenant) ?? new Map();
    this.#tenants.set(content.tenant, records);
    const found = records.get(content.key);
    if (found !== undefined) return found;
    const entry = {
      content,
      ...{ possible: new Set([absent]), contents: new Map(), open: new Map() },
      ...{ touchedAt: this.#tick, writtenAt: this.#tick },
    };
    records.set(content.key, entry);
    return entry;
  }

  #find(key) {
    for (const records of this.#tenants.values()) {
      const entry = records.get(key);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** @returns {Entry[]} */
  #matching(filter) {
    const pools =
      filter.tenant === undefined
        ? [...this.#tenants.values()]
        : [this.#tenants.get(filter.tenant) ?? new Map()];
    return pools.flatMap((records) =>
      [...records.values()].filter(({ content }) => matches(filter, content)),
    );
  }

  #sum({ filter, startedAt }) {
    let [least, most, count, bytes, digest, isExact] = [0, 0, 0, 0, 0n, true];
    for (const entry of this.#matching(filter)) {
      const isStable = entry.touchedAt <= startedAt;
      const [value] = [...entry.possible].filter((possible) => possible !== absent);
      if (isStable && !entry.possible.has(absent)) least += 1;
      if (!isStable || value !== undefined) most += 1;
      if (!isStable || entry.possible.size > 1) isExact = false;
      const stored = entry.contents.get(value ?? '');
      count += stored === undefined ? 0 : 1;
      bytes += stored?.bytes ?? 0;
      digest += stored?.digest ?? 0n;
    }
    const exact = { count, bytes, digest: hex(BigInt.asUintN(64, digest)) };
    return { least, most, exact: isExact ? exact : null };
  }

  #close(entry, own) {
    const count = (entry.open.get(own) ?? 1) - 1;
    if (count > 0) entry.open.set(own, count);
    else entry.open.delete(own);
  }

  #afterErasure(entry) {
    return [absent, ...entry.open.keys()];
  }

  #mayBeErased({ content }) {
    return this.#erasures.some(
      ({ endedAt, filter }) => endedAt === Infinity && matches(filter, content),
    );
  }
}

/**
 * Whether a record belongs to a slice.
 *
 * @param {Filter} filter
 * @param {{ tenant: string, store: string, day: string, eventId: string, kind: string | null }} content
 */
export function matches({ tenant, store, from, to, ids, kind }, content) {
  return (
    (tenant === undefined || content.tenant === tenant) &&
    (store === undefined || content.store === store) &&
    (from === undefined || content.day >= from) &&
    (to === undefined || content.day <= to) &&
    (ids === undefined || ids.has(content.eventId)) &&
    (kind === undefined || content.kind === kind)
  );
}

/** What a content is known by: its digest, spelled as the service spells it. */
function id({ digest }) {
  return hex(digest);
}

function hex(digest) {
  return digest.toString(16).padStart(16, '0');
}

function describe({ key }) {
  return `record ${key}`;
}

function tell(filter) {
  return JSON.stringify(filter, (_name, value) =>
    value instanceof Set ? [...value].slice(0, 5) : value,
  );
}

/** Tags, and what they cover of the records that are stored. */
export class TagModel {
  /** @type {Map<string, { tenant: string, store?: string, from?: string, to?: string, dataset: string }>} */
  tags = new Map();
  /** Tags whose creation or removal was lost: nobody knows whether they are there. */
  unknown = [];

  /** How many of these contents lie in a window, of any dataset or of one. */
  covered(contents, dataset) {
    const windows = [...this.tags.values()].filter(
      (tag) => dataset === undefined || tag.dataset === dataset,
    );
    return contents.filter((content) => windows.some((window) => matches(window, content))).length;
  }
}

/** Endpoints, incidents and what may become of their deliveries. */
export class WebhookModel {
  /**
   * @type {Map<string, { id: string, tenant: string, path: string, types: string[], secrets: string[],
   *   areSecretsKnown: boolean, isDeleted: boolean, isUnsure?: boolean, changedAt: number }>}
   */
  endpoints = new Map();
  /** Paths of endpoints whose registration was lost: they may be there, and nobody knows their ids. */
  unnamed = new Set();
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

  /** The incident was acknowledged. Answers what must not be. */
  accept(incident, { id: incidentId, deliveries }, startedAt) {
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
      const kept = { id, webhookId, endpointId, incident, startedAt, mayGo: false, retries: 0 };
      kept.mayGo = this.#discards.some(
        (each) => each.endpointId === endpointId && startedAt < each.endedAt,
      );
      this.deliveries.set(webhookId, kept);
      if (this.endpoints.get(endpointId)?.isDeleted) kept.mayGo = true;
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
    if (status === 'delivered' && !(seen?.accepted > 0))
      return [`${name} is said to be delivered, and never came`];
    return [];
  }
}
