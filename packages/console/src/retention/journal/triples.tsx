import type { ReactNode } from 'react';
import type { TripleRow } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { formatCount } from '../../ui/format.ts';
import classes from './move.module.css';

const lines = [
  { name: 'records', of: ({ count }: TripleRow) => formatCount(count) },
  { name: 'bytes', of: ({ bytes }: TripleRow) => formatCount(bytes) },
  { name: 'digest', of: ({ digest }: TripleRow) => digest },
] as const;

/** What was read from the source beside what was read back from the object: the proof of a copy. */
export function Triples(props: { source: TripleRow | null; object: TripleRow | null }): ReactNode {
  const { source, object } = props;
  return (
    <table className={classes.triples}>
      <thead>
        <tr>
          <td />
          <th scope="col">SOURCE</th>
          <th scope="col">
            <span className="visually-hidden">Equal?</span>
          </th>
          <th scope="col">OBJECT, READ BACK</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ name, of }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{source === null ? <None /> : of(source)}</td>
            <td>
              {source !== null && object !== null && (
                <EqualMark isEqual={of(source) === of(object)} />
              )}
            </td>
            <td>{object === null ? <None /> : of(object)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function None(): ReactNode {
  return <span className={classes.quiet}>not yet</span>;
}

function EqualMark({ isEqual }: { isEqual: boolean }): ReactNode {
  return (
    <span className={classes.equal} data-equal={isEqual}>
      <span aria-hidden="true">{isEqual ? '=' : '≠'}</span>
      <span className="visually-hidden">{isEqual ? 'equal' : 'differs'}</span>
    </span>
  );
}

/** One triple in a line, with its digest to copy. */
export function TripleLine({ triple }: { triple: TripleRow }): ReactNode {
  return (
    <span className={classes.tripleLine}>
      {formatCount(triple.count)} records · {formatCount(triple.bytes)} bytes ·{' '}
      <code>{triple.digest}</code>
      <CopyButton value={triple.digest} label="Copy the digest" />
    </span>
  );
}
