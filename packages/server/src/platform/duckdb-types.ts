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

/** A type as the library tells it, with the name of its kind. */
export type TypeJson = {
  readonly kind: string;
  readonly alias?: string | undefined;
  readonly entryNames?: readonly string[] | undefined;
  readonly entryTypes?: readonly TypeJson[] | undefined;
  readonly keyType?: TypeJson | undefined;
  readonly valueType?: TypeJson | undefined;
};

export function toColumnType(
  { kind, alias, entryNames, ...type }: TypeJson,
  text: string,
): ColumnType {
  const parts = type.entryTypes ?? [type.keyType, type.valueType].filter((part) => part != null);
  return {
    kind,
    isJson: alias === 'JSON',
    names: entryNames ?? [],
    parts: parts.map((part) => toColumnType(part, '')),
    text,
  };
}
