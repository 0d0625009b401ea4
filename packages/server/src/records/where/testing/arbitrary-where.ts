import fc from 'fast-check';

// Made-up records and texts of `where` about them. Both draw from the same few keys and values, so that they often meet.

const keys = [
  ...[
    'score',
    'label',
    'kind',
    'a.b',
    'a"b',
    "it's",
    'é',
    '',
    '/',
    '~',
    '~1',
    '*',
    '$',
    '#',
    '-',
    '\\',
  ],
  ...[
    '0',
    '1',
    '01',
    '-1',
    '+1',
    ' 1',
    'a b',
    '\u{1F600}',
    '\u{FEFF}x',
    '\u0001',
    'null',
    'not',
    'İ',
  ],
];
/** Numbers that a `where` may say. */
export const numbers = [
  ...['0', '-0', '0.0', '0e9', '0.1', '0.10', '1E-1', '1e-1', '10e-2', '1', '1.0', '-1', '2', '-2'],
  ...['1e400', '1E+400', '10e399', '-1e400', '1e-400', '2e-400', '-1e-400', '1e999', '9e9999'],
  ...['123456789012345678901234567890', '123456789012345678901234567891', '9007199254740993'],
  ...['9007199254740992', '18446744073709551615', '18446744073709551616', '-9223372036854775809'],
  ...[
    '0.1000000000000000055511151231257827',
    '0.30000000000000004',
    '0.3',
    '1.7976931348623157e308',
  ],
  ...[
    `1${'0'.repeat(400)}`,
    `0.${'0'.repeat(399)}1`,
    `1.${'0'.repeat(300)}1`,
    '-0.5',
    '5e-324',
    '2e-324',
  ],
];
/** Numbers that a record may have, with exponents that no `where` can say. */
export const storedNumbers = [
  ...numbers,
  '1e99999999999999999999',
  '-1e99999999999999999999',
  '1e-99999999999999999999',
];
export const texts = [
  ...[
    '',
    '5',
    '0.1',
    'v3',
    'V3',
    'DFW',
    'dfw',
    'true',
    'null',
    'é',
    'É',
    'ß',
    'SS',
    'ſ',
    'İ',
    'ı',
    'σ',
    'ς',
    'Σ',
  ],
  ...[
    "it's",
    '"',
    '\\',
    '\\\\',
    '%',
    '_',
    'a%b',
    '\u{1F600}',
    '\u{FFFD}',
    '\u{FEFF}',
    '\n',
    '\u0001',
    '[1]',
    '{}',
  ],
  ...["'; drop table enrichment_records; --", '$1', '\\x', "E'\\'", '"1"', ',"score":1'],
];
export const patterns = [
  ...[
    '%',
    '_',
    '%3',
    'v_',
    'dfw%',
    '%É%',
    'ß',
    'ss',
    'S',
    'K',
    'İ',
    'i',
    'ı',
    'σ%',
    'ς',
    '\\%',
    '%\\\\%',
    "%'%",
  ],
  ...['%"%', '\\_', 'A\\%B', '__', '\u{1F600}', '%\\\\', 'drop%', ''],
];

const key = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('score', 'label', '0') },
  { weight: 1, arbitrary: fc.constantFrom(...keys) },
);

type Json = { readonly text: string };
const json = (text: string): Json => ({ text });

const scalar = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...storedNumbers).map(json) },
  { weight: 3, arbitrary: fc.constantFrom(...texts).map((text) => json(JSON.stringify(text))) },
  fc.constantFrom('true', 'false', 'null', '{}', '[]').map(json),
);

const { value } = fc.letrec<{ value: Json; object: Json; array: Json }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalar, tie('object'), tie('array')),
  object: fc
    .uniqueArray(fc.tuple(key, tie('value')), { selector: ([key]) => key, maxLength: 4 })
    .map((members) =>
      json(`{${members.map(([key, { text }]) => `${JSON.stringify(key)}:${text}`).join(',')}}`),
    ),
  array: fc
    .array(tie('value'), { maxLength: 3 })
    .map((elements) => json(`[${elements.map(({ text }) => text).join(',')}]`)),
}));

const labels = fc.option(fc.constantFrom(...texts.filter((text) => !text.includes('\u0001'))));
const confidences = ['0', '-0', '0.0', '1', '1.0', '0.10', '1E-1', '0.1', '5e-400', '1e-3'];
const times = [
  '2001-03-01T00:00:00Z',
  '2001-03-01T00:00:00.000001Z',
  '2001-03-01T23:59:59.999999Z',
];

const record = fc.record({
  members: fc.uniqueArray(fc.tuple(key, value), { selector: ([key]) => key, maxLength: 6 }),
  labels: fc.record({ kind: labels, source: labels, model: labels }),
  confidence: fc.option(fc.constantFrom(...confidences)),
  occurred_at: fc.constantFrom(...times),
});

/** Some records, as they are sent for a tenant. */
export const arbitraryRecords: fc.Arbitrary<(tenant: string) => string[]> = fc
  .array(record, { minLength: 10, maxLength: 40 })
  .map(
    (records) => (tenant) =>
      records.map(({ members, labels: own, confidence, occurred_at }, n) => {
        const names = { tenant, store: 'S', event_id: `e${n}`, occurred_at, ...own };
        const number = confidence === null ? '' : `,"confidence":${confidence}`;
        const enrichment = members.map(([key, { text }]) => `${JSON.stringify(key)}:${text}`);
        return `${JSON.stringify(names).slice(0, -1)}${number},"enrichment":{${enrichment.join(',')}}}`;
      }),
  );

const constant = fc.oneof(
  fc.constantFrom(...numbers),
  fc.constantFrom(...texts).map((text) => JSON.stringify(text)),
  fc.constantFrom('true', 'false', 'null'),
);
const ordered = constant.filter((text) => !/^[tfn]/.test(text));
const sign = fc.constantFrom('<', '<=', '>', '>=');
const equal = fc.constantFrom('=', '!=');

const path = fc
  .array(key, { minLength: 1, maxLength: 2 })
  .map((steps) => `enrichment.${steps.map((step) => JSON.stringify(step)).join('.')}`);
const place = fc.oneof(
  { weight: 4, arbitrary: path },
  { weight: 1, arbitrary: path.map((own) => `any(${own})`) },
  fc.constantFrom('score', 'label', 'any(label)', 'score.0', '"a.b"', 'é'),
);

/** `in` has room for many; most lists are short. */
const list = fc.array(constant, { minLength: 1, maxLength: 4 }).map((all) => `(${all.join(', ')})`);

const comparison = fc.oneof(
  fc.tuple(place, equal, constant).map((parts) => parts.join(' ')),
  fc.tuple(place, sign, ordered).map((parts) => parts.join(' ')),
  fc.tuple(place, list).map(([of, values]) => `${of} in ${values}`),
  fc
    .tuple(place, fc.constantFrom(...patterns))
    .map(([of, pattern]) => `${of} ilike ${JSON.stringify(pattern)}`),
  path.map((own) => `exists(${own})`),
  fc
    .tuple(fc.constantFrom('kind', 'source', 'model', 'event_id'), equal, fc.constantFrom(...texts))
    .map(([column, op, text]) => `${column} ${op} ${JSON.stringify(text)}`),
  fc
    .tuple(fc.constantFrom('kind', 'source'), fc.constantFrom(...patterns))
    .map(([column, pattern]) => `${column} ilike ${JSON.stringify(pattern)}`),
  fc
    .tuple(
      fc.constantFrom('confidence', 'bytes'),
      fc.oneof(equal, sign),
      fc.constantFrom(...numbers),
    )
    .map((parts) => parts.join(' ')),
  fc
    .tuple(
      fc.constantFrom('occurred_at', 'recorded_at'),
      fc.oneof(equal, sign),
      fc.constantFrom(...times),
    )
    .map(([column, op, time]) => `${column} ${op} "${time}"`),
  fc.constantFrom('exists(model)', 'exists(confidence)', 'exists(bytes)'),
);

/** A text of `where`. */
export const arbitraryWhere: fc.Arbitrary<string> = fc.letrec<{ where: string }>((tie) => ({
  where: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 2, arbitrary: comparison },
    fc.tuple(tie('where'), fc.constantFrom('and', 'or'), tie('where')).map((all) => all.join(' ')),
    tie('where').map((inner) => `not (${inner})`),
    tie('where').map((inner) => `(${inner})`),
  ),
})).where;
