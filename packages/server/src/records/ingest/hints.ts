import type { JsonScanner } from '../../kernel/json-text.ts';

const batchShape = '{"records": [ … ]}';

/** How many bytes before and behind a fault tell what it is. */
const windowBytes = 32;

/** What stands before and at a fault of the grammar, and what JSON has in its place. */
const slips: readonly (readonly [before: RegExp, rest: RegExp, advice: string])[] = [
  [/(?:)/, /^'/, 'JSON has double quotes, not single ones'],
  [/(?:)/, /^(None|True|False|undefined)\b/, 'JSON writes null, true and false'],
  [
    /(?:)/,
    /^(nan|inf|infinity)\b/i,
    'JSON has no NaN and no infinity; send null, or leave the key out',
  ],
  // What a batch has before it may be gone already.
  [/(^|,)$/, /^[}\]]/, 'no comma may stand behind the last one'],
  [/(?:)/, /^(\/\/|\/\*|#)/, 'JSON has no comments'],
  [/(^|[^\d.])0$/, /^\d/, 'a number does not begin with 0'],
  [/(^|[^\d])$/, /^\.\d/, 'a number has a digit before its point'],
  [/(?:)/, /^is no number\b/, 'what --number makes a number is none of JSON, such as 0.5 or -1e3'],
  [/[{,]$/, /^[A-Za-z_]\w*\s*:/, 'a key stands in double quotes'],
];

/** Says what was probably meant where the scanner found a fault of the grammar; '' where nothing is known. */
export function slipAt({ bytes, sizeBytes }: JsonScanner, position: number): string {
  const before = bytes.toString('latin1', Math.max(0, position - windowBytes), position).trimEnd();
  const rest = bytes.toString('latin1', position, Math.min(sizeBytes, position + windowBytes));
  const advice = slips.find(([behind, at]) => behind.test(before) && at.test(rest))?.[2];
  return advice === undefined ? '' : `; ${advice}`;
}

const noArray = `; send a record a line, without [ and ] around them, or one ${batchShape} as application/json`;
const oneLine = '; a record stands on one line whole, as jq -c writes it';

/** The same for a line of NDJSON. `position` is that of the fault. */
export function lineSlip(scanner: JsonScanner, position: number): string {
  const { text, bytes, sizeBytes } = scanner;
  if (text.startsWith('\ufeff')) {
    return '; it begins with a byte order mark, which only the first line of a file may have';
  }
  const line = text.slice(0, 200).trimStart();
  const next = bytes.toString('latin1', position, Math.min(sizeBytes, position + 1));
  if (line.startsWith('[')) return noArray;
  // Lines inside a record that is spread over many.
  if (/^(}|"[^"]*"\s*:)/.test(line)) return oneLine;
  if (line.startsWith(']')) return noArray;
  if (!line.startsWith('{')) {
    const table = /^[^{}]*[,;\t|]/.test(line) ? ', and it looks like CSV' : '';
    return `; each line is a JSON object, and this one begins with ${JSON.stringify(line.slice(0, 24))}${table}`;
  }
  const slip = slipAt(scanner, position);
  if (slip !== '') return slip;
  if (position >= sizeBytes) return oneLine;
  if (next === ']') return noArray;
  if (next === '{') return '; begin a new line between two records';
  if (next === ',') return '; no comma stands between lines';
  return '';
}
