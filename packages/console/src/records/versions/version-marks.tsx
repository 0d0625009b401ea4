import type { ReactNode } from 'react';
import type { DatasetVersion } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { AbandonedIcon, DeliveredIcon, PendingIcon } from '../../ui/icons.tsx';
import classes from './versions.module.css';

const icons = { counting: PendingIcon, ready: DeliveredIcon, failed: AbandonedIcon } as const;

const stateWords: Readonly<Record<DatasetVersion['state'], string>> = {
  counting: 'its records are read and compared with the counters',
  ready: 'all records were read; they equal the counters',
  failed: 'the records read are not those that were counted',
};

/** The state as word, shape and colour, and whether something of it was erased or deleted. */
export function VersionState({ version }: { version: DatasetVersion }): ReactNode {
  const { state, change } = version;
  const Icon = icons[state];
  return (
    <span className={classes.states}>
      <span className={classes.state} data-state={state} title={stateWords[state]}>
        <Icon />
        {state}
      </span>
      {change !== null && (
        <span className={classes.change} title="Less is left of it than was frozen">
          {change}
        </span>
      )}
    </span>
  );
}

/** What is left of it, where that is less than was frozen. */
export function leftOf(version: DatasetVersion): number {
  return version.current?.count ?? version.count;
}

/** 80/10/10, or – */
export function sharesText({ shares }: DatasetVersion): string {
  return shares === null ? '–' : `${shares.train}/${shares.validation}/${shares.test}`;
}

export function recordsText(version: DatasetVersion): string {
  const left = leftOf(version);
  return left === version.count
    ? formatCount(version.count)
    : `${formatCount(left)} of ${formatCount(version.count)}`;
}
