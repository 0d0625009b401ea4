import type { ReactNode } from 'react';
import { formatCount } from '../../ui/format.ts';
import { stringifySearch } from '../../ui/hash-state.ts';
import { useRead } from '../../ui/poll.tsx';
import { pathText } from '../../ui/words.ts';
import { type DatasetPage, treeKey } from './branch-pages.ts';
import classes from './tree.module.css';

const mostStores = 50;

/** The stores of any tenant that begin as no tenant does. */
export function StoresFound({ q }: { q: string }): ReactNode {
  const params = { level: 'store', q, limit: mostStores };
  const read = { params, everyMillis: null, isOne: true };
  const { data } = useRead<DatasetPage>([...treeKey, 'stores', q], '/enrichment/datasets', read);
  if (data === undefined) return null;
  if (data.data.length === 0) return <p>Nor does a store.</p>;
  return (
    <>
      <p className="above-12">
        {data.next_cursor === null ? 'Stores' : `The first ${mostStores} stores`} that do:
      </p>
      <ul>
        {data.data.map(({ tenant, store, count }) => (
          <li key={`${tenant}/${store}`} className={`row between gap-8 ${classes.found}`}>
            <a className="cut" href={`#/records${stringifySearch({ tenant, store })}`}>
              {pathText([tenant, store ?? ''])}
            </a>
            <span>{formatCount(count)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
