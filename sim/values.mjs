import { createCipheriv, hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { recordDigest } from '../packages/server/dist/kernel/digest.js';

/**
 * What commands draw from: awkward names, days and sizes, few enough that histories meet again. Everything here comes
 * from the seed, so that a history can be played again.
 */
export const tenants = [
  'TX',
  'tx',
  'Ä-Ω 北京',
  `q'uo"te`,
  'a%b_c\\d',
  '🙂 émoji',
  'long-'.repeat(25),
];
const stores = ['S1', 'DFW', 'störe', '0', 'ж'.repeat(60), 'a=b&c', '%2F..'];
/** Both sides of month and leap ends, the first day there is, days that are always cold, and a few of this month. */
const days = [
  ...[
    '1970-01-01',
    '1999-12-31',
    '2000-02-29',
    '2024-02-29',
    '2026-01-31',
    '2026-02-01',
    '2026-02-02',
  ],
  ...['2026-03-31', '2026-04-01', '2026-09-15', '2026-09-16', '2026-09-17'],
];
const times = ['00:00:00.000000', '12:00:00.000001', '12:00:00.123456', '23:59:59.999999'];
const kinds = [null, 'detect', 'classify', '', 'ключ', `it's; "quoted", ok`];
const sizes = [0, 0, 60, 200, 200, 1000, 20_000, 260_000];

export const tenant = fc.constantFrom(...tenants);
export const store = fc.constantFrom(...stores);
export const day = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...days) },
  // A month of its own, mostly one that no partition is there for yet.
  {
    weight: 1,
    arbitrary: fc
      .record({
        year: fc.integer({ min: 1971, max: 2025 }),
        month: fc.integer({ min: 1, max: 12 }),
      })
      .map(({ year, month }) => `${year}-${String(month).padStart(2, '0')}-17`),
  },
);

/** A record as its maker draws it; `content` builds what is sent of it. */
const drawn = fc.record({
  store,
  day,
  time: fc.constantFrom(...times),
  event: fc.integer({ min: 0, max: 40 }),
  kind: fc.constantFrom(...kinds),
  size: fc.constantFrom(...sizes),
  variant: fc.integer({ min: 0, max: 2 }),
});

/** A batch of one tenant, or of two: no identity twice, since one call could not tell which of them is stored. */
export const batch = fc
  .record({
    tenants: fc.array(tenant, { minLength: 1, maxLength: 2 }),
    records: fc.array(drawn, { minLength: 1, maxLength: 40 }),
  })
  .map(({ tenants: own, records }) => {
    const made = records.map((record, at) => content({ ...record, tenant: own[at % own.length] }));
    return [...new Map(made.map((each) => [each.key, each])).values()];
  });

/** Whole days of a tenant or one of its stores, or all there is of it. */
export const slice = fc
  .record({
    tenant,
    store: fc.option(store, { freq: 2, nil: undefined }),
    span: fc.option(fc.tuple(day, day), { freq: 2, nil: undefined }),
  })
  .map(({ tenant: own, store: ownStore, span }) => {
    const [from, to] = span === undefined ? [] : span.toSorted();
    return { tenant: own, ...(ownStore && { store: ownStore }), ...(from && { from, to }) };
  });

/** Some events of a slice, or all of it. */
export const events = fc.option(
  fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 30 }),
  { freq: 2, nil: undefined },
);

/** The same for the model, and for the service as a `where`, of which every other one reads enrichments, too. */
export function among(numbers) {
  if (numbers === undefined) return { meant: {}, asked: {} };
  const ids = numbers.map((number) => `e${number}`);
  const listed = ids.map((id) => JSON.stringify(id)).join(', ');
  const more = ids.length % 2 === 1 ? ' and not exists(enrichment.never.there)' : '';
  return { meant: { ids: new Set(ids) }, asked: { where: `event_id in (${listed})${more}` } };
}

/**
 * A record, of which the model keeps what it is drawn from, its digest and its size. All else is made anew each time, so
 * that a model of many records stays small. The same draw makes the same record.
 */
export class Content {
  constructor({ tenant: own, store: ownStore, day: ownDay, time, event, kind, size, variant, x }) {
    this.tenant = own;
    this.store = ownStore;
    this.day = ownDay;
    this.time = time;
    this.eventId = typeof event === 'string' ? event : `e${event}`;
    this.kind = kind;
    this.size = size;
    this.variant = variant;
    this.x = x ?? '1.50e+3';
    this.key = JSON.stringify([own, ownStore, this.occurredAt, this.eventId]);
    this.bytes = Buffer.byteLength(this.text());
    this.digest = recordDigest({
      ...{ tenant: own, store: ownStore, eventId: this.eventId, kind, source: null },
      ...{ model: this.model, confidence: this.confidence },
      occurredAtMicros: microsOf(this.occurredAt),
      enrichment: this.enrichment(),
    });
  }

  get occurredAt() {
    return `${this.day}T${this.time}Z`;
  }

  /** Stands in its text, and in that of no other record, so that it can be looked for once it is erased. */
  get marker() {
    return `mk${hash('md5', `${this.key}${this.kind}${this.size}${this.variant}`).slice(0, 20)}`;
  }

  get confidence() {
    return [null, '0.10', '1'][this.variant];
  }

  get confidenceValue() {
    return this.confidence === null ? null : Number(this.confidence);
  }

  get model() {
    return this.variant === 1 ? 'v3' : null;
  }

  enrichment() {
    const { marker, size, x } = this;
    const padding = size > 0 ? `,"pad":"${pad(marker, size)}"` : '';
    return `{"marker":"${marker}","n":9007199254740993,"x":${x}${padding}}`;
  }

  /** Its line of NDJSON. */
  text() {
    return lineOf(this);
  }
}

export const content = (draw) => new Content(draw);

/** Makes so many small records, with pauses, since calls that are under way want to be seen to. */
export async function contentsOf(count, draw) {
  const contents = [];
  for (let n = 0; n < count; n += 1) {
    contents.push(content({ ...draw(n), kind: null, size: 0, variant: 0 }));
    if (n % 2000 === 0) await delay(1);
  }
  return contents;
}

/** A time of its own within a day for each of a hundred thousand records. */
export function timeOf(n) {
  const seconds = n % 86_400;
  const two = (value) => String(value).padStart(2, '0');
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.000000`;
}

/** Microseconds since 1970 of a time with six fraction digits. */
export function microsOf(time) {
  return Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20, 26));
}

/** Incidents: mostly small, some as large as allowed. */
export const incident = fc.record({
  tenant,
  number: fc.integer({ min: 0, max: 1_000_000 }),
  type: fc.constantFrom('incident.created', 'incident.updated', 'incident.resolved', 'custom.kind'),
  size: fc.constantFrom(0, 0, 0, 1000, 200_000),
});

/** The store and the group of an incident, and what filters ask of it. */
export const traitsOf = (number) => ({
  store: [undefined, 'S1', 'DFW'][number % 3],
  group: [undefined, 'g1', 'g2'][Math.floor(number / 3) % 3],
  score: (number % 10) / 10,
});

/** Filters of endpoints, each with what it says of an incident. */
export const wheres = [
  { text: null, holds: () => true },
  { text: 'score >= 0.5', holds: ({ score }) => score >= 0.5 },
  {
    text: 'not exists(data.part) and (type = "incident.created" or store in ("DFW"))',
    holds: ({ type, store }) => type === 'incident.created' || store === 'DFW',
  },
];

/** What an endpoint wants: all, for most of them. */
export const wanted = fc.record({
  types: fc.constantFrom(
    ...[['*'], ['*'], ['incident.created'], ['incident.*'], ['incident.resolved', 'custom.kind']],
  ),
  stores: fc.constantFrom(null, null, null, ['S1', 'DFW']),
  where: fc.constantFrom(0, 0, 0, 1, 2),
});

/** @param {Content} content */
function lineOf(content) {
  const { tenant: own, store: ownStore, eventId, occurredAt, kind, model, confidence } = content;
  const text = JSON.stringify;
  const optional = (name, value) => (value === null ? '' : `,"${name}":${value}`);
  return (
    `{"tenant":${text(own)},"store":${text(ownStore)},"event_id":"${eventId}","occurred_at":"${occurredAt}"` +
    optional('kind', kind === null ? null : text(kind)) +
    optional('model', model === null ? null : text(model)) +
    `${optional('confidence', confidence)},"enrichment":${content.enrichment()}}`
  );
}

/** Text that does not compress away, the same for the same marker. */
function pad(marker, size) {
  if (size <= 200) return marker.repeat(10).slice(0, size);
  const cipher = createCipheriv('aes-128-ctr', hash('md5', marker, 'buffer'), Buffer.alloc(16));
  return cipher.update(Buffer.alloc(size)).toString('base64').slice(0, size);
}
