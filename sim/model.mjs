import { absent, Entry } from './entry.mjs';

/**
 * What the service must show, written from its contract: sets and sums, no SQL, no IO.
 *
 * A call may be refused, acknowledged, or lost: its answer never came. What a lost call did is not known, so a record has
 * a set of values that it may possibly have, `absent` among them. Whoever reads it narrows that set down for good: what
 * was unknown stays what it was seen to be.
 *
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
      entry.begin(content);
      entry.touchedAt = now;
      entry.writtenAt = now;
      write.contents.push(content);
    }
  }

  /**
   * A write ends. `outcomes` says of each record what it was told: `stored`, `conflict`, `present` (one of these two),
   * `refused` (nothing changed) or `lost` (nobody knows). Answers what must not be.
   */
  endWrite({ startedAt, contents }, outcomes) {
    const endedAt = this.#next();
    const faults = [];
    for (const [at, content] of contents.entries()) {
      const entry = this.#entryOf(content);
      const own = content.digest;
      const wasErased = this.#erasures.some(
        (erasure) => erasure.endedAt > startedAt && matches(erasure.filter, content),
      );
      entry.touchedAt = endedAt;
      entry.writtenAt = endedAt;
      const outcome = outcomes[at];
      if (outcome === 'lost') continue;
      entry.end(content);
      if (outcome === 'stored') {
        const mayBe = entry.mayBe(own) || entry.mayBe(absent) || wasErased;
        if (!mayBe) faults.push(`${describe(content)} was acknowledged, though another is stored`);
        entry.possible = [own];
        if (wasErased) for (const value of entry.afterErasure()) entry.allow(value);
      } else if (outcome === 'present') {
        if (!wasErased) entry.possible = entry.possible.filter((value) => value !== absent);
      } else if (outcome === 'conflict') {
        const others = entry.possible.filter((value) => value !== absent && value !== own);
        if (others.length > 0 && !wasErased) entry.possible = others;
        if (others.length === 0 && !wasErased) {
          faults.push(`${describe(content)} was rejected as a conflict, though no other is stored`);
        }
      } else if (!entry.isOpen(own) && entry.possible.length > 1) {
        // It was refused whole, and nobody else has sent the same.
        entry.possible = entry.possible.filter((value) => value !== own);
      }
    }
    return faults;
  }

  /** Records that match may be gone from now on. */
  beginErasure(filter) {
    const erasure = { filter, startedAt: this.#next(), endedAt: Infinity, before: new Map() };
    for (const entry of this.#matching(filter)) {
      erasure.before.set(entry, entry.possible);
      for (const value of entry.afterErasure()) entry.allow(value);
      entry.touchedAt = erasure.startedAt;
    }
    this.#erasures.push(erasure);
    this.#begunErasures.push(erasure);
    return erasure;
  }

  /** All that was stored before it began is gone. What was written meanwhile may be there or not. */
  endErasure(erasure) {
    this.#end(erasure);
    const erased = [];
    for (const entry of this.#matching(erasure.filter)) {
      if (entry.writtenAt < erasure.startedAt && entry.open.length === 0) {
        if (!entry.mayBe(absent) || entry.possible.length > 1) erased.push(...entry.contents);
        entry.possible = entry.afterErasure();
      }
      entry.touchedAt = erasure.endedAt;
    }
    return erased;
  }

  /** It was refused: nothing changed by it. */
  cancelErasure(erasure) {
    const { before } = erasure;
    this.#end(erasure);
    for (const [entry, possible] of before) {
      if (entry.touchedAt === erasure.startedAt) entry.possible = possible;
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
      else if (entry.contentOf(digest) === undefined) {
        faults.push(`${key} was shown with a content that nobody has sent`);
      } else if (!matches(filter, entry.content))
        faults.push(`${key} was shown in ${tell(filter)}`);
    }
    for (const entry of this.#matching(filter)) {
      const { key } = entry.content;
      if (entry.touchedAt > startedAt || (isPartial && !seen.has(key))) continue;
      const value = seen.get(key) ?? absent;
      if (!entry.mayBe(value)) {
        const what =
          value === absent
            ? 'was not shown, though it is stored'
            : 'was shown, which it must not be';
        faults.push(`${describe(entry.content)} ${what}`);
      } else if (
        entry.open.length === 0 &&
        entry.possible.length > 1 &&
        !this.#mayBeErased(entry)
      ) {
        entry.possible = [value];
      }
    }
    return faults;
  }

  /** Whether so many records, and these bytes and digest, may be all that match. */
  endCount(read, row) {
    return judgeCount(this.#sum(read), row, tell(read.filter));
  }

  /** The same for all rows of a level of the tree, each of a tenant, store or month. */
  endTree(read, rows) {
    const sums = this.#sums(read, ({ store, day }) => [
      leafKey(null, null),
      leafKey(store, null),
      leafKey(store, day.slice(0, 7)),
    ]);
    return rows.flatMap((row) => {
      const leaf = leafKey(row.store, row.month);
      return judgeCount(sums.get(leaf) ?? emptySum(), row, `${tell(read.filter)} ${leaf}`);
    });
  }

  /**
   * Count, bytes and digest of what matches, if they are certain and did not change since the read began; else null. With
   * `isMeant`, of those records alone.
   */
  exactSum(read, isMeant = (_content) => true) {
    return exactOf(this.#sum(read, isMeant));
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
      for (const entry of records.values()) entry.rest();
    }
    for (const erasure of this.#erasures) if (erasure.endedAt === Infinity) this.#end(erasure);
    this.#erasures = [];
  }

  /** Contents that are certainly stored. */
  stored(filter) {
    return this.#matching(filter).flatMap((entry) => {
      const [value] = entry.possible;
      return entry.possible.length === 1 && value !== absent ? [entry.contentOf(value)] : [];
    });
  }

  /** Whether a content may be stored anywhere. */
  mayBeStored(content) {
    return this.#find(content.key)?.mayBe(content.digest) ?? false;
  }

  /** What somebody has sent with this identity and this digest: always the same object, undefined where nobody has. */
  sent(key, digest) {
    return this.#find(key)?.contentOf(digest);
  }

  /** The same, for a reader who knows no digest, but whether a content is the one. */
  sentAs(key, isMeant) {
    return this.#find(key)?.contents.find(isMeant);
  }

  /** Whether an erasure has begun that may have taken a record, which may be stored anew. */
  wasErased(content) {
    return this.#begunErasures.some(({ filter }) => matches(filter, content));
  }

  tenants() {
    return [...this.#tenants.keys()];
  }

  /** What a copy of the service may hold that was made between `since` and now. */
  copy({ since }) {
    const copied = new RecordModel();
    copied.#tick = this.#tick;
    for (const [tenant, records] of this.#tenants) {
      const own = new Map();
      for (const [key, entry] of records) {
        own.set(key, entry.copy({ since }));
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
    const entry = new Entry(content, this.#tick);
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

  #sum(read, isMeant = (_content) => true) {
    return this.#sums(read, (content) => (isMeant(content) ? [''] : [])).get('') ?? emptySum();
  }

  /** Sums by key; a record counts for each of its keys. */
  #sums({ filter, startedAt }, keysOf) {
    const sums = new Map();
    for (const entry of this.#matching(filter)) {
      for (const key of keysOf(entry.content)) {
        const sum = sums.get(key) ?? emptySum();
        addTo(sum, entry, entry.touchedAt <= startedAt);
        sums.set(key, sum);
      }
    }
    return sums;
  }

  /** What was there before it is of no more use. */
  #end(erasure) {
    erasure.endedAt = this.#next();
    erasure.before = new Map();
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

function leafKey(store, month) {
  return JSON.stringify([store, month]);
}

/** At least and at most so many records; the other three are certain if it is exact. */
function emptySum() {
  return { least: 0, most: 0, count: 0, bytes: 0, digest: 0n, isExact: true };
}

function addTo(sum, entry, isStable) {
  const { possible } = entry;
  const value = possible.find((each) => each !== absent);
  const stored = value === undefined ? undefined : entry.contentOf(value);
  if (isStable && !entry.mayBe(absent)) sum.least += 1;
  if (!isStable || value !== undefined) sum.most += 1;
  if (!isStable || possible.length > 1) sum.isExact = false;
  sum.count += stored === undefined ? 0 : 1;
  sum.bytes += stored?.bytes ?? 0;
  sum.digest += stored?.digest ?? 0n;
}

function exactOf({ isExact, count, bytes, digest }) {
  return isExact ? { count, bytes, digest: hex(BigInt.asUintN(64, digest)) } : null;
}

function judgeCount(sum, { count, bytes, digest }, what) {
  if (count < sum.least || count > sum.most) {
    return [`counted ${count} of ${sum.least} to ${sum.most}: ${what}`];
  }
  const exact = exactOf(sum);
  if (exact === null || digest === undefined) return [];
  if (digest !== exact.digest) return [`digest ${digest} instead of ${exact.digest}: ${what}`];
  if (bytes !== undefined && bytes !== exact.bytes) {
    return [`${bytes} bytes instead of ${exact.bytes}: ${what}`];
  }
  return [];
}

/** As the service spells it. */
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
    const tenants = new Set(contents.map(({ tenant }) => tenant));
    const windows = [...this.tags.values()].filter(
      (tag) => tenants.has(tag.tenant) && (dataset === undefined || tag.dataset === dataset),
    );
    return contents.filter((content) => windows.some((window) => matches(window, content))).length;
  }
}
