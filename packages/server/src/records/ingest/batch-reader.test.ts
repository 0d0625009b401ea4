import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { EnvelopeFault, LineReader, readBatch, readLine } from './batch-reader.ts';

const limits = {
  nowMicros: Date.UTC(2026, 0, 31) * 1000,
  maxEnrichmentBytes: 1000,
  maxRecords: 5,
  maxRecordBytes: 10_000,
};

const record = (eventId: string) =>
  `{"tenant":"TX","store":"DFW","event_id":"${eventId}","occurred_at":"2001-03-01T00:05:00Z","enrichment":{"n":1}}`;

/** A text in pieces of so many bytes; the last goes on for ever. */
async function* inPieces(text: string | Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  let turn = 0;
  for (let at = 0; at < bytes.length; turn += 1) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** What the handlers were told: the event id of a record, the code of a fault; and the blanks outside. */
async function read(text: string | Buffer, sizes: readonly number[] = [Infinity]) {
  const told: string[] = [];
  let blanks = 0;
  const count = await readBatch(inPieces(text, sizes), limits, {
    onRecord: (index, { eventId }) => told.push(`${index} ${eventId}`),
    onFault: (index, { code }) => told.push(`${index} ${code}`),
    onBlanks: (bytes) => {
      blanks += bytes;
    },
  });
  return { count, told, blanks };
}

async function envelopeFault(text: string, sizes?: readonly number[]) {
  try {
    await read(text, sizes);
  } catch (error) {
    if (!(error instanceof EnvelopeFault)) throw error;
    const { code, path, message } = error;
    return { code, path, message };
  }
  return null;
}

test('each element is told in order with its index, and how much white space there is', async () => {
  const text = ` { "records" : [ ${record('a')} ,\n${record('é😀')},${record('c')} ] } \n`;
  const answer = { count: 3, told: ['0 a', '1 é😀', '2 c'], blanks: 11 };
  expect(await read(text)).toEqual(answer);
  expect(await read(`\ufeff${text}`)).toEqual(answer);
});

test('elements are told as they come: a body is never held as a whole', async () => {
  const order: string[] = [];
  const pieces = [`{"records":[${record('a')},`, `${record('b')},`, `${record('c')}`, ']}'];
  async function* chunks() {
    for (const [at, piece] of pieces.entries()) {
      order.push(`piece ${at}`);
      yield Buffer.from(piece);
    }
  }
  await readBatch(chunks(), limits, {
    onRecord: (index) => order.push(`record ${index}`),
    onFault: () => {},
    onBlanks: () => {},
  });
  const [p, r] = ['piece', 'record'];
  expect(order).toEqual([`${p} 0`, `${r} 0`, `${p} 1`, `${r} 1`, `${p} 2`, `${p} 3`, `${r} 2`]);
});

test('an element longer than any record may be is rejected alone, and what it holds is passed', async () => {
  const long = [
    record('x').replace('"n":1', `"n":"${'\\"{['.repeat(4000)}"`),
    `"${'x'.repeat(20_000)}"`,
    '7'.repeat(20_000),
    `[${'[ ],'.repeat(5000)}[]]`,
  ];
  const text = `{"records":[${[...long, record('é')].join(',')}]}`;
  const told = [...long.map((_, index) => `${index} record_too_large`), '4 é'];
  expect(await read(text)).toEqual({ count: 5, told, blanks: 5000 });
  expect(await read(text, [1000])).toEqual({ count: 5, told, blanks: 5000 });
  expect(await envelopeFault(`{"records":[${'7'.repeat(20_000)} 7]}`)).toMatchObject({
    code: 'json_invalid',
  });
  expect(await envelopeFault(`{"records":[${long[0]}`)).toMatchObject({ code: 'json_invalid' });
});

test('in whatever pieces a body comes, it says the same', async () => {
  const wholes = [
    ` { "records": [${record('a')}, 12, true,${record('\\u00e9\\ud83d\\ude00')} ,${record('東é😀')}]}\n`,
    `{"records":[${record('a').replace('"n":1', `"n":"${'x'.repeat(900)}"`)},{"é":1.5e3},null]}`,
    `{"records":[${record('a')},{"a" 1}]}`,
    '{"records":[12,tru]}',
    '{"records":["\\ud83d"]} x',
  ];
  const property = fc.asyncProperty(
    fc.constantFrom(...wholes),
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
    async (text, sizes) => {
      const outcome = (of: readonly number[]) =>
        read(text, of).catch((error: EnvelopeFault) => [error.code, error.path, error.message]);
      expect(await outcome(sizes)).toEqual(await outcome([Infinity]));
    },
  );
  await fc.assert(property, { numRuns: runs(400) });
});

test.each([
  ['cut', Buffer.from('{"records":["é').subarray(0, -1)],
  ['wrong', Buffer.from([0x7b, 0xff, 0x7d])],
])('a body whose UTF-8 is %s is refused', async (_how, bytes) => {
  for (const size of [1, 2, 100]) {
    await expect(read(bytes, [size])).rejects.toThrow('The body is not UTF-8.');
  }
});

test('a wrong record does not keep the next ones from being read', async () => {
  const wrong = [
    'null',
    '{"x":{"y":["é",1]}}',
    record('b').replace('"n":1', '"n":1,"n":2'),
    record('b').replace('"n":1', '"é":"\\ud83d"'),
  ];
  const deep = record('b').replace('"n":1', `"n":${'[{"a":'.repeat(500)}1${'}]'.repeat(500)}`);
  expect(await read(`{"records":[${wrong.join(',')},${record('z')}]}`)).toMatchObject({
    count: 5,
    told: [
      '0 record_invalid',
      '1 field_unknown',
      '2 json_duplicate_key',
      '3 json_lone_surrogate',
      '4 z',
    ],
  });
  const { told } = await read(`{"records":[${deep},${record('z')}]}`);
  expect(told).toEqual(['0 json_too_deep', '1 z']);
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
])('the envelope %j is refused with %s at %j', async (text, code, path) => {
  expect(await envelopeFault(text)).toMatchObject({ code, path });
  expect(await envelopeFault(text, [1])).toMatchObject({ code, path });
});

test('an envelope fault tells its place in the body', async () => {
  for (const sizes of [[1], [50], [Infinity]]) {
    const fault = await envelopeFault(`{"records":[${record('é')} 1]}`, sizes);
    expect(fault?.message).toBe('expected a comma or ] (byte 116 of the body)');
  }
  expect((await envelopeFault('{"records":['))?.message).toContain('the text ends inside a value');
});

test('a batch cut or changed anywhere is refused if it is not JSON, and not as JSON if it is', async () => {
  const whole = `{ "records": [${record('a')}, ${record('\\u00e9"'.slice(0, 6))},${record('東')}] }`;
  const property = fc.asyncProperty(
    fc.nat(whole.length - 1),
    fc.constantFrom('', '"', '\\', '{', '}', ']', ',', ':', ' ', '0', 'x', '\n', '\0', 'é'),
    fc.boolean(),
    async (at, char, isCut) => {
      const text = whole.slice(0, at) + char + (isCut ? '' : whole.slice(at + 1));
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const code = (await envelopeFault(text, [7]))?.code ?? 'accepted';
      expect([text, code]).not.toEqual([text, isJson ? 'json_invalid' : 'accepted']);
    },
  );
  await fc.assert(property, { numRuns: runs(3000) });
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
