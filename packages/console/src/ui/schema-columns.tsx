import type { ReactNode } from 'react';
import type { TypedSchema } from '../api/types.ts';
import { fieldTypeText } from '../api/values.ts';
import { Facts } from './facts.tsx';
import { formatCount } from './format.ts';
import { countOf } from './words.ts';

/** Of more columns than this only the number is shown, until somebody wants to see them. */
const fewColumns = 12;

/** The columns that the fields of enrichments make in a typed file. */
export function SchemaColumns({ schema }: { schema: TypedSchema }): ReactNode {
  const { columns, ...seen } = schema;
  return (
    <details open={columns.length <= fewColumns}>
      <summary className="below-8">{schemaText(columns.length, seen)}</summary>
      <Facts
        isWrapped
        facts={Object.fromEntries(
          columns.map(({ name, type }) => [
            name,
            <span key={name} className="mono">
              {fieldTypeText(type)}
            </span>,
          ]),
        )}
      />
    </details>
  );
}

/** `12 columns of fields, by a sample of 10,000 of 512,991 records; 3 fields left out`. */
function schemaText(columns: number, seen: Omit<TypedSchema, 'columns'>): string {
  const { sampled, count, left_out: left } = seen;
  const sample = sampled === count ? '' : `a sample of ${formatCount(sampled)} of `;
  const rest = left === 0 ? '' : `; ${countOf(left, 'field')} left out`;
  return `${countOf(columns, 'column')} of fields, by ${sample}${countOf(count, 'record')}${rest}`;
}
