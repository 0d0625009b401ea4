import type { ReactNode } from 'react';
import type { FoundSchema } from '../api/types.ts';
import { fieldTypeText } from '../api/values.ts';
import { Facts } from './facts.tsx';
import { formatCount } from './format.ts';
import { countOf } from './words.ts';

/** Of more columns than this only the number is shown, until somebody wants to see them. */
const fewColumns = 12;

/** The columns that the fields of enrichments make in a typed file. */
export function SchemaColumns({ schema }: { schema: FoundSchema }): ReactNode {
  const { columns, ...seen } = schema;
  return (
    <details open={columns.length <= fewColumns}>
      <summary className="below-8">{schemaText(columns.length, seen)}</summary>
      <Facts
        facts={Object.fromEntries(
          columns.map(({ name, field, type }) => [
            name,
            <span key={name}>
              <span className="mono">{fieldTypeText(type)}</span>
              {oddText(schema.misfits?.fields[field])}
            </span>,
          ]),
        )}
      />
    </details>
  );
}

function oddText(count = 0): string {
  return count === 0 ? '' : ` · ${formatCount(count)} of another type`;
}

/** `12 columns of fields, by a sample of 10,000 of 512,991 records; 3 fields left out; of 5 something fits none`. */
function schemaText(columns: number, seen: Omit<FoundSchema, 'columns'>): string {
  const { sampled, count, left_out: left, misfits } = seen;
  const sample = sampled === count ? '' : `a sample of ${formatCount(sampled)} of `;
  const rest = left === 0 ? '' : `; ${countOf(left, 'field')} left out`;
  const odd =
    misfits && misfits.rows > 0 ? `; of ${formatCount(misfits.rows)} something fits none` : '';
  return `${countOf(columns, 'column')} of fields, by ${sample}${countOf(count, 'record')}${rest}${odd}`;
}
