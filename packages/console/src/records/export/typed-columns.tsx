import type { ReactNode } from 'react';
import type { TypedSchema } from '../../api/types.ts';
import { fieldTypeText } from '../../api/values.ts';
import { Facts } from '../../ui/facts.tsx';
import { formatCount } from '../../ui/format.ts';
import { Loaded } from '../../ui/list.tsx';
import { useRead } from '../../ui/poll.tsx';
import { countOf } from '../../ui/words.ts';
import { type ExportChoice, selectionOf } from './choice.ts';

/** Of more columns than this only the number is shown, until somebody wants to see them. */
const fewColumns = 12;

/** The columns that the fields make in a typed file, before it is asked for. */
export function TypedColumns(props: {
  choice: ExportChoice;
  /** Whether the choice is known already. */
  isKnown: boolean;
}): ReactNode {
  const params = selectionOf(props.choice);
  const schema = useRead<TypedSchema>(['records', 'schema', params], '/exports/schema', {
    params,
    isWanted: props.isKnown,
    isOne: true,
    everyMillis: null,
  });
  return (
    <Loaded query={schema} name="the columns" rows={3}>
      {({ columns, ...seen }) => (
        <details key={JSON.stringify(params)} open={columns.length <= fewColumns}>
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
      )}
    </Loaded>
  );
}

/** `12 columns of fields, by a sample of 10,000 of 512,991 records; 3 fields left out`. */
function schemaText(columns: number, seen: Omit<TypedSchema, 'columns'>): string {
  const { sampled, count, left_out: left } = seen;
  const sample = sampled === count ? '' : `a sample of ${formatCount(sampled)} of `;
  const rest = left === 0 ? '' : `; ${countOf(left, 'field')} left out`;
  return `${countOf(columns, 'column')} of fields, by ${sample}${countOf(count, 'record')}${rest}`;
}
