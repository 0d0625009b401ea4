import { expect, test } from 'vitest';
import { type EnvelopeFault, readBatch, readLine } from './batch-reader.ts';

const limits = {
  nowMicros: Date.UTC(2026, 0) * 1000,
  maxEnrichmentBytes: 2 ** 18,
  maxRecords: 10,
  maxRecordBytes: 2 ** 20,
};
const good =
  '{"tenant":"T","store":"S","event_id":"é","occurred_at":"2020-01-01T00:00:00Z","enrichment":{"a":1}}';
const withValue = (spelled: string) => good.replace('"a":1', `"a":${spelled}`);

test.each([
  [
    'a table',
    'tenant,store,event_id',
    'this one begins with "tenant,store,event_id", and it looks like CSV',
  ],
  ['a table with tabs', 'T1\tS1\te1', 'looks like CSV'],
  ['a word', 'hello', 'each line is a JSON object, and this one begins with "hello"'],
  ['an array around it', `[${good},`, 'send a record a line, without [ and ]'],
  ['an array of all', `[${good}]`, 'or one {"records": [ … ]} as application/json'],
  ['the end of an array', `${good}]`, 'without [ and ] around them'],
  ['nothing but the end of an array', ']', 'without [ and ] around them'],
  ['a field of a record', '  "tenant": "T1",', 'a record stands on one line whole'],
  ['the end of a record', '}', 'a record stands on one line whole'],
  ['a comma behind it', `${good},`, 'no comma stands between lines'],
  ['two records', good + good, 'begin a new line between two records'],
  ['a record that goes on', '{', 'a record stands on one line whole'],
  ['single quotes', good.replaceAll('"', "'"), 'double quotes, not single ones'],
  ['single quotes inside', withValue("'x'"), 'double quotes, not single ones'],
  ['a comma too many', withValue('1,'), 'no comma may stand behind the last one'],
  ['a comma too many in a list', withValue('[1, ]'), 'no comma may stand behind the last one'],
  ['None', withValue('None'), 'JSON writes null, true and false'],
  ['True', withValue('True'), 'JSON writes null, true and false'],
  ['NaN', withValue('NaN'), 'no NaN and no infinity'],
  ['-Infinity', withValue('-Infinity'), 'no NaN and no infinity'],
  ['a comment', withValue('1 // one'), 'no comments'],
  ['a zero before it', withValue('[007]'), 'does not begin with 0'],
  ['no digit before the point', withValue('.5'), 'a digit before its point'],
  ['a bare key', good.replace('"a":', 'a:'), 'a key stands in double quotes'],
  ['a mark of another file', `\ufeff${good}`, 'only the first line of a file may have'],
  ['a batch', `{"records":[${good}]}`, 'a batch is one JSON document'],
  ['its enrichment in quotes', good.replace('{"a":1}', '"{}"'), 'send the object itself'],
  [
    'a number as time',
    good.replace('"2020-01-01T00:00:00Z"', '1577836800'),
    'it is a number of seconds',
  ],
])('a line with %s is told what to do', (_what, line, words) => {
  const { fault } = readLine(line, limits);
  expect(fault?.message).toContain(words);
  expect(fault?.message.length).toBeLessThan(250);
});

test('what has no likely cause keeps its plain message, and a good line has none', () => {
  expect(readLine(withValue('"\\x"'), limits).fault?.message).toMatch(
    /escapes .* of the record\)$/,
  );
  expect(readLine(`${good} x`, limits).fault?.message).toMatch(/of the line\)$/);
  expect(readLine(` ${good}\r`, limits).fault).toBeNull();
});

async function faultOf(body: string) {
  async function* chunks() {
    yield Buffer.from(body);
  }
  const nothing = () => {};
  const handlers = { onRecord: nothing, onFault: nothing, onBlanks: nothing };
  return readBatch(chunks(), limits, handlers).then(
    () => null,
    (error: EnvelopeFault) => [error.code, error.path, error.message].join(' '),
  );
}

test.each([
  [`[${good}]`, 'field_invalid  the body must be a JSON object, {"records": [ … ]}'],
  [good, 'field_unknown /tenant the body is {"records": [ … ]}'],
  [`{"records":[${good},]}`, 'json_invalid /records/1 expected a value'],
  [`{"records":[${good},]}`, 'of the body); no comma may stand behind the last one'],
  [`{'records':[${good}]}`, 'double quotes, not single ones'],
  [`{"records":[${withValue('NaN')}]}`, 'json_invalid /records/0 '],
  ['', 'json_invalid  the body is empty'],
  [' \n', 'json_invalid  the body is empty'],
])('the batch %s is told what to do', async (body, words) => {
  expect(await faultOf(body)).toContain(words);
});
