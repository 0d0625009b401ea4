import type { ReactNode } from 'react';
import type { DatasetRow } from '../api/types.ts';

/** One figure of a head, below its name. */
export function Figure(props: {
  name: ReactNode;
  className?: string | undefined;
  /** The tier whose colour stands before it. */
  tier?: DatasetRow['tier'];
  title?: string | undefined;
  children: ReactNode;
}): ReactNode {
  const { tier } = props;
  return (
    <div className={props.className}>
      <dt>{props.name}</dt>
      <dd {...(tier && { className: 'tier', 'data-tier': tier })} title={props.title}>
        {props.children}
      </dd>
    </div>
  );
}
