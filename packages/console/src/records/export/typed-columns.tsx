import type { ReactNode } from 'react';
import type { FoundSchema } from '../../api/types.ts';
import { Loaded } from '../../ui/list.tsx';
import { useRead } from '../../ui/poll.tsx';
import { SchemaColumns } from '../../ui/schema-columns.tsx';
import { type ExportChoice, selectionOf } from './choice.ts';

/** The columns that the fields make in a typed file, before it is asked for. */
export function TypedColumns(props: {
  choice: ExportChoice;
  /** Whether the choice is known already. */
  isKnown: boolean;
}): ReactNode {
  const params = selectionOf(props.choice);
  const schema = useRead<FoundSchema>(['records', 'schema', params], '/exports/schema', {
    params,
    isWanted: props.isKnown,
    isOne: true,
    everyMillis: null,
  });
  return (
    <Loaded query={schema} name="the columns" rows={3}>
      {(data) => <SchemaColumns key={JSON.stringify(params)} schema={data} />}
    </Loaded>
  );
}
