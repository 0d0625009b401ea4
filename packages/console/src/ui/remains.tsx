import type { ReactNode } from 'react';
import type { EraseReceipt } from '../api/types.ts';
import { formatInstant } from './format.ts';
import classes from './remains.module.css';
import { useZone, zoneName } from './zone-switch.tsx';

/** What an erasure leaves behind, and until when. */
export function Remains({ remains }: Pick<EraseReceipt, 'remains'>): ReactNode {
  const [zone] = useZone();
  if (remains.length === 0) return null;
  return (
    <>
      <h3 className="caps below-8">WHAT REMAINS FOR A WHILE</h3>
      <ul className={classes.remains}>
        {remains.map(({ what, note, until }) => (
          <li key={`${what} ${note}`}>
            {note}
            {until !== null && ` Until ${formatInstant(until, zone)} ${zoneName(zone)}.`}
          </li>
        ))}
      </ul>
    </>
  );
}
