import type { ReactNode } from 'react';

type Cell = ReactNode;

/** A small table, of numbers if nothing else is said: its rows begin with their own names. */
export function SmallTable(props: {
  className?: string | undefined;
  label?: string;
  caption?: string;
  /** The names of the columns; empty where one needs none. */
  head: readonly string[];
  /** Columns whose names stand at the right, as their numbers do. */
  rightAt?: readonly number[];
  rows: readonly { readonly key: string; readonly cells: readonly Cell[] }[];
}): ReactNode {
  const { className = 'numbers', head, rightAt = [], rows } = props;
  const sideOf = (at: number) => (rightAt.includes(at) ? 'right' : undefined);
  return (
    <table className={className} aria-label={props.label}>
      {props.caption !== undefined && <caption>{props.caption}</caption>}
      <thead>
        <tr>
          {head.map((name, at) =>
            name === '' ? (
              <td key={name} />
            ) : (
              <th key={name} scope="col" className={sideOf(at)}>
                {name}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells: [first, ...others] }) => (
          <tr key={key}>
            <th scope="row">{first}</th>
            {others.map((cell, at) => (
              <td key={head[at + 1]} className={sideOf(at + 1)}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What must be equal side by side, and whether it is. */
export function ProofTable(props: {
  className?: string | undefined;
  /** The names of both sides. */
  sides: readonly [string, string];
  /** Null is not known; only what is known on both sides is compared. */
  rows: readonly {
    readonly name: string;
    readonly values: readonly [string | null, string | null];
  }[];
  /** What stands for a value that is not known. */
  none: ReactNode;
}): ReactNode {
  const { sides, rows, none } = props;
  return (
    <table className={`numbers ${props.className ?? ''}`}>
      <thead>
        <tr>
          <td />
          <th scope="col">{sides[0]}</th>
          <th scope="col">
            <span className="visually-hidden">Equal?</span>
          </th>
          <th scope="col">{sides[1]}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, values: [one, other] }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{one ?? none}</td>
            <td>{one !== null && other !== null && <EqualMark isEqual={one === other} />}</td>
            <td>{other ?? none}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function EqualMark({ isEqual }: { isEqual: boolean }): ReactNode {
  return (
    <span className={isEqual ? 'equal ok' : 'equal danger'}>
      <span aria-hidden="true">{isEqual ? '=' : '≠'}</span>
      <span className="visually-hidden">{isEqual ? 'equal' : 'differs'}</span>
    </span>
  );
}
