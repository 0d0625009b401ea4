import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { flightLines } from '../packages/server/demo/flights.mjs';

test('flights are numbered in the order of the file, from one slice to the next', async () => {
  const ids = [];
  for await (const { text } of flightLines(30_000)) {
    for (const line of text.toString().trimEnd().split('\n')) ids.push(JSON.parse(line).event_id);
  }
  const wanted = Array.from({ length: 30_000 }, (_, n) => `fl-${String(n + 1).padStart(7, '0')}`);
  expect(ids).toEqual(wanted);
});

test('the flights of a demo are spread over the half-year, however few it shows', async () => {
  const months = new Set();
  let count = 0;
  for await (const { text } of flightLines(700, undefined, true)) {
    for (const line of text.toString().trimEnd().split('\n')) {
      months.add(JSON.parse(line).occurred_at.slice(0, 7));
      count += 1;
    }
  }
  expect(count).toBe(700);
  expect([...months]).toEqual(['2001-01', '2001-02', '2001-03', '2001-04', '2001-05', '2001-06']);
});

test('the first of three million flights come while the others are unread', () => {
  const script = `
    const { flightLines } = await import(${JSON.stringify(new URL('../packages/server/demo/flights.mjs', import.meta.url).href)});
    const { value } = await flightLines().next();
    const { maxRSS } = process.resourceUsage();
    process.stdout.write(JSON.stringify({ count: value.count, megabytes: maxRSS / 1024 }));
    process.exit();`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script]);
  const { count, megabytes } = JSON.parse(output.toString());
  expect(count).toBeGreaterThan(0);
  expect(megabytes).toBeLessThan(300);
});
