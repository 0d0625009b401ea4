/** A record as it is sent, and as its columns show it. */
export type Sent = {
  /** JSON, as ingest takes it. */
  readonly text: string;
  readonly cells: Record<string, string | null> & { readonly enrichment: string };
};

const labels = [
  {},
  { kind: '', source: '', model: '' },
  { kind: 'a "quoted" kind', source: "it's", model: 'a,b;c\\d\\u001B' },
  { kind: 'line\nfeed', source: 'carriage\rreturn', model: 'both\r\n' },
  { kind: '\u{FEFF}marked', source: '\u{FEFF}', model: 'in\u{FEFF}side' },
  { kind: '\u{1F600}', source: 'e\u{301} is not \u{E9}', model: '\t' },
  { kind: 'null', source: '\\N', model: '#' },
  { kind: ' spaces ', source: '=1+1', model: '\u{7F}\u{85}\u{2028}' },
  { kind: '1', source: '1.0', model: 'true' },
  {
    kind: '\u{2}\u{3}\u{4}\b\f',
    source: '\u{b}\u{e}\u{f}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}',
    model: '\\',
  },
  { model: '\\\\u001b \\u001B\u{1b}' },
  { source: '\\.' },
];
const ids = [
  ...['a', 'A', '#c', 'é', '\u{FEFF}a', '\u{E000}', '\u{1F600}', "it's"],
  ...['"', '""x', ' ', ',', '\\.', '\\'],
];
const enrichments = [
  '{}',
  '{"n":18446744073709551616,"f":1.0,"e":1E+2,"z":-0,"a":{"b":["=x"]}}',
  '{"text":"\\u0041\\n\\"\\\\ \u{FEFF}\u{1F600}","a":{"b":[1,null,true,{"b":""}]}}',
  '{"f":"=1+1","enrichment":{"confidence":0.5,"tenant":"no"},"t":",\\"enrichment\\":{"}',
  '{"a":null,"s":"\\ud83d\\ude00 \\u001b"}',
];
const numbers = ['1.0', '-0', '1e-3', '0.10', '1', '0', '0.12345678901234567890'];
const stores = ['A', 'b', '\u{E000}', '\u{1F600}', '"q"'];
const days = ['2001-01-30', '2001-01-31', '2001-02-01', '2001-02-02', '2001-03-01'];
const times = ['00:00:00.000000Z', '23:59:59.999999Z', '12:00:00.500000Z'];

/** The n-th of as many records as are wanted, in no order. */
export function awkwardRecord(tenant: string, n: number): Sent {
  const names = {
    tenant,
    store: stores[n % stores.length] ?? '',
    event_id: `${ids[n % ids.length]}${n}`,
    occurred_at: `${days[(n >> 2) % days.length]}T${times[n % times.length]}`,
  };
  const own = labels[n % labels.length] ?? {};
  const confidence = n % 4 === 0 ? null : (numbers[n % numbers.length] ?? null);
  const enrichment = enrichments[(n >> 1) % enrichments.length] ?? '';
  const number = confidence === null ? '' : `,"confidence":${confidence}`;
  const members = JSON.stringify({ ...names, ...own }).slice(0, -1);
  const text = `${members}${number},"enrichment":${enrichment}}`;
  const none = { kind: null, source: null, model: null };
  return {
    text,
    cells: {
      ...names,
      ...none,
      ...own,
      month: names.occurred_at.slice(0, 7),
      confidence,
      enrichment,
      bytes: String(Buffer.byteLength(text)),
    },
  };
}

/** In key order: text by its UTF-8 bytes. */
export function inKeyOrder(records: readonly Sent[]): Sent[] {
  const keyOf = ({ cells }: Sent) =>
    Buffer.from([cells.store, cells.occurred_at, cells.event_id].join('\u0001'));
  return [...records].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)));
}
