import type { DuckDBConnection } from '@duckdb/node-api';

/** A type of a column: its kind as DuckDB spells it (`BIGINT`, `STRUCT`, …), and of nested ones what they consist of. */
export type ColumnType = {
  readonly kind: string;
  /** Whether it is text that is said to be JSON. */
  readonly isJson: boolean;
  /** The names of the fields of a STRUCT. */
  readonly names: readonly string[];
  /** The types of the fields of a STRUCT, of the elements of a LIST or ARRAY, or of the keys and values of a MAP. */
  readonly parts: readonly ColumnType[];
  /** The whole type, for people. */
  readonly text: string;
};

export type TypedColumn = { readonly name: string; readonly type: ColumnType };

/** A type as the library tells it. */
type LibraryType = {
  readonly typeId: number;
  readonly alias?: string | undefined;
  readonly entryNames?: readonly string[] | undefined;
  readonly entryTypes?: readonly LibraryType[] | undefined;
  readonly keyType?: LibraryType | undefined;
  readonly valueType?: LibraryType | undefined;
};

/**
 * Returns the columns of what a query selects. `kinds` is the library's `DuckDBTypeId`: the service does not load it.
 */
export async function describeColumns(
  connection: DuckDBConnection,
  query: string,
  kinds: Readonly<Record<number, string>>,
): Promise<TypedColumn[]> {
  const toType = (type: LibraryType, text: string): ColumnType => {
    const parts = type.entryTypes ?? [type.keyType, type.valueType].filter((part) => part != null);
    return {
      kind: kinds[type.typeId] ?? 'unknown',
      isJson: type.alias === 'JSON',
      names: type.entryNames ?? [],
      parts: parts.map((part) => toType(part, '')),
      text,
    };
  };
  const result = await connection.stream(`select * from (${query}) limit 0`);
  return result.columnNames().map((name, index) => {
    const type = result.columnTypeJson(index) as unknown as LibraryType;
    return { name, type: toType(type, result.columnType(index).toString()) };
  });
}
