import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EnvelopeFault, LineReader, readBatch, readLine } from './batch-reader.ts';

const limits = {
  nowMicros: Date.UTC(2026, 0, 31) * 1000,
  maxEnrichmentBytes: 1000,
  maxRecords: 5,
};

const record = (eventId: string) =>
  `{"tenant":"TX","store":"DFW","event_id":"${eventId}","occurred_at":"2001-03-01T00:05:00Z","enrichment":{"n":1}}`;

/** What the handlers were told: the event id of a record, the code of a fault. */
function read(text: string) {
  const told: string[] = [];
  const count = readBatch(text, limits, {
    onRecord: (index, { eventId }) => told.push(`${index} ${eventId}`),
    onFault: (index, { code }) => told.push(`${index} ${code}`),
  });
  return { count, told };
}

function envelopeFault(text: string) {
  try {
    read(text);
  } catch (error) {
    if (error instanceof EnvelopeFault) return { code: error.code, path: error.path };
    throw error;
  }
  return null;
}

test('each element is told in order with its index', () => {
  expect(read(` { "records" : [ ${record('a')} ,\n${record('é😀')},${record('c')} ] } \n`)).toEqual(
    {
      count: 3,
      told: ['0 a', '1 é😀', '2 c'],
    },
  );
});

test('a wrong record does not keep the next ones from being read', () => {
  const wrong = [
    'null',
    '{"x":{"y":["é",1]}}',
    record('b').replace('"n":1', '"n":1,"n":2'),
    record('b').replace('"n":1', '"é":"\\ud83d"'),
  ];
  const deep = record('b').replace('"n":1', `"n":${'[{"a":'.repeat(500)}1${'}]'.repeat(500)}`);
  expect(read(`{"records":[${wrong.join(',')},${record('z')}]}`)).toEqual({
    count: 5,
    told: [
      '0 record_invalid',
      '1 field_unknown',
      '2 json_duplicate_key',
      '3 json_lone_surrogate',
      '4 z',
    ],
  });
  expect(read(`{"records":[${deep},${record('z')}]}`).told).toEqual(['0 json_too_deep', '1 z']);
});

test.each([
  ['', 'json_invalid', ''],
  ['[', 'json_invalid', ''],
  ['[]', 'field_invalid', ''],
  ['null', 'field_invalid', ''],
  ['{}', 'field_required', '/records'],
  ['{"records":null}', 'field_invalid', '/records'],
  ['{"records":{}}', 'field_invalid', '/records'],
  ['{"records":[]}', 'field_invalid', '/records'],
  ['{"records":[1,2,3,4,5,6]}', 'field_invalid', '/records'],
  ['{"other":1}', 'field_unknown', '/other'],
  ['{"a/b~":1}', 'field_unknown', '/a~1b~0'],
  ['{"records":[1],"other":1}', 'field_unknown', '/other'],
  ['{"records":[1],"records":[1]}', 'json_duplicate_key', '/records'],
  ['{"records":[1],"\\u0072ecords":1}', 'json_duplicate_key', '/records'],
  ['{"\\u0000":1}', 'json_null_character', ''],
  ['{"records":[1],}', 'json_invalid', ''],
  ['{"records":[1]', 'json_invalid', ''],
  ['{"records":[1', 'json_invalid', ''],
  ['{"records":[1,]}', 'json_invalid', '/records/1'],
  ['{"records":[1,{"a"}]}', 'json_invalid', '/records/1'],
  ['{"records":[1}}', 'json_invalid', ''],
  ['{"records":[1]}}', 'json_invalid', ''],
  ['{"records":[1]}{"records":[1]}', 'json_invalid', ''],
  ['{"records"[1]}', 'json_invalid', ''],
  ['{records:[1]}', 'json_invalid', ''],
])('the envelope %j is refused with %s at %j', (text, code, path) => {
  expect(envelopeFault(text)).toEqual({ code, path });
});

test('an envelope fault tells its place in the body', () => {
  expect(() => read(`{"records":[${record('é')} 1]}`)).toThrow(
    /^expected a comma or ] \(byte 116 of the body\)$/,
  );
  expect(() => read('{"records":[')).toThrow('the text ends inside a value');
});

test('a batch cut or changed anywhere is refused if it is not JSON, and not as JSON if it is', () => {
  const whole = `{ "records": [${record('a')}, ${record('\\u00e9"'.slice(0, 6))},${record('東')}] }`;
  const property = fc.property(
    fc.nat(whole.length - 1),
    fc.constantFrom('', '"', '\\', '{', '}', ']', ',', ':', ' ', '0', 'x', '\n', '\0', 'é'),
    fc.boolean(),
    (at, char, isCut) => {
      const text = whole.slice(0, at) + char + (isCut ? '' : whole.slice(at + 1));
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const code = envelopeFault(text)?.code ?? 'accepted';
      expect([text, code]).not.toEqual([text, isJson ? 'json_invalid' : 'accepted']);
    },
  );
  fc.assert(property, { numRuns: 3000 });
});

test('a line is one record with white space around it', () => {
  expect(readLine(` ${record('a')} \r`, limits).record?.eventId).toBe('a');
  for (const text of [
    '',
    ' ',
    `${record('a')},`,
    `${record('a')}${record('b')}`,
    '{"tenant":1}}',
  ]) {
    expect(readLine(text, limits)).toMatchObject({ fault: { code: 'json_invalid' }, end: -1 });
  }
});

test('a line reader reads each line as if it were the only one', () => {
  const lines = [
    record('a'),
    record('東'.repeat(30)),
    record('b').slice(0, -3),
    record('b').replace('{"n":1}', `{"a":[{"b":${'['.repeat(3)}`),
    record('c').replace('"n":1', ' "n" : "é" '),
    record('d').repeat(2),
    record('e').replace('"n":1', `"n":"${'x'.repeat(3000)}"`),
    record('f').replace('"n":1', '"n":1,"n":1'),
    '',
    record('g'),
  ];
  const property = fc.property(fc.array(fc.constantFrom(...lines), { maxLength: 20 }), (sent) => {
    const reader = new LineReader(limits);
    expect(sent.map((line) => reader.read(line))).toEqual(
      sent.map((line) => readLine(line, limits)),
    );
  });
  fc.assert(property);
});
