import { indentJson, pickMembers } from '../kernel/json-slices.ts';
import type { Context } from './context.ts';
import { selectedBy } from './fields.ts';
import { usage } from './help.ts';
import { type Column, createTable, printable, type Shape } from './table.ts';
import type { Format } from './verb.ts';

/** What commander makes of `--json [fields]`: true without fields, undefined without the option. */
export type JsonOption = true | string | undefined;

/** How the rows of a list are printed. */
export type Output<Row> = {
  readonly columns: readonly Column<Row>[];
  readonly json: JsonOption;
  /** The value of --ndjson, where a command has it: the same as the format. */
  readonly ndjson?: true | undefined;
  /** Without one, a table on a terminal, and lines with tabs on a pipe. */
  readonly format?: Format | undefined;
  /** Whether tables and CSV begin with the titles of their columns; they do unless this is false. */
  readonly hasHeader?: boolean;
};

/** Prints the rows of a list. Rows are given as the texts that the API wrote, and JSON output is exactly these. */
type RowPrinter = {
  write(rows: readonly string[]): Promise<void>;
  /** Ends the output. An empty list in JSON is `[]`. */
  end(): Promise<void>;
};

/**
 * Makes the printer for a list, as the options and the stream ask for. Throws `usage_invalid` where they contradict each
 * other.
 */
export function createRowPrinter<Row>(context: Context, output: Output<Row>): RowPrinter {
  const { columns, json, ndjson, hasHeader } = output;
  const format = ndjson ? 'ndjson' : (output.format ?? (json === undefined ? undefined : 'json'));
  const pick = picker(json);
  if (json !== undefined && format !== 'json' && format !== 'ndjson') {
    throw usage(`--json and -o ${format} exclude each other.`);
  }
  const parsed = (rows: readonly string[]) => rows.map((row) => JSON.parse(row) as Row);
  const lines = (lineOf: (row: string) => string): RowPrinter => ({
    write: (rows) => context.out.write(rows.map((row) => `${lineOf(row)}\n`).join('')),
    end: async () => {},
  });
  switch (format) {
    case 'json':
      return createArrayPrinter(context, pick);
    case 'ndjson':
      return lines(pick);
    case 'name':
      return lines((row) => nameOf(JSON.parse(row), columns, context.io.now()));
    case 'csv':
      return createCsvPrinter(context, columns, parsed, hasHeader);
    case 'table':
    case 'wide':
    case undefined: {
      const shape: Shape = { hasHeader, isTable: format !== undefined, isWide: format === 'wide' };
      const table = createTable(context, columns, shape);
      return {
        write: (rows) => table.write(parsed(rows)),
        async end() {
          const hidden = table.hidden();
          if (hidden.length > 0) context.hint(`not shown: ${hidden.join(', ')} · all: -o wide`);
        },
      };
    }
  }
}

/** What names a row in another command: its id, or else its first column. */
function nameOf<Row>(row: Row, [first]: readonly Column<Row>[], nowMillis: number): string {
  return printable(String((row as { id?: string }).id ?? first?.value(row, nowMillis) ?? ''));
}

function createCsvPrinter<Row>(
  context: Context,
  columns: readonly Column<Row>[],
  parsed: (rows: readonly string[]) => Row[],
  hasHeader = true,
): RowPrinter {
  const nowMillis = context.io.now();
  let isFirst = hasHeader;
  const print = async (rows: readonly Row[]) => {
    const { spreadsheetCell } = await import('../kernel/spreadsheet-cell.ts');
    const lineOf = (cells: readonly (string | number | null)[]) =>
      `${cells.map((cell) => spreadsheetCell(String(cell ?? ''))).join(',')}
`;
    const head = isFirst
      ? [columns.map(({ title }) => title.toLowerCase().replace(/[^a-z0-9]+/g, '_'))]
      : [];
    isFirst = false;
    const cells = rows.map((row) => columns.map((column) => column.value(row, nowMillis)));
    await context.out.write([...head, ...cells].map(lineOf).join(''));
  };
  return { write: (rows) => print(parsed(rows)), end: () => (isFirst ? print([]) : resolved()) };
}

const resolved = async () => {};

/** Prints the rows of a list that was not brought page by page. */
export async function printRows<Row>(
  context: Context,
  rows: readonly Row[],
  output: Output<Row>,
): Promise<void> {
  const printer = createRowPrinter<Row>(context, output);
  await printer.write(rows.map((row) => JSON.stringify(row)));
  await printer.end();
}

function createArrayPrinter(context: Context, pick: (row: string) => string): RowPrinter {
  let separator = '[\n';
  return {
    async write(rows) {
      if (rows.length === 0) return;
      await context.out.write(separator + rows.map(pick).join(',\n'));
      separator = ',\n';
    },
    end: () => context.out.write(separator === '[\n' ? '[]\n' : '\n]\n'),
  };
}

/** Prints one object, as JSON or, on a terminal, as lines with `name  value`. */
export async function printObject(
  context: Context,
  object: string,
  json: JsonOption,
): Promise<void> {
  const picked = picker(json)(object);
  await context.out.write(`${context.isTerminal ? indentJson(picked) : picked}\n`);
}

/** Prints the whole of an answer as JSON. */
export function printJson(context: Context, answer: object): Promise<void> {
  return printObject(context, JSON.stringify(answer), true);
}

/** Makes a function that picks the fields that --json selects. */
export function picker(json: JsonOption): (row: string) => string {
  if (typeof json !== 'string') return (row) => row;
  const fields = selectedBy(json);
  return (row) => pickMembers(row, fields);
}
