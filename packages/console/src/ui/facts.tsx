import type { ReactNode } from 'react';
import type { EraseReceipt } from '../api/types.ts';
import { CopyButton } from './copy-button.tsx';
import classes from './drawer.module.css';
import { Instant } from './marks.tsx';

type Copied = { readonly copied: string; readonly shown: ReactNode };

/** A fact with a button that copies it. Null is a fact that is not known. */
export function copied(value: string | null, shown: ReactNode = value): Copied | null {
  return value === null ? null : { copied: value, shown };
}

/** The facts about what a drawer shows, one a line. */
export function Facts(props: {
  /** What is known, by its name: null shows a dash, undefined leaves the line out. */
  facts: Readonly<Record<string, ReactNode | Copied>>;
}): ReactNode {
  return (
    <dl className={`below-16 ${classes.fields}`}>
      {Object.entries(props.facts).map(([name, fact]) => {
        if (fact === undefined) return null;
        const isCopied = typeof fact === 'object' && fact !== null && 'copied' in fact;
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {(isCopied ? fact.shown : fact) ?? <span className="muted">–</span>}
              {isCopied && <CopyButton value={fact.copied} label={`Copy the ${name}`} />}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** What an erasure leaves behind, and until when. */
export function Remains({ remains }: Pick<EraseReceipt, 'remains'>): ReactNode {
  if (remains.length === 0) return null;
  return (
    <>
      <h3 className="caps below-8">WHAT REMAINS FOR A WHILE</h3>
      <ul className={`below-16 muted ${classes.remains}`}>
        {remains.map(({ what, note, until }) => (
          <li key={`${what} ${note}`}>
            {note}
            {until !== null && (
              <>
                {' Until '}
                <Instant at={until} />.
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
