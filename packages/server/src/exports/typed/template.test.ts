import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { templateNames } from '../values.ts';
import { createFiller } from './fill-row.ts';
import { readTemplate } from './template.ts';

const enrichment =
  '{"prompt":"say \\"hi\\"\\n","n":1.0,"origin":{"iata":"DFW"},"messages":[{"role":"user"}],"none":null,"a.b":{"c":true},"model":"inner"}';

/** A line of a template, or the reference that it lacks a value for. */
function fill(template: object): unknown {
  const { source, fill: fillRow } = readTemplate(template);
  const texts: Record<string, { text: string; isText: boolean }> = {
    enrichment: { text: enrichment, isText: true },
    event_id: { text: 'e "1"', isText: true },
    confidence: { text: '0.50', isText: false },
  };
  const filled = fillRow(source.map((column) => texts[column] ?? null));
  return 'line' in filled ? filled.line : filled;
}

test('fills texts, and values by |json, as they were sent', () => {
  expect(fill({ a: '{{prompt}}!', '{{n}}': ['{{ n|json }}', '{{n}}'], b: 1 })).toBe(
    '{"a":"say \\"hi\\"\\n!","{{n}}":[1.0,"1.0"],"b":1}',
  );
  expect(fill({ m: '{{messages|json}}', o: '{{origin}}', i: 'at {{origin.iata|json}}' })).toBe(
    '{"m":[{"role":"user"}],"o":"{\\"iata\\":\\"DFW\\"}","i":"at \\"DFW\\""}',
  );
});

test('names columns, keys of the same name, keys with dots and elements', () => {
  expect(fill({ a: '{{event_id}} {{confidence|json}} {{enrichment.model}}' })).toBe(
    '{"a":"e \\"1\\" 0.50 inner"}',
  );
  expect(fill({ a: '{{"a.b".c|json}}', b: '{{messages.0.role}}' })).toBe('{"a":true,"b":"user"}');
  expect(JSON.parse(fill({ a: '{{enrichment|json}}' }) as string)).toEqual({
    a: JSON.parse(enrichment),
  });
});

test.each(['{{missing}}', '{{none}}', '{{none|json}}', '{{origin.icao}}', '{{kind}}'])(
  'lacks a value for %s',
  (text) => {
    expect(fill({ a: '{{n}}', b: text })).toEqual({ missing: text.replace(/[{}]|\|json/g, '') });
  },
);

test.each([
  [{ a: 1 }, 'no reference'],
  [{ '{{a}}': 1 }, 'no reference'],
  [{ a: '{{a' }, 'no end'],
  [{ a: '{{}}' }, 'no path'],
  [{ a: '{{a..b}}' }, 'no path'],
  [{ a: '{{a.}}' }, 'no path'],
  [{ a: '{{a b}}' }, 'no path'],
  [{ a: '{{a|upper}}' }, 'stands json'],
  [{ a: '{{"\\x"}}' }, 'is not a text'],
  [{ a: '{{model.x}}' }, 'enrichment.model.x'],
  [{ a: Array(201).fill('{{a}}') }, '200 references'],
  [{ a: `{{a}}${'x'.repeat(70_000)}` }, '65536 characters'],
])('refuses %j', (template, message) => {
  expect(() => readTemplate(template)).toThrow(
    expect.objectContaining({
      code: 'request_invalid',
      errors: [
        expect.objectContaining({ path: '/template', message: expect.stringContaining(message) }),
      ],
    }),
  );
});

test.each(templateNames)('%s is a template', (name) => {
  expect(readTemplate(name).source).toEqual(['enrichment']);
});

test('any text around a reference comes out as JSON, as it stood', () => {
  const around = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('{{'));
  fc.assert(
    fc.property(around, around, fc.string({ unit: 'grapheme' }), (before, after, value) => {
      const { fill: fillRow } = readTemplate({ [before]: [`${before}{{x}}${after}`, before] });
      const cells = [{ text: JSON.stringify({ x: value }), isText: true }];
      const filled = fillRow(cells);
      const line = 'line' in filled ? filled.line : '';
      expect(JSON.parse(line)).toEqual({ [before]: [`${before}${value}${after}`, before] });
      expect(line).not.toMatch(/\n/);
    }),
  );
});

test('a record without a value is named to the caller, and not in the log', () => {
  const { encodeRow } = createFiller({ lines: { a: '{{quay}}' }, missing: 'refuse' });
  const cells = ['{}', 'A', '2001-03-05', 'kim@x'].map((text) => ({ text, isText: true }));
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(line) });
  try {
    encodeRow(cells);
  } catch (err) {
    log.warn({ err }, 'an export could not go on');
    expect(err).toMatchObject({ code: 'template_unfilled' });
    expect((err as { detail: string }).detail).toMatch(/kim@x has no value for \{\{quay\}\}/);
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('template_unfilled');
  expect(lines[0]).not.toMatch(/kim|quay/);
});
