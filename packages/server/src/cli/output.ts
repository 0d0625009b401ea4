import { indentJson, pickMembers } from '../kernel/json-slices.ts';
import type { Context } from './context.ts';
import { usage } from './help.ts';
import { type Column, createTable } from './table.ts';

/** What commander makes of `--json [fields]`: true without fields, undefined without the option. */
export type JsonOption = true | string | undefined;

/** How the rows of a list are printed. */
export type Output<Row> = {
  readonly columns: readonly Column<Row>[];
  /** Names that `--json a,b` may select. */
  readonly fields: readonly string[];
  readonly json: JsonOption;
  /** With `isNdjson`, JSON is printed as one object a line instead of an array. */
  readonly isNdjson?: boolean;
};

/** Prints the rows of a list. Rows are given as the texts that the API wrote, and JSON output is exactly these. */
export type RowPrinter = {
  write(rows: readonly string[]): Promise<void>;
  /** Ends the output. An empty list in JSON is `[]`. */
  end(): Promise<void>;
};

/** Makes the printer for a list, as the options and the stream ask for: JSON, a table, or lines with tabs. */
export function createRowPrinter<Row>(context: Context, output: Output<Row>): RowPrinter {
  const pick = picker(output.json, output.fields);
  if (output.isNdjson === true) {
    return {
      write: (rows) => context.out.write(rows.map((row) => `${pick(row)}\n`).join('')),
      end: async () => {},
    };
  }
  if (output.json !== undefined) return createArrayPrinter(context, pick);
  const table = createTable(context, output.columns);
  return {
    write: (rows) => table.write(rows.map((row) => JSON.parse(row) as Row)),
    end: async () => {},
  };
}

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
  output: { json: JsonOption; fields: readonly string[] },
): Promise<void> {
  const picked = picker(output.json, output.fields)(object);
  await context.out.write(`${context.isTerminal ? indentJson(picked) : picked}\n`);
}

/**
 * Makes a function that picks the fields that --json selects. Throws `usage_invalid` for a field that does not exist,
 * before anything is fetched.
 */
export function picker(json: JsonOption, known: readonly string[]): (row: string) => string {
  if (typeof json !== 'string') return (row) => row;
  const fields = json.split(',').map((field) => field.trim());
  for (const field of fields) {
    if (known.includes(field)) continue;
    throw usage(`--json: there is no field "${field}". There are: ${known.join(', ')}.`);
  }
  return (row) => pickMembers(row, fields);
}
